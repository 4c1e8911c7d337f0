r"""Test cases of XML documents of the usual, plain kind, read by patterns several times as fast as by expat.

Plain are ASCII names without namespaces, each attribute once and in double quotes, known entities, CDATA sections, and
test cases that are at most two elements deep. Of such a document this says what expat would say; the rest is left to expat.
"""

import re
from collections.abc import Callable
from typing import Protocol

from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED

STATUS_OF = {"failure": FAILED, "error": ERROR, "skipped": SKIPPED}
"""What an element in a test case says of it."""

Naming = Callable[[str | None, str | None], str]
"""Makes a test's name of what a test case gives as its `name` and `classname`, if anything."""


class CaseRules(Protocol):
    """What of a dialect decides about test cases (see `xml_reports.XmlReports`)."""

    @property
    def order(self) -> tuple[str, str, str]:
        """The tags of `STATUS_OF`; the first that a case holds decides."""

    @property
    def naming(self) -> Naming:
        """How a test is called."""

    @property
    def only_in_suites(self) -> bool:
        """Whether cases count only in a suite that is not the root."""


_BLANK = r"[ \t\r\n]"
_NAME = r"(?!xmlns)[A-Za-z_][\w.\-]*+"
_OTHER_NAME = rf"(?!testcase\b){_NAME}"
_NEVER = r"\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff"
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_ENTITY = "|".join(_ENTITIES)
_REFERENCE = rf"(?:{_ENTITY}|&#(?:9|10|13|3[2-9]|[4-9]\d|1[01]\d);)"
_VALUE = rf'[^<&"{_NEVER}]*+(?:{_REFERENCE}[^<&"{_NEVER}]*+)*+'
_WANTED_VALUE = rf'[^<&"\t\r\n{_NEVER}]*+(?:(?:{_ENTITY})[^<&"\t\r\n{_NEVER}]*+)*+'
_CDATA = rf"<!\[CDATA\[(?:[^\]{_NEVER}]|\](?!\]>))*+\]\]>"
_NAMED = re.compile(_ENTITY)
_TEXT = rf"(?:[^<&\]{_NEVER}]++|\](?!\]>)|{_REFERENCE}|{_CDATA})*+"
_MAX_ATTRIBUTES = 20


def _once(name: str, value: str, again: str) -> str:
    """An attribute that is not given again under the name that `again` fits."""
    return rf'{name}="{value}"(?!(?:{_BLANK}++{_NAME}="[^"]*+")*?{_BLANK}++{again}=)'


def _attributes(group: str, *wanted: str) -> str:
    """All attributes up to what ends the tag; a group holds each wanted value, and the given one a name, for itself."""
    kinds = [_once(name, f"(?P<{name}>{_WANTED_VALUE})", name) for name in wanted]
    other = "".join(f"(?!{name}=)" for name in wanted) + _once(f"(?P<{group}>{_NAME})", _VALUE, f"(?P={group})")
    return rf"(?:{_BLANK}++(?:{'|'.join((*kinds, other))})){{0,{_MAX_ATTRIBUTES}}}{_BLANK}*+"


_LEAF = rf"<{_OTHER_NAME}{_attributes('of_leaf')}/>"
_MARKERS = "|".join(rf"(?P<{tag}>{tag}(?![\w.\-]))" for tag in STATUS_OF)
_CHILD = (
    rf"<(?P<child>{_MARKERS}|{_OTHER_NAME}){_attributes('of_child')}"
    rf"(?:/>|>{_TEXT}(?:{_LEAF}{_TEXT})*</(?P=child)>)"
)
_CASE = rf"<testcase{_attributes('of_case', 'name', 'classname')}(?:/>|>{_TEXT}(?:{_CHILD}{_TEXT})*</testcase>)"
_OPENING = rf"<(?P<opened>{_OTHER_NAME}){_attributes('of_opened')}(?P<empty>/?)>"
_CLOSING = rf"</(?P<closed>{_NAME})>"
_MISFIT = r"<[ =<\d]"
_TOKEN = re.compile(
    rf"(?:{_CASE}(?P<is_case>)|{_CLOSING}(?P<is_closing>)|{_OPENING}(?P<is_opening>)){_TEXT}"
    rf"|(?P<is_misfit>{_MISFIT})|(?P<is_unknown>[\S\s])",
    re.ASCII,
)
_PROLOGUE = re.compile(rf'(?:<\?xml version="1\.0"(?: encoding="UTF-8")?\?>)?+{_BLANK}*+')
_GROUPS = _TOKEN.groupindex
_IS_CASE, _IS_OPENING, _IS_CLOSING, _IS_MISFIT = (
    _GROUPS[f"is_{kind}"] for kind in ("case", "opening", "closing", "misfit")
)


class MalformedError(Exception):
    """The text is not one well-formed document."""


def plain_results(text: str, start: int, end: int, rules: CaseRules) -> dict[str, str] | None:
    """Names and statuses of a document's cases, None where it is not plain; raises `MalformedError` where it is broken."""
    naming, only_in_suites = rules.naming, rules.only_in_suites
    groups = [_GROUPS[group] for group in ("name", "classname", *rules.order)]
    statuses = [STATUS_OF[marker] for marker in rules.order]
    has_entities = text.find("&", start, end) >= 0
    prologue = _PROLOGUE.match(text, start, end)
    results: dict[str, str] = {}
    tags: list[str] = []
    for token in _TOKEN.finditer(text, prologue.end() if prologue else start, end):
        kind = token.lastindex
        if kind == _IS_CASE and tags:
            if only_in_suites and not (tags[-1] == "testsuite" and len(tags) > 1):
                continue
            name, classname, worst, worse, bad = token.group(*groups)
            if has_entities:
                name, classname = _resolved(name), _resolved(classname)
            results[naming(name, classname)] = (
                statuses[0] if worst else statuses[1] if worse else statuses[2] if bad else PASSED
            )
        elif kind == _IS_CLOSING and tags:
            if tags.pop() != token["closed"]:
                raise MalformedError
            if not tags:
                return results if _is_end(text, token.end(kind), end) else None
        elif kind == _IS_OPENING and (tags or not token["empty"]):
            if not token["empty"]:
                tags.append(token["opened"])
        elif kind == _IS_MISFIT:
            raise MalformedError
        else:
            return None
    raise MalformedError


def _is_end(text: str, start: int, end: int) -> bool:
    """Whether only blanks follow the root; some other things expat must judge."""
    rest = text[start:end].strip(" \t\r\n")
    if rest and not rest.startswith(("<?", "<!")):
        raise MalformedError
    return not rest


def _resolved(value: str | None) -> str | None:
    return _NAMED.sub(lambda entity: _ENTITIES[entity[0]], value) if value else value
