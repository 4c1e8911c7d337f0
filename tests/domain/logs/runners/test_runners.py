"""Real runners on tiny suites with every outcome, read by the dialects that are named after them."""

import sys

import pytest

from assay.domain.logs import parse_log
from conftest import cache_dir

pytestmark = [pytest.mark.runners, pytest.mark.timeout(600)]

POT = "check_pot.py::"
GO = {
    "TestPours": "FAILED",
    "TestPours/green": "PASSED",
    "TestPours/x_y": "PASSED",
    "TestPours/a/b": "FAILED",
    "TestPours/très": "PASSED",
    "TestPours/(hot)": "PASSED",
    "TestPours/#00": "PASSED",
    "TestChats": "PASSED",
    "TestRests": "SKIPPED",
    "TestNested": "PASSED",
    "TestNested/lid": "PASSED",
    "TestNested/lid/shuts": "PASSED",
    "TestNested/lid/rests": "SKIPPED",
}
PYTEST = {
    POT + "test_pours[green]": "PASSED",
    POT + "test_pours[a::b]": "PASSED",
    POT + "test_pours[x": "PASSED",
    POT + "test_pours[/srv/cup.png]": "PASSED",
    POT + "test_pours[tr\\xe8s]": "PASSED",
    POT + "test_pours[[1]]": "PASSED",
    POT + "test_pours[]": "PASSED",
    POT + "TestLid::test_fits": "PASSED",
    "[1]": "SKIPPED",
    POT + "test_uses_broken": "ERROR",
    POT + "test_leaks": "FAILED",
}


def test_pytest_is_read_with_and_without_colour(start):
    command = (sys.executable, "-m", "pytest", "-rA", "--tb=no", "-p", "no:cacheprovider", "check_pot.py")
    plain = start("pytest", *command)
    assert parse_log("parse_log_pytest", plain) == PYTEST
    assert parse_log("swebench_pytest", plain) == PYTEST | {POT + "test_expected": "XFAIL"}
    options = dict(PYTEST)
    options[POT + "test_pours[/cup.png]"] = options.pop(POT + "test_pours[/srv/cup.png]")
    assert parse_log("parse_log_pytest_options", plain) == options
    coloured = start("pytest", *command, "--color=yes")
    assert parse_log("parse_log_pytest", coloured) == {}
    assert parse_log("parse_log_pytest_v2", coloured) == PYTEST


def test_pytest_is_read_from_its_report(start):
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=/dev/stdout", "check_pot.py")
    results = parse_log("junit", start("pytest", *command))
    assert results["check_pot::test_pours[x y]"] == "PASSED"
    assert results["check_pot::test_leaks"] == "FAILED"
    assert results["check_pot::test_uses_broken"] == "ERROR"
    assert results["check_pot::test_rests"] == results["check_pot::test_expected"] == "SKIPPED"


def test_unittest_is_read_by_the_dialect_of_django(start):
    assert parse_log("parse_log_django", start("unittest", sys.executable, "-m", "unittest", "-v", "check_pot")) == {
        "test_breaks (check_pot.PotTest.test_breaks)": "ERROR",
        "test_chats (check_pot.PotTest.test_chats)": "PASSED",
        "Pours as the label says.": "PASSED",
        "test_leaks (check_pot.PotTest.test_leaks)": "FAILED",
        "test_pours (check_pot.PotTest.test_pours)": "PASSED",
        "test_rests (check_pot.PotTest.test_rests)": "SKIPPED",
        "test_breaks": "ERROR",
        "test_leaks": "FAILED",
    }


def test_go_test_is_read_as_text_and_as_events(start):
    assert parse_log("parse_log_gotest", start("go", "go", "test", "-v", "./...")) == GO
    events = parse_log("gotest-json", start("go", "go", "test", "-json", "./..."))
    named = {f"example.test/pot::{name}": status for name, status in GO.items()}
    assert events == named | {"example.test/pot": "FAILED"}


def test_cargo_test_is_read(start):
    assert parse_log("parse_log_cargo", start("cargo", "cargo", "test", "--offline")) == {
        "tests::leaks": "FAILED",
        "tests::lid::très_fits": "PASSED",
        "tests::pours": "PASSED",
    }


