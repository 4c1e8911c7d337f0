"""Family: protocols of one JSON value a line: the Dart test runner's reporter."""

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.lines import Split, Trim, lines_of
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_DECODER = json.JSONDecoder()
_OPENINGS = ("{", "[")
_HARMLESS_CHARS = 300
"""A line of no more can neither be nested too deep nor hold too large a number."""
_RESULTS = {"success": PASSED, "failure": FAILED, "error": ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class DartEvents:
    """The family has no options."""

    def results_of(self, text: str) -> dict[str, str]:
        """Name -> status of each test that is done; raises `UnreadableError` on events that the reference chokes on."""
        results = Observed()
        names: dict[Hashable, str] = {}
        for event in json_objects(text, clues=("testStart", "testDone")):
            match event.get("type"):
                case "testStart":
                    _bind(event.get("test"), names)
                case "testDone" if not event.get("hidden"):
                    name = names.get(_id(event.get("testID")))
                    status = _status(event)
                    if name is not None and status is not None:
                        results[name] = status
        return results


def json_objects(text: str, clues: tuple[str, str] = ("", "")) -> Iterator[dict[str, object]]:
    """The objects that stand alone on a line, or in an array that does; all else is passed over.

    So are short lines without a clue, as long as they spell nothing by escapes.
    """
    first, second = clues
    for line in lines_of(text, Split.UNIVERSAL, Trim.BOTH):
        if line[:1] not in _OPENINGS or not (
            first in line or second in line or "\\" in line or len(line) > _HARMLESS_CHARS
        ):
            continue
        value = _json_value(line)
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict))


def _json_value(line: str) -> object:
    value: object
    try:
        value, end = _DECODER.raw_decode(line)
    except json.JSONDecodeError:
        return None
    except (RecursionError, ValueError) as error:
        raise UnreadableError(f"a JSON line is nested too deep or holds too large a number: {line[:80]!r}") from error
    return value if end == len(line) else None


def _bind(test: object, names: dict[Hashable, str]) -> None:
    if not isinstance(test, dict) or test.get("id") is None:
        return
    name = test.get("name")
    if not name:
        return
    if not isinstance(name, str):
        raise UnreadableError(f"a test's name is no text: {str(name)[:80]}")
    if not name.startswith("loading "):
        names[_id(test["id"])] = name


def _id(value: object) -> Hashable:
    if isinstance(value, (dict, list)):
        raise UnreadableError("a test's id is an array or an object")
    return value


def _status(event: dict[str, object]) -> str | None:
    result = event.get("result")
    known = _RESULTS.get(result) if isinstance(result, str) else None
    return known or (SKIPPED if event.get("skipped") else None)
