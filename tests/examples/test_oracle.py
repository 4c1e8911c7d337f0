"""The rules of direct execution, as a table of runs and what they say."""

from pathlib import Path

import pytest
from assay_examples.oracle import DirectRun, End, condemned_by_first, judgement_of, judgement_of_whole, whole_results
from assay_examples.recipes import Expectation, Limits, Plant, Recipe, Runs

WORDS = {"P": "PASSED", "F": "FAILED", "E": "ERROR", "S": "SKIPPED"}


def recipe(f2p=(), p2p=(), checks=(), planted=None):
    return Recipe(
        name="x",
        built_as="x",
        language="python",
        statement="",
        upstream=None,
        folder=Path(),
        packages=(),
        commands=("true",),
        parser="parse_log_pytest",
        fail_to_pass=tuple(f2p),
        pass_to_pass=tuple(p2p),
        image_missing=False,
        runs=Runs(),
        limits=Limits(),
        expected=Expectation(verdict="Valid"),
        checks=tuple(checks),
        planted=planted,
    )


def runs(log="", **tests):
    """Runs from letters by test: `a="FFF PP"` failed in three unpatched runs and passed in two patched ones; `.` absent."""
    found = []
    for number, state in enumerate(("unpatched", "patched", "pristine")):
        columns = {name: letters.split()[number] for name, letters in tests.items() if len(letters.split()) > number}
        for column in range(max(map(len, columns.values()), default=0)):
            results = {name: WORDS[letters[column]] for name, letters in columns.items() if letters[column] != "."}
            found.append(DirectRun(state=state, end=End.RAN, results=results, log=log))
    return found


@pytest.mark.parametrize(
    ("tests", "declared", "reason"),
    [
        ({"a": "FFF PP", "b": "PPP PP"}, {}, None),
        ({"a": "... PP", "b": "PPP PP"}, {}, None),
        ({"a": "FEF PP"}, {}, None),
        ({"a": "PPP PP"}, {}, "NoTargetTests"),
        ({"a": "SSS PP"}, {}, "NoTargetTests"),
        ({"a": "PPP PP", "b": "FFF PP"}, {"f2p": ["a"]}, "TargetTestsPassUnpatched"),
        ({"a": "FFF FF", "b": "FFF PP"}, {"f2p": ["a"]}, "TargetTestsFailPatched"),
        ({"a": "FFF ..", "b": "FFF PP"}, {"f2p": ["a"]}, "TargetTestsFailPatched"),
        ({"a": "FFF PF"}, {"f2p": ["a"]}, "TargetTestsFlaky"),
        ({"a": "FPF PP"}, {"f2p": ["a"]}, "TargetTestsFlaky"),
        ({"a": "FFF PP", "b": "PPP FF"}, {}, "PassToPassRegression"),
        ({"a": "FFF PP", "b": "PPP .."}, {}, None),
        ({"a": "FFF PP", "b": "PPP .."}, {"p2p": ["b"]}, "PassToPassRegression"),
        ({"a": "FFF PP", "b": "PPP FF", "c": "PPP PP"}, {"p2p": ["c"]}, None),
        ({"a": "FFF PP", "b": "PPP PF"}, {"p2p": ["b"]}, None),
        ({"a": "FFF PP", "b": "FFF FF"}, {"p2p": ["b"]}, None),
        ({"a": "PPP .."}, {}, "TestsDidNotRun"),
    ],
)
def test_reason(tests, declared, reason):
    found = judgement_of(recipe(**declared), runs(**tests))
    assert found.reason == reason
    assert found.verdict == ("Invalid" if reason else "Valid")


def test_each_name_is_in_one_list():
    found = judgement_of(
        recipe(),
        runs(a="FFF PP", b="PPP PP", c="PFP PP", d="PP. PP", e="P.. ..", f="FFF FF", g="SSS SS", h="... P."),
    )
    assert found.fail_to_pass == ("a",)
    assert found.pass_to_pass == ("b",)
    assert set(found.flaky) == {"c", "d"}
    assert found.flaky["c"]["unpatched"] == ("pass", "fail", "pass")
    assert found.unstable == ("e", "h")
    assert found.excluded == ("f", "g")


def test_pristine_runs_tell_new_targets():
    found = judgement_of(recipe(), runs(a="... PP .", b="... PP P"))
    assert found.fail_to_pass == ("a", "b")
    assert found.new_targets == ("a",)


@pytest.mark.parametrize("end", [End.TEST_PATCH, End.PATCH, End.MEMORY, End.TIME])
def test_end_of_a_run_leads(end):
    found = judgement_of(recipe(), [*runs(a="FFF P"), DirectRun(state="patched", end=end)])
    assert found.reason == end.value


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "NeedsNetwork"),
        ("main.go:8:8: module lookup disabled by GOPROXY=off", "NeedsNetwork"),
        ("assert 1 == 2", "TargetTestsFailPatched"),
    ],
)
def test_refused_network_explains_a_failing_target(log, reason):
    assert judgement_of(recipe(f2p=["a"]), runs(log, a="FFF FF")).reason == reason


@pytest.mark.parametrize(
    ("planted", "check", "reason"),
    [
        (Plant.TAG, "FutureHistory", "FutureHistory"),
        (Plant.RELEASE, "FutureHistory", "FutureHistory"),
        (Plant.MODULE_CACHE, "ModuleCache", "ModuleCacheHoldsTask"),
    ],
)
def test_a_planted_solution_condemns_a_task_whose_tests_behave_if_its_check_is_asked_for(planted, check, reason):
    behaving, other = runs(a="FF PP"), {"FutureHistory", "ModuleCache"} - {check}
    assert judgement_of(recipe(planted=planted, checks=[check]), behaving).reason == reason
    assert judgement_of(recipe(planted=planted, checks=other), behaving).reason is None
    assert judgement_of(recipe(planted=planted, checks=[check]), runs(a="PP PP")).reason == "NoTargetTests"


def test_network_in_the_log_of_a_task_that_passes_is_no_matter():
    assert judgement_of(recipe(f2p=["a"]), runs("Connection refused", a="FFF PP")).reason is None


def test_first_run_settles_what_no_later_run_can_change():
    first = runs(a="P", b="F")[0]
    assert condemned_by_first(recipe(f2p=["a"]), first)
    assert not condemned_by_first(recipe(f2p=["a", "b"]), first)
    assert not condemned_by_first(recipe(), first)
    assert condemned_by_first(recipe(), DirectRun(state="unpatched", end=End.TIME))


def test_whole_names_keep_what_a_dialect_cuts():
    log = "PASSED t.py::a[x y]\nPASSED t.py::a[x z]\nFAILED t.py::b - assert 1\nERROR t.py\nPASSED t.py::c - d\n"
    whole = whole_results("python", log, {"t.py::a[x": "PASSED"})
    assert whole == {
        "t.py::a[x y]": "PASSED",
        "t.py::a[x z]": "PASSED",
        "t.py::b": "FAILED",
        "t.py": "ERROR",
        "t.py::c - d": "PASSED",
    }
    run = DirectRun(state="patched", end=End.RAN, results={"t.py::a[x": "PASSED"}, whole=whole)
    assert len(judgement_of_whole(recipe(), [run]).excluded) == len(whole)
