"""Write the generated pages of docs/ that the command line prints."""

import subprocess
import sys
from pathlib import Path

from assay.cli.main import app
from assay.cli.pages import cli_markdown
from assay.domain.profiles import profiles_markdown

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Write docs/profiles.md, docs/cli.md and docs/parsers.md."""
    (DOCS / "cli.md").write_text(cli_markdown(app))
    (DOCS / "profiles.md").write_text(profiles_markdown())
    table = subprocess.run(
        (sys.executable, "-m", "assay", "parsers", "--format", "markdown"), check=True, capture_output=True, text=True
    )
    (DOCS / "parsers.md").write_text(table.stdout)


if __name__ == "__main__":
    main()
