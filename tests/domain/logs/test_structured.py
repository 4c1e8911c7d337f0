"""Reports made for machines, one small report of every outcome each."""

import json
import tracemalloc
from xml.etree.ElementTree import Element, tostring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, Skipped, TestCase

from assay.domain.logs import parse_log

JUNIT = """building
<?xml version="1.0"?>
<testsuites><testsuite name="s">
  <testcase classname="a.B" name="passes &lt;x&gt;"/>
  <testcase name="skips"><skipped/></testcase>
  <testsuite name="inner"><testcase classname="a" name="fails"><failure message="m"/></testcase></testsuite>
</testsuite></testsuites>
done <testsuite><testcase name="errs"><error/></testcase><testcase name="both"><error/><failure/></testcase></testsuite>
"""
GO = """# warming up
{"Action":"start","Package":"ex/p"}
{"Action":"run","Package":"ex/p","Test":"TestA"}
{"Action":"run","Package":"ex/p","Test":"TestA/sub_1"}
{"Action":"fail","Package":"ex/p","Test":"TestA/sub_1","Elapsed":0}
{"Action":"fail","Package":"ex/p","Test":"TestA","Elapsed":0}
{"Action":"skip","Package":"ex/p","Test":"TestS","Elapsed":0}
{"Action":"pass","Package":"ex/p","Test":"TestP","Elapsed":0}
{"Action":"run","Package":"ex/p","Test":"TestHangs"}
{"Action":"fail","Package":"ex/p","Elapsed":0.1}
{"Action":"pass","Package":"ex/q","Elapsed":0.1}
"""
TAP = """TAP version 14
ok 1 - plain
not ok 2 - broken
# Subtest: group
    ok 1 - inner # SKIP no bulb
    # Subtest: deeper
        not ok 1 - leaf
    not ok 2 - deeper
    1..2
not ok 3 - group # time=3ms
not ok 4 - later # TODO write it
ok 5
ok 6 no dash \\# hash
1..6
Bail out! no more tea
"""
JEST = """> jest --json
{"numTotalTests": 3,
 "testResults": [
  {"name": "/w/a.test.js", "status": "failed", "assertionResults": [
   {"ancestorTitles": ["pot", "lid"], "title": "shuts", "status": "passed"},
   {"ancestorTitles": [], "title": "leaks", "status": "failed"},
   {"ancestorTitles": [], "title": "waits", "status": "todo"}]},
  {"name": "/w/b.test.js", "status": "failed", "assertionResults": []}]}
bye
"""
MOCHA = """{ not json
{"stats": {}, "passes": [{"fullTitle": "pot pours"}], "pending": [{"fullTitle": "pot waits"}],
 "failures": [{"fullTitle": "pot leaks"}]}"""
TRX = """<?xml version="1.0"?><TestRun xmlns="urn:x"><Results>
<UnitTestResult testName="A.Passes(n: 1)" outcome="Passed"/><UnitTestResult testName="A.Fails" outcome="Failed"/>
<UnitTestResult testName="A.Skips" outcome="NotExecuted"/><UnitTestResult testName="A.Odd" outcome="?"/>
</Results></TestRun>"""
RUST = """{ "type": "suite", "event": "started", "test_count": 4 }
{ "type": "test", "event": "started", "name": "t::crashes" }
{ "type": "test", "name": "t::passes", "event": "ok" }
{ "type": "test", "name": "t::fails", "event": "failed", "stdout": "x" }
{ "type": "test", "event": "ignored", "name": "t::waits" }
"""


@pytest.mark.parametrize(
    ("dialect", "log", "expected"),
    [
        (
            "junit",
            JUNIT,
            {"a.B::passes <x>": "PASSED", "skips": "SKIPPED", "a::fails": "FAILED", "errs": "ERROR", "both": "FAILED"},
        ),
        (
            "gotest-json",
            GO,
            {
                "ex/p::TestA": "FAILED",
                "ex/p::TestA/sub_1": "FAILED",
                "ex/p::TestS": "SKIPPED",
                "ex/p::TestP": "PASSED",
                "ex/p::TestHangs": "ERROR",
                "ex/p": "FAILED",
            },
        ),
        (
            "tap",
            TAP,
            {
                "plain": "PASSED",
                "broken": "FAILED",
                "group > inner": "SKIPPED",
                "group > deeper > leaf": "FAILED",
                "group > deeper": "FAILED",
                "group": "FAILED",
                "later": "XFAIL",
                "5": "PASSED",
                "no dash \\# hash": "PASSED",
                "Bail out! no more tea": "ERROR",
            },
        ),
        (
            "jest-json",
            JEST,
            {"pot > lid > shuts": "PASSED", "leaks": "FAILED", "waits": "SKIPPED", "/w/b.test.js": "ERROR"},
        ),
        ("mocha-json", MOCHA, {"pot pours": "PASSED", "pot waits": "SKIPPED", "pot leaks": "FAILED"}),
        ("trx", TRX, {"A.Passes(n: 1)": "PASSED", "A.Fails": "FAILED", "A.Skips": "SKIPPED", "A.Odd": "ERROR"}),
        (
            "nextest-json",
            RUST,
            {"t::crashes": "ERROR", "t::passes": "PASSED", "t::fails": "FAILED", "t::waits": "SKIPPED"},
        ),
    ],
)
def test_a_report_gives_every_outcome(dialect, log, expected):
    assert parse_log(dialect, log) == expected