def test_node_is_read_in_three_of_its_forms(start):
    tap = start("node", "node", "--test", "--test-reporter=tap")
    assert parse_log("tap", tap) == {
        "pot > pours (hot) 5s": "PASSED",
        "pot > leaks": "FAILED",
        "pot > rests": "SKIPPED",
        "pot > waits \\# today": "PASSED",
        "pot > lid > rim > fits très": "PASSED",
        "pot > lid > rim": "PASSED",
        "pot": "FAILED",
        "alone": "PASSED",
        "broken todo": "XFAIL",
    }
    assert parse_log("parse_log_tap", tap)["- rests # SKIP"] == "PASSED"
    spec = parse_log("parse_log_js_4", start("node", "node", "--test", "--test-reporter=spec"))
    assert spec["pours (hot) 5s"] == spec["alone"] == spec["lid > rim"] == "PASSED"
    assert spec["leaks"] == spec["pot"] == spec["failing tests:"] == "FAILED"
    assert parse_log("junit", start("node", "node", "--test", "--test-reporter=junit"))["test::fits très"] == "PASSED"


def test_perls_tap_is_read(start):
    assert parse_log("tap", start("perl", "perl", "pot.t")) == {
        "pours (hot)": "PASSED",
        "leaks": "FAILED",
        "3": "SKIPPED",
        "is expected": "XFAIL",
        "lid > holds green": "PASSED",
        "lid > holds x y": "PASSED",
        "lid > holds très": "PASSED",
        "lid > rim > fits \\# tight": "PASSED",
        "lid > rim": "PASSED",
        "lid": "PASSED",
        "6": "PASSED",
    }


def test_surefire_is_read_from_mavens_log_and_from_its_reports(start):
    log = start("maven", "mvn", "-B", f"-Dmaven.repo.local={cache_dir() / 'runners' / 'maven'}", "test")
    results = parse_log("parse_java_mvn", log)
    assert {name: status for name, status in results.items() if name.startswith("pot.")} == {
        "pot.LidTest": "PASSED",
        "pot.RestTest": "SKIPPED",
        "pot.PotTest$Lid": "FAILED",
        "pot.PotTest": "FAILED",
        "pot.PotTest.breaks": "FAILED",
        "pot.PotTest.leaks": "FAILED",
    }
    assert parse_log("parse_java_mvn_v2", log) == {"__suite__": "PASSED"}, "no line of it names a module's result"
    reports = parse_log("junit", start("maven", "sh", "-c", "cat target/surefire-reports/*.xml"))
    assert reports == {
        "pot.LidTest::shuts": "PASSED",
        "pot.PotTest::pours": "PASSED",
        "pot.PotTest::leaks": "FAILED",
        "pot.PotTest::breaks": "ERROR",
        "pot.PotTest::rests": "SKIPPED",
        "pot.PotTest::holds(String)[1]": "PASSED",
        "pot.PotTest::holds(String)[2]": "PASSED",
        "pot.PotTest::holds(String)[3]": "PASSED",
        "pot.PotTest$Lid::fits": "PASSED",
        "pot.RestTest::waits": "SKIPPED",
    }


def test_phpunit_is_read_as_text_and_from_its_report(start):
    leaves = {"green": "PASSED", "x y": "PASSED", "très": "PASSED", "(hot)": "FAILED"}
    text = start("phpunit", "phpunit", "--testdox", "--log-junit=report.xml", "PotTest.php")
    assert parse_log("parse_log_phpunit", text) == {
        "Pot > Pours": "PASSED",
        "Pot > Leaks": "FAILED",
        "Pot > Breaks": "FAILED",
        "Pot > Rests": "SKIPPED",
    } | {f'Pot > Holds with data set "{leaf}"': status for leaf, status in leaves.items()}
    assert parse_log("junit", start("phpunit", "cat", "report.xml")) == {
        "Kitchen.Tests.PotTest::testPours": "PASSED",
        "Kitchen.Tests.PotTest::testLeaks": "FAILED",
        "Kitchen.Tests.PotTest::testBreaks": "ERROR",
        "Kitchen.Tests.PotTest::testRests": "SKIPPED",
        "Kitchen.Tests.PotTest::testWaits": "SKIPPED",
    } | {f'Kitchen.Tests.PotTest::testHolds with data set "{leaf}"': status for leaf, status in leaves.items()}


def test_rspec_is_read_from_its_transformed_report(start):
    start("rspec", "rspec", "--format=json", "--out=report.json", "pot_spec.rb")
    lines = 'JSON.parse(ARGF.read)["examples"].each { |test| puts "#{test["full_description"]} - #{test["status"]}" }'
    assert parse_log(
        "parse_log_rspec_transformed_json", start("rspec", "ruby", "-rjson", "-e", lines, "report.json")
    ) == {
        "pot pours (hot)": "PASSED",
        "pot leaks": "FAILED",
        "pot breaks": "FAILED",
        "pot lid holds green": "PASSED",
        "pot lid holds x y": "PASSED",
        "pot lid holds très": "PASSED",
    }


