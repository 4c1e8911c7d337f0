"""Module paths in the text of a go.mod file: what it declares and what it requires.

The reading is at least as generous as the go command's own: whatever that takes for a module directive is found here,
and a few more, because a path that is missed is a task that leaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LEXEME = re.compile(r"""//[^\n]*|\n|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|[()\[\]{},]|(?:(?!//)[^\s()\[\]{},])+""")
_ESCAPE = re.compile(r"""\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))""")
_IMPORT_COMMENT = re.compile(r"""^\s*package\s+\w+\s*(?://|/\*)\s*import\s+(?:"([^"\n]+)"|`([^`\n]+)`)""", re.MULTILINE)
_MAX_CODE_POINT = 0x10FFFF


def module_paths_of_gomod(text: str) -> tuple[str, ...]:
    """Return every module path that the file declares, in order; a valid file declares one."""
    return tuple(args[0] for args in _directives(text, "module") if args)


def module_path_of_gomod(text: str) -> str | None:
    """Return the module path of the file's first module directive, None where it has none."""
    return next(iter(module_paths_of_gomod(text)), None)


def required_paths_of_gomod(text: str) -> tuple[str, ...]:
    """Return the module paths that the file requires, in order."""
    return tuple(args[0] for args in _directives(text, "require") if args)


def import_comments_of(source: str) -> tuple[str, ...]:
    """Return the canonical import paths that ``package x // import "path"`` comments of Go source name."""
    return tuple(quoted or raw for quoted, raw in _IMPORT_COMMENT.findall(source))


def _directives(text: str, verb: str) -> Iterator[list[str]]:
    """Yield the arguments of each line that the verb governs, alone or in a block."""
    block = ""
    for line in _lines(text):
        if line[0] == ")":
            block = ""
        elif block:
            # Where a block never closes, its later lines are read both ways.
            if block == verb:
                yield line
            if line[0] == verb and len(line) > 1:
                yield line[1:]
        elif line[-1] == "(":
            block = line[0]
        elif line[0] == verb:
            yield [argument for argument in line[1:] if argument not in {"(", ")"}]


def _lines(text: str) -> Iterator[list[str]]:
    """Yield each non-empty line as its tokens, comments off, strings unquoted."""
    line: list[str] = []
    for match in _LEXEME.finditer(text.removeprefix("\ufeff").replace("\r", " ") + "\n"):
        lexeme = match[0]
        if lexeme == "\n":
            if line:
                yield line
            line = []
        elif not lexeme.startswith("//"):
            line.append(_unquoted(lexeme))


def _unquoted(lexeme: str) -> str:
    if len(lexeme) < 2 or lexeme[0] != lexeme[-1] or lexeme[0] not in {'"', "`"}:
        return lexeme
    return lexeme[1:-1] if lexeme[0] == "`" else _ESCAPE.sub(_character, lexeme[1:-1])


def _character(match: re.Match[str]) -> str:
    """Return the character of one escape sequence; unknown ones stand for the character itself."""
    if match[5] is not None:
        return str(match[5])
    code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
    return chr(code) if code <= _MAX_CODE_POINT else "\ufffd"
