"""Progress lines for people, on standard error, and the one exception whose message they are shown."""

import sys
import time

_started = time.monotonic()


class Failure(Exception):  # noqa: N818 - what the user reads is a failure, whatever its cause
    """Something outside of this program went wrong; the message says what and, where known, what to do."""


def say(message: str) -> None:
    """Print one line with the time since the command began."""
    sys.stderr.write(f"[{time.monotonic() - _started:6.1f} s] {message}\n")
    sys.stderr.flush()
