"""The four ways in which published parsers remove terminal escapes; each takes and gives text, line ends untouched.

Most dialects remove nothing: colour then makes a line unrecognisable or stays in the name, and that is part of them.
"""

import re

_SEQUENCE = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*+[ -/]*+[@-~])")
_SGR = re.compile(r"\x1b\[[\d;]*+m")
_BARE_SGR = re.compile(r"\x1b\[[\d;]*+m|\[\d{1,2}m")
_NUMBER_M = re.compile(r"\[\d++m")
_CONTROLS = "".join(map(chr, (*range(0x01, 0x0A), *range(0x0B, 0x20))))


def full(text: str) -> str:
    """Delete two-character escapes and whole control sequences; charset selections and OSC payloads stay."""
    return _SEQUENCE.sub("", text) if "\x1b" in text else text


def lite(text: str) -> str:
    """Delete `[<digits>m` with or without its escape, then every character of U+0001 to U+001F but the line feed."""
    text = _NUMBER_M.sub("", text)
    for control in filter(text.__contains__, _CONTROLS):
        text = text.replace(control, "")
    return text


def sgr(text: str) -> str:
    """Delete colour sequences."""
    return _SGR.sub("", text) if "\x1b" in text else text


def sgr_and_bare(text: str) -> str:
    """Delete colour sequences and what is left of them where the escape is missing: `[` one or two digits `m`."""
    return _BARE_SGR.sub("", text) if "[" in text else text


def sgr_to_space(text: str) -> str:
    """Replace each colour sequence by a space, then delete every other sequence."""
    return full(_SGR.sub(" ", text)) if "\x1b" in text else text