RUBY = {
    "test_pours": "PASSED",
    "test_leaks": "FAILED",
    "test_breaks": "FAILED",
    "test_rests": "SKIPPED",
    "test_holds_green": "PASSED",
    "test_holds_x y": "PASSED",
    "test_holds_très": "PASSED",
}


def test_minitest_is_read(start):
    named = {f"PotTest#{name}": status for name, status in RUBY.items()}
    assert parse_log("parse_log_ruby_v2", start("ruby", "ruby", "pot_test.rb", "-v")) == named


def test_rubys_test_unit_is_read(start):
    assert parse_log("parse_log_ruby_unit", start("ruby", "ruby", "pot_test.rb", "-v", FRAMEWORK="test-unit")) == RUBY


def test_ctest_is_read_for_what_passes_and_its_report_for_the_rest(start):
    start("ctest", "cmake", "-S", ".", "-B", "build")
    log = start("ctest", "ctest", "--test-dir", "build", "--output-junit", "report.xml")
    assert parse_log("parse_log_cpp_v4", log) == {"pot.pours": "PASSED", "pot.expected": "PASSED"}
    report = parse_log("junit", start("ctest", "cat", "build/report.xml"))
    assert report["pot.pours::pot.pours"] == report["pot.expected::pot.expected"] == "PASSED"
    assert report["pot.leaks::pot.leaks"] == "FAILED"
    assert report["pot.rests::pot.rests"] == "SKIPPED"


def test_googletest_is_read(start):
    libraries = ("-lgtest", "-lgtest_main", "-pthread")
    start("googletest", "g++", "-O0", "pot.cpp", "-o", "pot", *libraries)
    assert parse_log("parse_log_googletest", start("googletest", "sh", "-c", "./pot --gtest_color=no")) == {
        "Pot.Pours": "PASSED",
        "Pot.Leaks": "FAILED",
        "Sizes/Holds.Cups/0": "PASSED",
        "Sizes/Holds.Cups/1, where GetParam() = 7": "FAILED",
    }


def test_jest_is_read_as_text_and_as_json(start, node_modules):
    jest = str(node_modules / ".bin" / "jest")
    assert parse_log("parse_log_jest", start("npm/jest", jest, "--verbose", "--no-cache")) == {
        "pours (hot)": "PASSED",
        "leaks": "FAILED",
        "skipped rests": "SKIPPED",
        "holds green": "PASSED",
        "holds x y": "PASSED",
        "holds é 5": "PASSED",
    }
    assert parse_log("jest-json", start("npm/jest", jest, "--json", "--no-cache")) == {
        "pot > pours (hot)": "PASSED",
        "pot > leaks": "FAILED",
        "pot > rests": "SKIPPED",
        "pot > waits": "SKIPPED",
        "pot > lid > holds green": "PASSED",
        "pot > lid > holds x y": "PASSED",
        "pot > lid > holds é 5": "PASSED",
    }


def test_mocha_is_read_as_text_and_as_json(start, node_modules):
    mocha = str(node_modules / ".bin" / "mocha")
    assert parse_log("parse_log_js_2", start("npm/mocha", mocha, "pot.js")) == {
        "pours (hot)": "PASSED",
        "leaks": "FAILED",
        "rests": "SKIPPED",
        "waits": "SKIPPED",
        "holds green": "PASSED",
        "holds x y": "PASSED",
        "holds é": "PASSED",
        "pot": "FAILED",
    }
    assert parse_log("mocha-json", start("npm/mocha", mocha, "--reporter=json", "pot.js")) == {
        "pot pours (hot)": "PASSED",
        "pot lid holds green": "PASSED",
        "pot lid holds x y": "PASSED",
        "pot lid holds é 5s": "PASSED",
        "pot rests": "SKIPPED",
        "pot waits": "SKIPPED",
        "pot leaks": "FAILED",
    }


def test_vitest_is_read(start, node_modules):
    vitest = str(node_modules / ".bin" / "vitest")
    log = start("npm/vitest", vitest, "run", "--reporter=verbose", "--root=.")
    assert parse_log("parse_log_vitest", log) == {
        "pot.test.mjs > pot > pours (hot)": "PASSED",
        "pot.test.mjs > pot > leaks": "FAILED",
        "pot.test.mjs > pot > expected": "PASSED",
        "pot.test.mjs > pot > lid > holds green": "PASSED",
        "pot.test.mjs > pot > lid > holds x y": "PASSED",
        "pot.test.mjs > pot > lid > holds é": "PASSED",
    }
