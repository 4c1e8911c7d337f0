"""Rules of single dialects that none of the published examples shows."""

import pytest

from assay.domain.logs import ParseFailed, parse_log


@pytest.mark.parametrize(
    ("dialect", "rule", "log", "expected"),
    [
        (
            "parse_log_csharp",
            "nothing stands between xUnit's time and its bracket",
            "[xUnit.net 00:00:01.02 ]     A.B [FAIL]\n[xUnit.net 00:00:01.02]     A.C [FAIL]",
            {"A.C": "FAILED"},
        ),
        (
            "parse_log_ocaml_v2",
            "a command is parted at && from its beginning",
            "Running[1]: (cd x &&&)\nOutput[1]:\nfine",
            {"&": "PASSED"},
        ),
        (
            "parse_log_php_v1",
            "a timing at the end has digits behind its point, the one of a wide column needs none",
            "FAIL Oven 5.s\n\u2713 it heats 5.s\n\u2713 it cools  5.s\n",
            {"Oven 5.s": "FAILED", "it heats 5.s": "PASSED", "it cools": "PASSED"},
        ),
        (
            "parse_log_ruby_v2",
            "of several blanks behind the number sign one serves as the method's name",
            "Pond# = 0.00 s = .\nLoom#  = 0.00 s = .\n",
            {"Loom#": "PASSED"},
        ),
        (
            "parse_log_r_v2",
            "the text of a check is trimmed",
            "* checking  docs  ... OK\n* checking\x20\x20\x20... NOTE\n* checking  tests  ...\nERROR",
            {"docs": "PASSED", "": "PASSED", "tests": "ERROR"},
        ),
        (
            "parse_log_dart_v3",
            "a name may end as a path does, and an error mark behind it is none of it",
            "00:01 +0: /w/a.dart: .dart: [E]\n00:01 +0: /w/a.dart: [E]",
            {"/w/a.dart: .dart:": "FAILED", "/w/a.dart: [E]": "FAILED"},
        ),
        (
            "parse_log_dart_v2",
            "loading is told in any case of its own letters, and no other letter is one of them",
            "[p]: 00:01 +0: /w/a.dart: LOADING\n[p]: 00:01 +0: /w/a.dart: load\u0130ng\u0131",
            {"/w/a.dart: load\u0130ng\u0131": "ERROR"},
        ),
        (
            "parse_log_ocaml_v4",
            "a colour's number may be spelt in any decimal digits",
            "\x1b[\u0663mPASSED\x1b[\uff10;1mpond",
            {"pond": "PASSED"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("parse_") else "",
)
def test_a_rule_is_kept_to_the_letter(dialect, rule, log, expected):
    assert parse_log(dialect, log) == expected, rule


@pytest.mark.parametrize("blank", ["\t", "  ", "\u00a0", "\u3000", "\x1f"])
def test_any_blanks_may_surround_the_words_of_a_group_summary(blank):
    line = "Brew ran 12 tests in 3.40 msec all ok".replace(" ", blank)
    assert parse_log("parse_log_cpp_v3", line) == {f"Brew ran 12 tests all{blank}ok": "PASSED"}


def test_django_tries_its_version_rule_first_and_lets_later_rules_overwrite():
    version = "--version is equivalent to version"
    assert parse_log("parse_log_django", f"{version} ... skipped 'x'\n") == {version: "SKIPPED"}
    assert parse_log("parse_log_django", f"{version} ... FAIL\n") == {version: "FAILED"}


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("x\na ... {0} ... {0}\nok\n", "a ... {0}"),
        ("x\na ... {0}\nok\nb ... {0}\nok\n", "b"),
        ("x\na ... {0}\n... {0}\nok\n", "a ... {0}"),
        ("x\na ... {0}\nok\n... {0}\nok\n", "a"),
    ],
)
def test_an_interrupted_django_test_is_named_by_one_line_that_no_earlier_one_has_used(log, name):
    checked = "System check identified no issues (0 silenced)"
    passed = {name for name, status in parse_log("parse_log_django", log.format(checked)).items() if status == "PASSED"}
    assert name.format(checked) in passed
    assert not any("\n" in name or name == "ok" for name in passed)


def test_the_column_before_a_time_of_pytest_may_hold_an_opening_bracket():
    log = "t.py::a PASSED [a[1] in 2s\nt.py::b FAILED [x ERROR [y] in 3s\nt.py::c[x] PASSED [z] ERROR [y] in 3s"
    named = {"t.py::a": "PASSED", "t.py::b": "FAILED", "t.py::c[x] PASSED [z]": "ERROR"}
    assert parse_log("parse_log_pytest_nebo", log) == named


def test_django_trims_the_line_behind_a_migration_and_not_the_name():
    line = "Applying sites.0002_alter_domain_unique...test_no_migrations (m.T)  ... ok"
    assert parse_log("parse_log_django", line) == {"test_no_migrations (m.T) ": "PASSED"}


def test_django_reads_the_line_behind_a_migration_by_the_rules_that_follow_too():
    line = "Applying sites.0002_alter_domain_unique...test_no_migrations ... skipped ... ok"
    named = {"test_no_migrations ... skipped": "PASSED", "test_no_migrations": "SKIPPED"}
    assert parse_log("parse_log_django", line) == named


@pytest.mark.parametrize(
    ("dialect", "frame"),
    [
        ("parse_test_report", "<s>{}</s>"),
        ("parse_combined_test_reports", '<?xml version="1.0"?><testsuites>{}</testsuites>'),
    ],
)
def test_of_equal_names_in_a_report_the_case_that_opens_last_wins(dialect, frame):
    outer_failed = '<testcase name="a"><testcase name="a"/><failure/></testcase>'
    inner_failed = '<testcase name="a"><testcase name="a"><failure/></testcase></testcase>'
    assert parse_log(dialect, frame.format(outer_failed)) == {"None::a": "PASSED"}
    assert parse_log(dialect, frame.format(inner_failed)) == {"None::a": "FAILED"}


def test_a_doctest_subcase_is_a_test_of_every_case_around_it():
    failed = '<SubCase name="s"><Expression success="false"/></SubCase>'
    nested = f'<TestCase name="a"><TestCase name="b">{failed}</TestCase><SubCase name="s"/></TestCase>'
    assert parse_log("parse_log_doctest", f"<doctest>{nested}</doctest>") == {"a > s": "PASSED", "b > s": "FAILED"}
    deep = "<TestCase>" * 11 + "</TestCase>" * 11
    with pytest.raises(ParseFailed, match="test cases stand in each other"):
        parse_log("parse_log_doctest", f"<doctest>{deep}</doctest>")


def test_a_closing_tag_that_an_escape_parts_is_one_once_the_log_is_cleaned():
    assert parse_log("parse_log_p5js", "<pre>\n1) Gone\n  x:<\x1b[m/pre>\n2) Kept\n  y:\n") == {"Kept:y": "FAILED"}