@pytest.mark.parametrize(
    ("dialect", "head", "test"),
    [
        (
            "jest-json",
            '{"testResults":[',
            '{"assertionResults":[{"status":"passed","title":"a","duration":3,"x":[1,2]}]}',
        ),
        ("mocha-json", '{"failures":[],"passes":[', '{"fullTitle":"a","duration":3,"err":{},"x":[1,2]}'),
    ],
)
def test_a_json_report_of_many_tests_is_not_held_as_a_tree(dialect: str, head: str, test: str) -> None:
    log = head + ",".join([test] * 50_000) + "]}"
    tracemalloc.start()
    assert parse_log(dialect, log) == {"a": "PASSED"}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(log)


WORDS = st.sampled_from(["passed", "failed", "a", 1, None])
TESTS = st.fixed_dictionaries(
    {"status": st.sampled_from(["passed", "failed"])},
    optional={"title": WORDS, "ancestorTitles": WORDS | st.lists(WORDS)},
)
FILES = st.fixed_dictionaries(
    {"assertionResults": st.lists(WORDS | TESTS, max_size=3)}, optional={"status": WORDS, "name": WORDS}
)
MEMBERS = st.tuples(st.sampled_from(["testResults", "other"]), st.lists(WORDS | FILES, max_size=3) | WORDS)


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


@settings(max_examples=300, deadline=None)
@given(members=st.lists(MEMBERS))
def test_a_jest_report_gives_what_its_whole_tree_gives(members: list[tuple[str, object]]) -> None:
    report = "{" + ", ".join(f"{json.dumps(key)} : {json.dumps(value)}" for key, value in members) + "}"
    expected: dict[str, str] = {}
    for file in _objects(json.loads(report).get("testResults")):
        tests = _objects(file.get("assertionResults"))
        for test in tests:
            titles = test.get("ancestorTitles")
            name = " > ".join(map(str, [*(titles if isinstance(titles, list) else []), test.get("title", "")]))
            if test.get("status") in ("passed", "failed"):
                expected[name] = str(test["status"]).upper()
        if not tests and file.get("status") == "failed":
            expected[str(file.get("name"))] = "ERROR"
    assert parse_log("jest-json", report) == expected


def _element(tag: str, attributes: dict[str, str], children: list[Element]) -> Element:
    element = Element(tag, attributes)
    element.extend(children)
    return element


ATTRIBUTES = st.dictionaries(st.sampled_from(["name", "classname"]), st.sampled_from(["", "a", "b <&>"]))
LEAVES = st.builds(_element, st.sampled_from(["failure", "error", "skipped", "system-out"]), ATTRIBUTES, st.just([]))
PARTS = st.recursive(
    LEAVES,
    lambda children: st.builds(
        _element, st.sampled_from(["testcase", "testcase", "properties"]), ATTRIBUTES, st.lists(children, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(cases=st.lists(st.builds(_element, st.just("testcase"), ATTRIBUTES, st.lists(PARTS, max_size=3)), max_size=4))
def test_a_junit_case_gives_what_junitparser_says_of_it(cases: list[Element]) -> None:
    expected = {}
    for case in map(TestCase.fromelem, cases):
        kinds = [kind for kind in (Failure, Error, Skipped) if any(isinstance(each, kind) for each in case.result)]
        name = f"{case.classname}::{case.name}" if case.classname else case.name or ""
        expected[name] = (
            {"failure": "FAILED", "error": "ERROR", "skipped": "SKIPPED"}[kinds[0]._tag] if kinds else "PASSED"
        )
    report = tostring(_element("testsuite", {}, cases), encoding="unicode")
    assert parse_log("junit", f"<testsuites>{report}</testsuites>") == expected
