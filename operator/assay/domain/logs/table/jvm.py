"""Dialects of the JVM's build tools, and of reports in JUnit's form that other languages print."""

from assay.domain.logs.dialect import alias, dialect
from assay.domain.logs.durations import without_paren_sec
from assay.domain.logs.entries import Found
from assay.domain.logs.lines import Split
from assay.domain.logs.marked import rule
from assay.domain.logs.shapes import Void, between
from assay.domain.logs.statuses import ERROR, FAILED, PASSED, SKIPPED, keep
from assay.domain.logs.surefire import COUNTS, Reading, Surefire, counts_in
from assay.domain.logs.table.rows import marked
from assay.domain.logs.tag_scan import TagScan
from assay.domain.logs.xml_reports import (
    XmlReports,
    class_and_name,
    class_if_any_and_name,
    declared_to_testsuites,
    first_to_testsuites,
    line_blocks,
    name_and_class,
    whole_text,
)


def _gradle(line: str) -> Found | None:
    """Name, blanks, PASSED or FAILED, perhaps seconds; not a task line."""
    rest = without_paren_sec(line)
    word = rest[-6:]
    head = rest[:-6]
    if word not in (PASSED, FAILED) or line.startswith(">") or not head[-1:].isspace():
        return None
    name = head.rstrip()
    if len(name) < 2:
        name = head[:2] if len(head) > 2 else ""
    return (name, word) if name else None


def _first_suite(line: str) -> Found | None:
    found = COUNTS.search(line)
    if found is None:
        return None
    run, failures, errors, skipped = counts_in(found)
    if failures or errors:
        return "__suite__", FAILED if failures else ERROR
    return "__suite__", SKIPPED if skipped == run else PASSED


_AS_SAID = {word: word for word in (PASSED, FAILED, SKIPPED, ERROR)}

JAVA_MVN = dialect("parse_java_mvn", "java", Surefire(reading=Reading.EVERYTHING))
JAVA_MVN_V2 = marked(
    "parse_java_mvn_v2",
    "java",
    rule(
        between(r"\[INFO\]", r"\.\.++\s++(?P<word>SUCCESS|FAILURE|SKIPPED)(?=\s|\[|$)", Void.BLANK),
        {"SUCCESS": PASSED, "FAILURE": FAILED, "SKIPPED": SKIPPED},
        heads=r"\[",
        clue="..",
    ),
    rule(_first_suite, _AS_SAID, merge=keep, clue="Tests run:"),
    split=Split.UNIVERSAL,
    clues=("[INFO]", "Tests run:"),
)
SBT = dialect("parse_log_sbt", "scala", TagScan())
KOTLIN_JUNIT = dialect("parse_logs_kotlin_junit", "kotlin", Surefire(reading=Reading.COUNTED_CLASSES))
R_JUNIT = dialect(
    "parse_logs_r_junit",
    "r",
    XmlReports(
        spans=first_to_testsuites,
        order=("failure", "error", "skipped"),
        naming=class_if_any_and_name,
        only_in_suites=True,
    ),
)

ROWS = (
    dialect("parse_log_maven", "java", Surefire(reading=Reading.BUILDS)),
    JAVA_MVN,
    alias("parse_log_java_mvn", JAVA_MVN),
    JAVA_MVN_V2,
    alias("parse_log_java_mvn_v2", JAVA_MVN_V2),
    marked(
        "parse_log_ant",
        "java",
        rule(
            r"\[junit\]\s++\[(?P<word>PASS|FAIL|ERR)\]\s++(?P<name>.+)",
            {"PASS": PASSED, "FAIL": FAILED, "ERR": FAILED},
            heads=r"\[",
        ),
        clues=("[junit]",),
    ),
    marked("parse_log_gradle_custom", "java", rule(_gradle, _AS_SAID), clues=(PASSED, FAILED)),
    dialect(
        "parse_log_gradlew_v1",
        "java",
        XmlReports(spans=line_blocks, order=("skipped", "failure", "error"), naming=name_and_class),
    ),
    KOTLIN_JUNIT,
    alias("parse_log_kotlin_junit", KOTLIN_JUNIT),
    SBT,
    alias("parse_log_junit", SBT),
    R_JUNIT,
    alias("parse_log_r_junit", R_JUNIT),
    dialect(
        "parse_test_report",
        "cpp",
        XmlReports(spans=whole_text, order=("failure", "skipped", "error"), naming=class_and_name),
    ),
    dialect(
        "parse_combined_test_reports",
        "cpp",
        XmlReports(spans=declared_to_testsuites, order=("failure", "skipped", "error"), naming=class_and_name),
    ),
)
