"""Reports: SWE-bench's keys and meanings, and Assay's own denominator."""

from __future__ import annotations

from assay.domain.evaluations import Result, flips, instance_report, own_report, report_name, run_report

TESTS = {
    "failToPass": [{"name": "f", "credit": "success"}, {"name": "g", "credit": "failure"}],
    "passToPass": [{"name": "p", "credit": "success"}, {"name": "s", "credit": "left out"}],
}


def make_result(name: str, reason: str, reward: float | None = None, **fields: object) -> Result:
    defaults = {
        "model": "m",
        "episode": f"ev-{name}",
        "empty": False,
        "resolved": None if reward is None else reward == 1,
    }
    return Result(id=name, reason=reason, reward=reward, **{**defaults, **fields})  # type: ignore[arg-type]


RESULTS = (
    make_result("right", "Resolved", 1.0, tests=TESTS),
    make_result("wrong", "TestsFail", 0.0, tests=TESTS),
    make_result("crooked", "PatchDoesNotApply", 0.0),
    make_result("slow", "TestTimeout"),
    make_result("lost", "Infrastructure"),
    make_result("void", "NothingSubmitted", 0.0, empty=True),
)
DATASET = ("right", "wrong", "crooked", "slow", "lost", "void", "unasked")


def test_the_run_report_has_swe_benchs_keys_and_meanings():
    said = run_report(RESULTS, DATASET)
    assert said["schema_version"] == 2
    assert said["total_instances"] == 7
    assert said["submitted_ids"] == sorted(set(DATASET) - {"unasked"})
    assert (said["completed_ids"], said["resolved_ids"], said["unresolved_ids"]) == (
        ["right", "wrong"],
        ["right"],
        ["wrong"],
    )
    assert said["empty_patch_ids"] == ["void"]
    assert said["error_ids"] == ["crooked", "lost", "slow"]
    assert (said["infra_failure_ids"], said["ambiguous_failure_ids"]) == (["lost"], ["slow"])
    assert said["incomplete_ids"] == ["unasked"]
    assert all(
        said[f"{key.removesuffix('_ids')}_instances"] == len(said[key])
        for key in said
        if key.endswith("_ids") and key != "incomplete_ids"
    )


def test_a_tasks_report_splits_its_lists_as_the_grade_did():
    said = instance_report(RESULTS[1], "diff")["wrong"]
    assert said["tests_status"]["FAIL_TO_PASS"] == {"success": ["f"], "failure": ["g"]}
    assert said["tests_status"]["PASS_TO_PASS"] == {"success": ["p"], "failure": []}
    assert (said["patch_exists"], said["patch_successfully_applied"], said["resolved"]) == (True, True, False)
    assert instance_report(RESULTS[4], "diff")["lost"]["infra_failure_reason"] == "Infrastructure"
    assert instance_report(RESULTS[5], None)["void"]["patch_is_None"] is True


def test_what_the_infrastructure_lost_is_outside_of_our_denominator():
    own = own_report(RESULTS, DATASET, profile="strict", run="r")
    assert (own["denominator"], own["resolved"], own["score"], own["infrastructure"]) == (5, 1, 0.2, ["lost"])
    assert own["reasons"]["TestTimeout"] == 1


def test_two_runs_are_compared_by_what_flipped():
    before = own_report(RESULTS[:2], DATASET, profile="strict", run="r")
    after = own_report(
        [make_result("right", "TestsFail", 0.0), make_result("slow", "TestTimeout")], DATASET, profile="strict", run="s"
    )
    assert list(flips(before, after)) == [
        ("right", "resolved", "unresolved (TestsFail)"),
        ("slow", "absent", "not graded (TestTimeout)"),
        ("wrong", "unresolved (TestsFail)", "absent"),
    ]


def test_models_of_one_run_do_not_hide_each_other():
    both = [make_result("a", "Resolved", 1.0), make_result("a", "TestsFail", 0.0, model="n")]
    assert set(own_report(both, ["a"], profile="strict", run="r")["results"]) == {"m/a", "n/a"}
    assert report_name("org/model", "r") == "org__model.r.json"
