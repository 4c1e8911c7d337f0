"""Which of equally named test cases of one document wins."""

from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs import contradictions_in, parse_log

DECLARED = '<?xml version="1.0"?>\n'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (
            '<testsuite><testsuite><testcase name="a"/></testsuite><testcase name="a"><error/></testcase></testsuite>',
            "PASSED",
        ),
        (
            '<testsuite><testcase name="a"/><testsuite><testcase name="a"><error/></testcase></testsuite></testsuite>',
            "ERROR",
        ),
        (
            '<testsuite><testsuite><testcase name="a"/></testsuite></testsuite><testsuite><testcase name="a"><skipped/></testcase></testsuite>',
            "SKIPPED",
        ),
        (
            '<testsuite><testcase name="a"><testsuite><testcase name="a"/></testsuite><error/></testcase></testsuite>',
            "PASSED",
        ),
    ],
)
def test_cases_are_taken_suite_by_suite_in_the_order_in_which_suites_begin(body, status):
    assert parse_log("parse_logs_r_junit", f"{DECLARED}<testsuites>{body}</testsuites>") == {"a": status}


def test_a_case_inside_another_comes_after_it():
    log = f'{DECLARED}<testsuite><testcase name="a"><error/><testcase name="a"/></testcase>\n</testsuite>'
    assert parse_log("parse_log_gradlew_v1", log) == {"a": "PASSED"}


def _element(kind: tuple[str, str], children: list[Element]) -> Element:
    tag, name = kind
    element = Element(tag, {"name": name})
    element.extend(children)
    return element


KINDS = st.tuples(st.sampled_from(["testsuite", "testcase", "testcase", "failure", "group"]), st.sampled_from("ab"))
ELEMENTS = st.recursive(
    KINDS.map(lambda kind: _element(kind, [])),
    lambda children: st.builds(_element, KINDS, st.lists(children, max_size=4)),
    max_leaves=12,
)


def _slowly(cases: list[Element]) -> dict[str, str]:
    return {case.get("name", ""): "PASSED" if case.find("failure") is None else "FAILED" for case in cases}


@settings(max_examples=100, deadline=None)
@given(elements=st.lists(ELEMENTS, max_size=4))
def test_a_document_gives_what_a_search_in_its_whole_tree_gives(elements):
    root = Element("testsuites")
    root.extend(elements)
    document = tostring(root, encoding="unicode")
    tree = fromstring(document)
    in_suites = [case for suite in tree.iterfind(".//testsuite") for case in suite.iterfind("testcase")]
    assert parse_log("parse_logs_r_junit", DECLARED + document) == _slowly(in_suites)

    SubElement(root, "properties").tail = "\n"
    suite = tostring(root, encoding="unicode").replace("testsuites>", "testsuite>")
    anywhere = list(fromstring(suite).iterfind(".//testcase"))
    assert parse_log("parse_log_gradlew_v1", DECLARED + suite) == _slowly(anywhere)


PASSES = '<testcase classname="c" name="a"/>'
FAILS = '<testcase classname="c" name="a"><failure/></testcase>'


@pytest.mark.parametrize(
    "log",
    [
        f"<testsuites><testsuite>{FAILS}{PASSES}</testsuite></testsuites>",
        f"<testsuites><testsuite>{FAILS}{PASSES}</testsuite><!-- for expat --></testsuites>",
        f"<testsuites><testsuite>{FAILS}</testsuite></testsuites>{DECLARED}<testsuites><testsuite>{PASSES}</testsuite></testsuites>",
    ],
    ids=["in a plain document", "in another document", "in two documents"],
)
def test_a_case_that_passes_after_it_failed_is_known_to_contradict_itself(log: str) -> None:
    found = parse_log("parse_combined_test_reports", DECLARED + log)
    assert (dict(found), contradictions_in(found)) == ({"c::a": "PASSED"}, {"c::a"})


def test_an_entity_that_nothing_defines_breaks_a_document_whose_type_is_declared_elsewhere():
    document = (
        '<!DOCTYPE testsuites SYSTEM "a.dtd">\n<testsuites><testsuite><testcase name="a"/>{}</testsuite></testsuites>'
    )
    broken = document.format("&unknown;")
    with pytest.raises(ParseError):
        fromstring(broken)
    assert parse_log("parse_logs_r_junit", f"{DECLARED}{document.format('&amp;')}") == {"a": "PASSED"}
    assert parse_log("parse_logs_r_junit", f"{DECLARED}{broken}") == {}
