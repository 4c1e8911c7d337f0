"""Patterns for plain XML documents against expat, which has the last word on every document."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.domain.logs import DIALECTS
from assay.domain.logs.plain_reports import MalformedError, plain_cases
from assay.domain.logs.xml_reports import expat_results


def plain_results(text, start, end, rules):
    """The cases as results, of which the last of equal names wins; None where expat has to look."""
    cases = plain_cases(text, start, end, rules)
    return None if cases is None else dict(cases)


RULES = [DIALECTS[name].options for name in ("parse_log_gradlew_v1", "parse_logs_r_junit", "parse_test_report")]
SUITE = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="s" tests="1">\n{}\n</testsuite></testsuites>\n'
PIECES = (
    *('<?xml version="1.0"?>', "<testsuites>", "</testsuites>", "<testsuite>", '<testsuite name="s">', "</testsuite>"),
    *(
        '<testcase name="a"/>',
        '<testcase name="b" classname="K" time="0.1">',
        "</testcase>",
        "<testcase>",
        "<testcase/>",
    ),
    *('<testcase name="a" name="b"/>', '<testcase x="1" x="2"/>', '<testcase name="a&lt;&quot;&amp;lt;"/>'),
    *('<testcase name="a\tb"/>', '<testcase name="&#65;"/>', "<testcase name='c'/>", '<testcase:x name="n"/>'),
    *(
        '<failure message="m">',
        "</failure>",
        "<failure/>",
        "<error/>",
        "<skipped/>",
        "<failures/>",
        '<skipped a="" a=""/>',
    ),
    *("<properties>", "</properties>", '<property name="p"/>', "<system-out>", "</system-out>", "<!-- c -->", "<?pi?>"),
    *(
        "<![CDATA[<failure/>]]>",
        "<![CDATA[",
        "]]>",
        "]]",
        "&lt;",
        "&#10;",
        "&#0;",
        "&b;",
        "&",
        "<",
        "< b",
        "a > b",
        "\n",
    ),
    *(
        '<a xmlns="u"/>',
        '<a xmlns:b="u"/>',
        "<testcase",
        '"',
        "\x01",
        "\ufffe",
        "\udc80",
        "é",
        "\U0001f600",
        "text",
        " ",
    ),
)
BODIES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
CASES = st.builds('<testcase name="a" classname="K">{}</testcase>'.format, BODIES)


def _outcome(read, text, rules):
    try:
        return read(text, 0, len(text), rules)
    except MalformedError:
        return "malformed"


@pytest.mark.parametrize("rules", RULES, ids=["gradle", "r", "cpp"])
@settings(max_examples=300, deadline=None)
@given(
    text=st.one_of(
        BODIES, BODIES.map(SUITE.format), CASES.map(SUITE.format), st.lists(CASES).map("".join).map(SUITE.format)
    )
)
def test_what_is_said_of_a_document_is_what_expat_says(rules, text):
    outcome = _outcome(plain_results, text, rules)
    assert outcome is None or outcome == _outcome(expat_results, text, rules)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<testcase name="a &lt;b&gt;" time="1"/>', {"a <b>": "PASSED"}),
        (
            '<testcase classname="K" name="a"><failure type="T">at x[0] &#10; </failure>\n</testcase>',
            {"a (K)": "FAILED"},
        ),
        ('<testcase name="a"><properties><skipped/></properties><error/></testcase>', {"a": "ERROR"}),
        ("<testcase><skipped/><failure/></testcase><system-out><![CDATA[<failure/>]]></system-out>", {"": "SKIPPED"}),
    ],
)
def test_a_plain_document_is_not_left_to_expat(body, expected):
    text = SUITE.format(body)
    assert plain_results(text, 0, len(text), RULES[0]) == expected
    assert plain_results(text.replace("UTF-8", "utf-8"), 0, len(text), RULES[0]) == expected


@pytest.mark.parametrize(
    "text", ["<a><b></a>", "<a>", "<a></a>b", "<a>1 < 2</a>", '<?xml version="1.0"?><a><testcase name="b"/>']
)
def test_a_broken_document_is_known_as_such(text):
    with pytest.raises(MalformedError):
        plain_results(text, 0, len(text), RULES[0])


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE a><a/>",
        '<a xmlns="u"><testcase name="b"/></a>',
        "<a><testcase><b><c><failure/></c></b></testcase></a>",
        "<a><!-- x --></a>",
        "<a></a><!-- x -->",
        '<a><testcase name="b" name="c"/></a>',
        "<testcase/>",
        "<a>\udc80</a>",
    ],
)
def test_a_document_that_is_not_plain_is_left_to_expat(text):
    assert plain_results(text, 0, len(text), RULES[0]) is None
