"""FutureHistory and ModuleCacheHoldsTask: what the inspection run says of an image that is else in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.api.v1alpha1 import Check
from assay.domain.documents import outcome_document, outcome_of_document
from assay.domain.inspection import HeldModule, Inspection
from assay.domain.outcomes import Artifact, OutcomeKind, RunOutcome
from assay.domain.profiles import PROFILES
from assay.domain.rules import verdict_of
from assay.domain.verdict import Verdict
from builders import make_outcome, make_runs, make_task

BOTH = frozenset({Check.FUTURE_HISTORY, Check.MODULE_CACHE})
HISTORY = {"outside": 2, "history": ("commit 0123 2026-01-01 the fix", "tag 4567 v9")}
COPIES = {"lines": 4, "copies": {"/usr/lib/a.py": 4, "/usr/lib/b.py": 1}}
OWN = {
    "own_modules": ("example.org/own",),
    "modules": (
        HeldModule(module="example.org/own/v2", version="v2.0.0", place="/root/go/pkg/mod/example.org/own/v2@v2.0.0"),
        HeldModule(module="example.org/other", version="v1.0.0", place="/root/go/pkg/mod/example.org/other@v1.0.0"),
    ),
}


def inspected(complete: bool = True, **found: Any) -> RunOutcome:
    return make_outcome("inspect-1", inspection=Inspection(complete=complete, **found))


def verdict(*outcomes: RunOutcome, checks: frozenset[Check] = BOTH, scrub: bool = False) -> Verdict:
    task = make_task(f2p=["a"], p2p=["b"], checks=checks, scrub=scrub)
    return verdict_of(task, [*make_runs({"a": "FF PP", "b": "PP PP"}), *outcomes], PROFILES["strict"])


def test_an_image_that_holds_nothing_more_is_valid() -> None:
    assert verdict(inspected()).kind == "Valid"


@pytest.mark.parametrize(
    ("found", "reason", "said"),
    [
        (HISTORY, "FutureHistory", "2 objects outside of the base's ancestry, first: commit 0123 2026-01-01 the fix"),
        (COPIES, "FutureHistory", "1 file elsewhere holds lines of the reference patch: /usr/lib/a.py"),
        (OWN, "ModuleCacheHoldsTask", "example.org/own/v2@v2.0.0 in /root/go/pkg/mod/example.org/own/v2@v2.0.0"),
    ],
)
def test_an_image_that_gives_the_solution_away_is_dropped(found: dict[str, Any], reason: str, said: str) -> None:
    judged = verdict(inspected(**found))
    assert (judged.kind, judged.reason) == ("Invalid", reason)
    assert said in judged.message


@pytest.mark.parametrize("own_modules", [(), ("vanity.example.org/own",)])
def test_a_copy_under_the_repositorys_own_path_is_found_whatever_go_mod_says(own_modules: tuple[str, ...]) -> None:
    held = HeldModule(module="github.com/Acorn/Lantern/v3", version="v3.0.0", place="/root/go/pkg/mod/x")
    judged = verdict(inspected(own_modules=own_modules, modules=(held,)))
    assert (judged.kind, judged.reason) == ("Invalid", "ModuleCacheHoldsTask")


@pytest.mark.parametrize("found", [HISTORY, COPIES, OWN])
def test_what_was_not_asked_for_condemns_nothing(found: dict[str, Any]) -> None:
    assert verdict(inspected(**found), checks=frozenset()).kind == "Valid"


def test_history_that_will_be_removed_is_a_note_but_a_copy_elsewhere_stays_a_reason() -> None:
    noted = verdict(inspected(**HISTORY), scrub=True)
    assert noted.kind == "Valid"
    assert "history is removed before an agent works" in dict(noted.details)["FutureHistory"]
    assert verdict(inspected(**HISTORY, **COPIES), scrub=True).kind == "Invalid"


def test_a_behaviour_that_condemns_the_task_leads() -> None:
    task = make_task(f2p=["a"], checks=BOTH)
    judged = verdict_of(task, [*make_runs({"a": "PP PP"}), inspected(**HISTORY)], PROFILES["strict"])
    assert judged.reason == "TargetTestsPassUnpatched"
    assert "FutureHistory" in dict(judged.details)


@pytest.mark.parametrize(
    "outcome",
    [
        inspected(complete=False),
        inspected(missing=("grep",)),
        make_outcome("inspect-1", kind=OutcomeKind.TEST_TIMEOUT, inspection=Inspection()),
    ],
)
def test_an_inspection_without_an_answer_makes_neither_valid_nor_invalid(outcome: RunOutcome) -> None:
    judged = verdict(outcome)
    assert judged.kind == "Inconclusive"
    assert "could not be looked into" in judged.message


@pytest.mark.parametrize("cut", ["copy", "cached", "gopath", "archive", "built", "testzip"])
def test_a_list_that_was_not_told_whole_shows_what_it_shows_and_proves_nothing_else(cut: str) -> None:
    assert verdict(inspected(cut=(cut,))).kind == "Inconclusive"
    assert cut in verdict(inspected(cut=(cut,))).message
    assert verdict(inspected(cut=(cut,), **COPIES, **OWN)).kind == "Invalid"


def test_a_list_that_no_asked_check_reads_may_be_cut() -> None:
    assert verdict(inspected(cut=("copy",)), checks=frozenset({Check.MODULE_CACHE})).kind == "Valid"
    assert verdict(inspected(cut=("gopath",)), checks=frozenset({Check.FUTURE_HISTORY})).kind == "Valid"


STATES = st.tuples(st.text("PFS.", min_size=2, max_size=2), st.text("PFS.", min_size=2, max_size=2)).map(" ".join)


@given(
    tests=st.dictionaries(st.sampled_from("abcd"), STATES, min_size=1),
    declared=st.frozensets(st.sampled_from("abcd")),
    found=st.sampled_from([{}, HISTORY, COPIES, OWN, {"complete": False}, {"missing": ("git",)}, {"cut": ("copy",)}]),
    checks=st.frozensets(st.sampled_from(Check)),
    scrub=st.booleans(),
)
def test_an_inspection_changes_no_list_of_tests(
    tests: dict[str, str], declared: frozenset[str], found: dict[str, Any], checks: frozenset[Check], scrub: bool
) -> None:
    task, runs = make_task(f2p=sorted(declared), checks=checks, scrub=scrub), make_runs(tests)
    alone = verdict_of(task, runs, PROFILES["strict"])
    together = verdict_of(task, [inspected(**found), *runs], PROFILES["strict"])
    assert together.tests == alone.tests
    if alone.kind == "Invalid":
        assert (together.kind, together.reason, together.message) == ("Invalid", alone.reason, alone.message)


def test_an_inspection_survives_its_document() -> None:
    outcome = inspected(**HISTORY, **COPIES, **OWN, cut=("copy",))
    artifact = Artifact(uri="x", sha256="0" * 64, bytes=1)
    assert outcome_of_document(outcome_document(outcome), artifact).inspection == outcome.inspection
