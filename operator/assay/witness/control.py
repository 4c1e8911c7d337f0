"""The control channel: what run.sh says about the run, line by line, and nothing that anybody else says.

``hello`` comes first and is answered with a token.  Every later line is ``TOKEN mark NAME``, ``TOKEN fact KEY VALUE``
or ``TOKEN end RC``.  Empty lines are ignored (run.sh begins each message with a newline, so that a partial line of
somebody else cannot swallow it).  Everything else is counted as *strange* and neither obeyed nor answered.
"""

from __future__ import annotations

LINE_BYTES = 8192
ENTRIES = 1000
VALUE_LETTERS = 1024


class LineBuffer:
    """Cuts bytes into lines of bounded length; a longer one comes out once, cut, and its rest is dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes, without their newlines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._skipping and lines:
            lines = lines[1:]
            self._skipping = False
        if len(self._rest) > LINE_BYTES:
            lines.extend([] if self._skipping else [self._rest[: LINE_BYTES + 1]])
            self._skipping = True
        if self._skipping:
            self._rest = b""
        return lines


class Ledger:
    """Marks, facts and the exit code as run.sh reported them."""

    def __init__(self, token: str) -> None:
        """Obey lines that begin with ``token``."""
        self.marks: list[dict[str, object]] = []
        self.facts: dict[str, str] = {}
        self.strange = 0
        self.greeted = False
        self.ended = False
        self.exit_code: int | None = None
        self._token = token

    def read(self, line: bytes, *, out: int, err: int, seconds: float) -> str | None:
        """Take one line, with the sizes and the time at which it holds; return the answer, None for none."""
        if not line:
            return None
        if line == b"hello" and not self.greeted:
            self.greeted = True
            return self._token
        words = line[:LINE_BYTES].decode("utf-8", "replace").split(" ", 3)
        if len(line) > LINE_BYTES or len(words) < 3 or words[0] != self._token or not _is_name(words[2]):
            self.strange += 1
            return None
        return self._obey(words, out=out, err=err, seconds=seconds)

    def mark(self, name: str, *, out: int, err: int, seconds: float) -> None:
        """Note where the streams stood."""
        self.marks.append({"name": name, "merged": out + err, "out": out, "err": err, "seconds": round(seconds, 6)})

    def _obey(self, words: list[str], *, out: int, err: int, seconds: float) -> str:
        verb, name = words[1], words[2]
        if verb == "end" and name.isdecimal() and int(name) < 256:
            self.ended = True
            self.exit_code = int(name)
        elif verb == "mark" and len(words) == 3 and len(self.marks) < ENTRIES:
            self.mark(name, out=out, err=err, seconds=seconds)
        elif verb == "fact" and (len(self.facts) < ENTRIES or name in self.facts):
            self.facts[name] = words[3][:VALUE_LETTERS] if len(words) == 4 else ""
        else:
            self.strange += 1
        return "ok"


def _is_name(word: str) -> bool:
    return 0 < len(word) <= 100 and word.isascii() and word.replace("-", "").isalnum()
