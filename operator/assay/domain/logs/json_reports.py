"""Family: reports in JSON that runners leave behind or print, for tasks that choose them over scraped text.

A report may stand among other output: events are lines that hold one object each, documents begin at a line's start.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from assay.domain.logs.events import json_objects
from assay.domain.logs.failures import UnreadableError
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, Observed

_GO_ACTIONS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
_RUST_EVENTS = {"ok": PASSED, "failed": FAILED, "timeout": FAILED, "ignored": SKIPPED}
_JEST_STATUSES = {"passed": PASSED, "failed": FAILED} | dict.fromkeys(
    ("pending", "skipped", "todo", "disabled", "focused"), SKIPPED
)
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
    for file in _items(_documents(text, "testResults"), "testResults"):
        tests = _objects(file.get("assertionResults"))
        for test in tests:
            titles = [*_texts(test.get("ancestorTitles")), str(test.get("title", ""))]
            status = _JEST_STATUSES.get(str(test.get("status")))
            if status:
                results[" > ".join(titles)] = status
        if not tests and file.get("status") == "failed":
            results[str(file.get("name", file.get("testFilePath")))] = ERROR
    return results


def mocha_documents(text: str) -> dict[str, str]:
    """Mocha's JSON: full titles."""
    results = Observed()
    for document in _documents(text, "passes", "failures"):
        for key, status in _MOCHA_LISTS:
            for test in _objects(document.get(key)):
                results[str(test.get("fullTitle"))] = status
    return results


def _items(documents: Iterator[Mapping[str, object]], key: str) -> Iterator[Mapping[str, object]]:
    for document in documents:
        yield from _objects(document.get(key))


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def _texts(value: object) -> Iterator[str]:
    return (str(item) for item in value) if isinstance(value, list) else iter(())


def _documents(text: str, *keys: str) -> Iterator[Mapping[str, object]]:
    """The objects that begin a line and have all the keys; what is no JSON is passed over, up to where it fails."""
    decoder = json.JSONDecoder()
    at = 0 if text.startswith("{") else text.find("\n{") + 1
    while at > 0 or (at == 0 and text.startswith("{")):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            value, end = None, max(error.pos, at + 1)
        except (RecursionError, ValueError) as error:
            raise UnreadableError("a JSON document is nested too deep or holds too large a number") from error
        if isinstance(value, dict) and all(key in value for key in keys):
            yield value
        following = text.find("\n{", end)
        if following < 0:
            return
        at = following + 1
