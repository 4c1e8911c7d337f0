"""Family: reports in JSON that runners leave behind or print, for tasks that choose them over scraped text.

A report may stand among other output: events are lines that hold one object each, documents begin at a line's start.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from typing import Any

from assay.domain.logs.events import json_objects
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_GO_ACTIONS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
_RUST_EVENTS = {"ok": PASSED, "failed": FAILED, "timeout": FAILED, "ignored": SKIPPED}
_JEST_STATUSES = {"passed": PASSED, "failed": FAILED} | dict.fromkeys(
    ("pending", "skipped", "todo", "disabled", "focused"), SKIPPED
)
_Object = Mapping[str, Any]
_MOCHA_LISTS = (("passes", PASSED), ("pending", SKIPPED), ("failures", FAILED))


def go_events(text: str) -> dict[str, str]:
    """`go test -json`: `package::Test`; a test without an end is ERROR, a package that fails has its own entry."""
    results = Observed()
    for event in json_objects(text):
        action, package, test = event.get("Action"), event.get("Package"), event.get("Test")
        if not isinstance(package, str) or not isinstance(action, str):
            continue
        name = f"{package}::{test}" if isinstance(test, str) else package
        if action in _GO_ACTIONS:
            if isinstance(test, str) or action == "fail":
                results[name] = _GO_ACTIONS[action]
        elif action == "run" and isinstance(test, str):
            results.setdefault(name, ERROR)
    return results


def rust_events(text: str) -> dict[str, str]:
    """Libtest's JSON, also as cargo nextest prints it: the name as it stands; a test without an end is ERROR."""
    results = Observed()
    for event in json_objects(text):
        name, kind = event.get("name"), event.get("event")
        if event.get("type") != "test" or not isinstance(name, str) or not isinstance(kind, str):
            continue
        if kind in _RUST_EVENTS:
            results[name] = _RUST_EVENTS[kind]
        elif kind == "started":
            results.setdefault(name, ERROR)
    return results


def jest_documents(text: str) -> dict[str, str]:
    """Jest's and Vitest's JSON: titles joined by ` > `; a file that could not run is ERROR under its own name."""
    results = Observed()
    for document in _documents(text, ("testResults",), _jest_file):
        for file in _list(document["testResults"]):
            for name, status in file:
                results[name] = status
    return results


def _jest_file(file: _Object) -> list[tuple[str, str]]:
    tests = [test for test in _list(file.get("assertionResults")) if isinstance(test, dict)]
    if not tests and file.get("status") == "failed":
        return [(str(file.get("name", file.get("testFilePath"))), ERROR)]
    statuses = [_JEST_STATUSES.get(str(test.get("status"))) for test in tests]
    return [(_jest_name(test), status) for test, status in zip(tests, statuses, strict=True) if status]


def _jest_name(test: _Object) -> str:
    return " > ".join([*map(str, _list(test.get("ancestorTitles"))), str(test.get("title", ""))])


def mocha_documents(text: str) -> dict[str, str]:
    """Mocha's JSON: full titles."""
    results = Observed()
    for document in _documents(text, ("passes", "failures"), lambda test: str(test.get("fullTitle"))):
        for key, status in _MOCHA_LISTS:
            for name in _list(document.get(key)):
                results[name] = status
    return results


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _documents(text: str, keys: Sequence[str], reduced: Callable[[_Object], object]) -> Iterator[_Object]:
    """The objects that begin a line and have all the keys; what is no JSON is passed over, up to where it fails.

    An array in such an object holds what is left of each object in it, so that no large array is in memory as it stands.
    """
    scan = json.JSONDecoder().raw_decode

    def scan_item(text: str, at: int) -> tuple[object, int]:
        value, end = scan(text, at)
        return reduced(value) if isinstance(value, dict) else None, end

    def scan_member(text: str, at: int) -> tuple[object, int]:
        if not text.startswith("[", at):
            return scan(text, at)
        items, end = JSONArray((text, at + 1), scan_item)
        return [item for item in items if item is not None], int(end)

    at = 0 if text.startswith("{") else text.find("\n{") + 1
    while at > 0 or (at == 0 and text.startswith("{")):
        try:
            value, end = JSONObject((text, at + 1), True, scan_member, None, None)
        except json.JSONDecodeError as error:
            value, end = {}, max(error.pos, at + 1)
        except (RecursionError, ValueError) as error:
            raise UnreadableError("a JSON document is nested too deep or holds too large a number") from error
        if all(key in value for key in keys):
            yield value
        following = text.find("\n{", end)
        if following < 0:
            return
        at = following + 1
