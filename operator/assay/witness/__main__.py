"""Entry point: ``python3 -I -m assay.witness``.  Makes the FIFOs first, and imports the rest only then."""

from __future__ import annotations

import os
import sys

from assay.witness.channels import AlreadyMadeError, make_channels


def main() -> int:
    """Run the witness; return 0, 70 (isolation not proven) or 71 (restarted)."""
    environment = os.environ
    folder = environment.get("ASSAY_IO", "/assay/io")
    private = environment.get("ASSAY_RECORD", "/assay/record")
    restarted = False
    try:
        make_channels(folder, private)
    except AlreadyMadeError:
        restarted = True
    from assay.witness.life import live, live_again  # noqa: PLC0415  (the FIFOs come first)

    return live_again(private) if restarted else live(folder, private, environment)


if __name__ == "__main__":
    sys.exit(main())
