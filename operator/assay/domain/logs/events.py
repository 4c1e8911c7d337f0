"""Family: protocols of one JSON value a line: the Dart test runner's reporter."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_OPENINGS = ("{", "[")
_HARMLESS_CHARS = 300
"""A line of no more can neither be nested too deep nor hold too large a number."""
_NO_KEY = "a test's id is an array or an object"
"""Of the values that JSON has, only these cannot be a key."""
_RESULTS = {"success": PASSED, "failure": FAILED, "error": ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class DartEvents:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """Name -> status of each test that is done; raises `UnreadableError` on events that the reference chokes on."""
        results = Observed()
        names: dict[object, str] = {}
        for event in json_objects(text, clues=("testStart", "testDone")):
            kind = event.get("type")
            if kind == "testStart":
                _bind(event.get("test"), names)
            elif kind == "testDone" and not event.get("hidden"):
                try:
                    name = names.get(event.get("testID"))
                except TypeError as error:
                    raise UnreadableError(_NO_KEY) from error
                status = _status(event)
                if name is not None and status is not None:
                    results[name] = status
        return results


def json_objects(text: str, clues: tuple[str, str] = ("", "")) -> Iterator[dict[str, object]]:
    """The objects that stand alone on a line, or in an array that does; all else is passed over.

    So are short lines without a clue, as long as they spell nothing by escapes.
    """
    first, second = clues
    decode = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
    for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
        if line[:1] not in _OPENINGS or not (
            first in line or second in line or "\\" in line or len(line) > _HARMLESS_CHARS
        ):
            continue
        try:
            value, end = decode(line, 0)
        except (StopIteration, json.JSONDecodeError):
            continue
        except (RecursionError, ValueError) as error:
            why = f"a JSON line is nested too deep or holds too large a number: {line[:80]!r}"
            raise UnreadableError(why) from error
        if end != len(line):
            continue
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict))


def _bind(test: object, names: dict[object, str]) -> None:
    if not isinstance(test, dict) or test.get("id") is None:
        return
    name = test.get("name")
    if not name:
        return
    if not isinstance(name, str):
        raise UnreadableError(f"a test's name is no text: {str(name)[:80]}")
    if not name.startswith("loading "):
        try:
            names[test["id"]] = name
        except TypeError as error:
            raise UnreadableError(_NO_KEY) from error


def _status(event: dict[str, object]) -> str | None:
    result = event.get("result")
    known = _RESULTS.get(result) if isinstance(result, str) else None
    return known or (SKIPPED if event.get("skipped") else None)
