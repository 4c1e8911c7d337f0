"""What a run's record says, and what keeps it from counting."""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.documents import outcome_document, outcome_of_document
from assay.domain.evidence import (
    commands_of,
    fault_of,
    fault_without_log,
    fault_without_record,
    hints_of,
    outcome_of,
    platform_of,
)
from assay.domain.evidence import (
    test_text as text_of_tests,
)
from assay.domain.outcomes import Artifact, FaultKind, OutcomeKind
from assay.domain.pods import PodState, Stage
from assay.witness.record import IsolationRecord, Leak, Mark, Record, Sizes
from builders import make_run, make_task

LOG = b"PASSED tests/test_m.py::test_f\nFAILED tests/test_m.py::test_g\n"
ISOLATION = IsolationRecord(
    targets=4, rounds=2, gate_seconds=0.2, opened_at_first=False, samples=3, unknown=0, leak_count=0, leaks=()
)
RUN = make_run("unpatched-1")


def make_record(
    out: bytes = LOG,
    err: bytes = b"",
    *,
    setup: bytes = b"",
    codes: tuple[int, ...] = (0,),
    facts: Mapping[str, str] | None = None,
    ended: bool = True,
    **fields: object,
) -> Record:
    """The record of a run: set-up output, then the first command's two streams, then commands without output."""
    begin, end = len(setup), len(setup) + len(out) + len(err)
    marks = [Mark(name="setup", merged=0, out=0, err=0, seconds=0.0)]
    for number in range(1, len(codes) + 1):
        at = (begin, end) if number == 1 else (end, end)
        for word, offset in zip(("begin", "end"), at, strict=True):
            seconds = 10.0 * number + (word == "end") * 2.5
            marks.append(Mark(name=f"command-{number:03}-{word}", merged=offset, out=0, err=0, seconds=seconds))
    said = {f"exit-{number:03}": str(code) for number, code in enumerate(codes, 1)}
    record = Record(
        ended=ended,
        exit_code=next((code for code in codes if code), 0) if ended else None,
        marks=tuple(marks),
        facts=said | dict(facts or {}),
        strange=0,
        isolation=ISOLATION,
        sha256="0" * 64,
        sizes=Sizes(out=begin + len(out), err=len(err), merged=end),
        truncated=False,
        merged=setup + out + err,
        head=end,
        switches=array("Q", [begin + len(out)] if err else []),
        started_at=0.0,
        duration_seconds=20.0,
    )
    return replace(record, **fields)  # type: ignore[arg-type]


def make_state(exit_code: int = 0, **fields: object) -> PodState:
    return replace(PodState(stage=Stage.ENDED, exit_code=exit_code, image_id="r@sha256:aa"), **fields)  # type: ignore[arg-type]


def outcome(record: Record, state: PodState | None = None, *, merged: bool = False, **task: object):  # type: ignore[no-untyped-def]
    return outcome_of(RUN, 3, make_task(**task), record, state or make_state(record.exit_code or 0), merged=merged)


def test_a_record_that_agrees_with_the_kubelet_counts() -> None:
    assert fault_of(make_record(codes=(1,)), make_state(1)) is None


def test_a_record_without_its_trailer_is_incomplete() -> None:
    fault = fault_of(make_record(ended=False), make_state(143))
    assert fault is not None
    assert fault.kind is FaultKind.EVIDENCE_INCOMPLETE


def test_an_exit_code_that_the_kubelet_did_not_see_is_incomplete_evidence() -> None:
    fault = fault_of(make_record(codes=(0,)), make_state(1))
    assert fault is not None
    assert fault.kind is FaultKind.EVIDENCE_INCOMPLETE
    assert "exit code 0, the kubelet 1" in fault.message


def test_a_leak_during_the_run_voids_it_whatever_it_said() -> None:
    open_ = replace(ISOLATION, leak_count=2, leaks=(Leak(target="10.0.0.1:443", seconds=1.0),))
    fault = fault_of(make_record(isolation=open_), make_state())
    assert fault is not None
    assert fault.kind is FaultKind.ISOLATION_LEAK


def test_a_set_up_that_was_too_slow_is_the_nodes_fault() -> None:
    record = make_record(codes=(), facts={"setupFailed": "SetupTimeout"}, exit_code=95)
    fault = fault_of(record, make_state(95))
    assert fault is not None
    assert fault.kind is FaultKind.SETUP_TIMEOUT


@pytest.mark.parametrize("word", ["ScratchUnavailable", "StorageFull", "PatchMissing"])
def test_a_set_up_that_fails_by_the_nodes_disk_or_mounts_costs_an_attempt(word: str) -> None:
    fault = fault_of(make_record(codes=(), facts={"setupFailed": word}, exit_code=95), make_state(95))
    assert fault is not None
    assert fault.kind is FaultKind.START_FAILED
    assert word in fault.message


@pytest.mark.parametrize("word", ["GitMissing", "NotARepository", "NoCommit"])
def test_a_set_up_that_fails_by_the_image_is_a_fact(word: str) -> None:
    record = make_record(codes=(), facts={"setupFailed": word}, exit_code=95)
    assert fault_of(record, make_state(95)) is None
    assert outcome(record, make_state(95)).kind is OutcomeKind.SETUP_FAILED


@pytest.mark.parametrize("word", ["WorkdirMissing", "NotARepository", "NoCommit", "WorktreeReadOnly"])
@pytest.mark.parametrize(
    ("workdir", "place"), [("/ledger", "/ledger (spec.task.workdir)"), ("", "the image starts in")]
)
def test_a_set_up_that_fails_in_the_work_directory_names_the_place(word: str, workdir: str, place: str) -> None:
    record = make_record(codes=(), facts={"setupFailed": word}, exit_code=95)
    found = outcome_of(RUN, 1, replace(make_task(), workdir=workdir), record, make_state(95), merged=False)
    assert found.message.startswith(f"{word}: ")
    assert place in found.message


def test_the_kernel_killing_the_whole_container_for_memory_is_a_fact_without_a_trailer() -> None:
    record, state = make_record(ended=False, codes=()), make_state(137, oom_killed=True)
    assert fault_of(record, state) is None
    assert outcome(record, state).kind is OutcomeKind.OUT_OF_MEMORY


@pytest.mark.parametrize("oom", [False, True])
def test_a_pod_cut_off_from_outside_is_told_by_its_cause(oom: bool) -> None:
    """A node that evicts for memory marks containers as OOMKilled too: no fact about the task."""
    cut = (FaultKind.DISRUPTED, "TerminationByKubelet: the node was low on resource: memory")
    fault = fault_of(make_record(ended=False), make_state(137, oom_killed=oom, cut=cut))
    assert fault is not None
    assert (fault.kind, fault.message) == cut


def test_a_run_that_ended_before_the_pod_was_taken_away_counts() -> None:
    assert fault_of(make_record(), make_state(cut=(FaultKind.DISRUPTED, "evicting"))) is None


def test_a_missing_record_has_the_cause_that_the_pod_tells() -> None:
    assert fault_without_record(make_state(), "no end").kind is FaultKind.EVIDENCE_INCOMPLETE
    assert fault_without_record(make_state(), "404", FaultKind.POD_VANISHED).kind is FaultKind.POD_VANISHED
    cut = (FaultKind.NODE_LOST, "NodeLost: gone")
    assert fault_without_record(make_state(cut=cut), "404", FaultKind.POD_VANISHED).kind is FaultKind.NODE_LOST


def test_a_log_that_the_node_does_not_give_is_waited_for_ten_minutes_unless_the_pod_was_cut_off() -> None:
    assert fault_without_log(make_state(ended_at=1000.0), "500", 1599.0) is None
    late = fault_without_log(make_state(ended_at=1000.0), "500", 1601.0)
    assert late is not None
    assert late.kind is FaultKind.NODE_LOST
    cut = (FaultKind.DISRUPTED, "DeletionByTaintManager: gone")
    early = fault_without_log(make_state(ended_at=1000.0, cut=cut), "500", 1001.0)
    assert early is not None
    assert early.kind is FaultKind.DISRUPTED


def test_an_outcome_tells_results_codes_times_and_what_was_seen_of_the_network() -> None:
    found = outcome(make_record(codes=(1,)))
    assert found.kind is OutcomeKind.FINISHED
    assert dict(found.results) == {"tests/test_m.py::test_f": "PASSED", "tests/test_m.py::test_g": "FAILED"}
    assert (found.run, found.attempt, found.exit_code, found.commands[0].seconds) == (RUN, 3, 1, 2.5)
    assert (found.isolation.targets, found.isolation.samples, found.isolation.leaks) == (4, 3, 0)
    assert found.image_id == "r@sha256:aa"


def test_what_was_said_before_the_first_command_is_not_parsed() -> None:
    found = outcome(make_record(b"PASSED t.py::a\n", setup=b"PASSED t.py::fake\n"))
    assert dict(found.results) == {"t.py::a": "PASSED"}


def test_standard_error_follows_standard_output_unless_the_profile_wants_it_merged() -> None:
    record = make_record(b"out\n", b"err\n")
    early = replace(record, merged=b"err\nout\n", switches=array("Q", [0, 4]))
    assert text_of_tests(early, commands=1, merged=False) == b"out\nerr\n"
    assert text_of_tests(early, commands=1, merged=True) == b"err\nout\n"
    assert text_of_tests(make_record(codes=()), commands=1, merged=True) == b""


def test_text_of_a_command_that_never_ended_goes_to_the_end() -> None:
    record = make_record(codes=(0,))
    cut = replace(record, marks=record.marks[:-1])
    assert text_of_tests(cut, commands=1, merged=False) == LOG
    assert commands_of(cut, 1) == ()


def test_the_exit_code_is_that_of_the_first_command_that_failed() -> None:
    found = outcome(make_record(codes=(0, 5, 3)), commands=("a", "b", "c"))
    assert (len(found.commands), found.exit_code) == (3, 5)


def test_a_command_at_its_deadline_is_a_timeout_of_the_test() -> None:
    found = outcome(make_record(codes=(124,), facts={"timeout-001": "1"}))
    assert found.kind is OutcomeKind.TEST_TIMEOUT
    assert found.results


def test_a_test_that_says_124_by_itself_is_no_timeout() -> None:
    assert outcome(make_record(codes=(124,))).kind is OutcomeKind.FINISHED


def test_a_child_killed_for_memory_is_counted_though_the_command_ended_well() -> None:
    found = outcome(make_record(codes=(0,), facts={"oomKills": "2"}))
    assert (found.kind, found.oom_kills) == (OutcomeKind.FINISHED, 2)


def test_a_command_killed_for_memory_is_out_of_memory() -> None:
    assert outcome(make_record(codes=(137,), facts={"oomKills": "1"})).kind is OutcomeKind.OUT_OF_MEMORY
    assert outcome(make_record(codes=(137,))).kind is OutcomeKind.FINISHED


@pytest.mark.parametrize(
    ("facts", "kind", "message"),
    [
        ({"dirty": "2", "dirtyPath-1": "a.py"}, OutcomeKind.DIRTY_IMAGE, "2 tracked files"),
        ({"patch-test": "failed"}, OutcomeKind.TEST_PATCH_DOES_NOT_APPLY, "error: patch failed: m.py:1"),
        ({"patch-reference": "failed"}, OutcomeKind.PATCH_DOES_NOT_APPLY, "error: patch failed: m.py:1"),
        ({"setupFailed": "NoGit"}, OutcomeKind.SETUP_FAILED, "NoGit"),
    ],
)
def test_a_set_up_that_fails_is_a_fact_with_its_own_words(
    facts: dict[str, str], kind: OutcomeKind, message: str
) -> None:
    record = make_record(b"", setup=b"error: patch failed: m.py:1\nmore\n", codes=(), facts=facts, exit_code=97)
    found = outcome(record, make_state(97))
    assert found.kind is kind
    assert message in found.message
    assert not found.results


def test_paths_that_the_image_had_changed_are_kept() -> None:
    record = make_record(b"", codes=(), facts={"dirty": "2", "dirtyPath-2": "b", "dirtyPath-1": "a"}, exit_code=96)
    assert outcome(record, make_state(96)).dirty_paths == ("a", "b")


def test_a_structured_report_that_is_cut_off_is_no_result() -> None:
    found = outcome(make_record(b"<testsuites><testcase name='a'</testsuites>"), parser="junit")
    assert (found.kind, dict(found.results)) == (OutcomeKind.PARSE_FAILED, {})
    assert found.message


@pytest.mark.parametrize(
    ("code", "facts", "kind"),
    [
        (124, {"timeout-001": "1"}, OutcomeKind.TEST_TIMEOUT),
        (137, {"oomKills": "1"}, OutcomeKind.OUT_OF_MEMORY),
    ],
)
def test_a_report_that_is_cut_off_with_its_command_is_told_by_what_cut_it_off(
    code: int, facts: dict[str, str], kind: OutcomeKind
) -> None:
    found = outcome(make_record(b"<testsuites><testcase", codes=(code,), facts=facts), parser="junit")
    assert (found.kind, dict(found.results)) == (kind, {})
    assert "ended" in found.message


def test_a_set_up_that_was_killed_costs_an_attempt() -> None:
    killed = make_record(b"", codes=(), exit_code=137)
    fault = fault_of(killed, make_state(137))
    assert fault
    assert fault.kind is FaultKind.START_FAILED
    assert fault_of(killed, make_state(137, oom_killed=True)) is None
    assert outcome(killed, make_state(137, oom_killed=True)).kind is OutcomeKind.OUT_OF_MEMORY


def test_bytes_that_are_not_utf8_stay_apart_in_names() -> None:
    found = outcome(make_record(b"PASSED t.py::a[\xff]\nFAILED t.py::a[\xfe]\n"))
    assert len(found.results) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"E  socket.gaierror: [Errno -3] Temporary failure in name resolution",
        b"dial tcp: lookup proxy.test: no such host",
        b"curl: (6) Could not resolve host: example.test",
        b"go: module x: module lookup disabled by GOPROXY=off",
        b"Error: getaddrinfo EAI_AGAIN registry.test",
        b"OSError: [Errno 101] Network is unreachable",
    ],
)
def test_lines_that_speak_of_a_missing_network_are_kept_as_hints(line: bytes) -> None:
    assert hints_of(b"before\n" + line + b"\nafter\n") == (line.decode().strip(),)


def test_hints_come_in_the_order_of_the_log_and_a_line_is_told_once() -> None:
    log = (
        b"a: dial tcp: lookup x: no such host\nb: getaddrinfo failed\nfine\nc: Name or service not known\nd: EAI_AGAIN"
    )
    assert [hint[:2] for hint in hints_of(log)] == ["a:", "b:", "c:", "d:"]


def test_hints_are_looked_for_in_a_large_log_without_delay() -> None:
    log = b"".join(b"%07d PASSED tests/test_numbers.py::test_number[%d]\n" % (n, n) for n in range(160_000))
    started = time.process_time()
    assert hints_of(log) == ()
    assert time.process_time() - started < 1, "a megabyte takes some milliseconds; three seconds were seen once"


def test_only_the_first_hints_are_kept_and_each_is_short() -> None:
    hints = hints_of((b"x" * 10_000 + b" no such host " + b"y" * 10_000 + b"\n") * 50)
    assert len(hints) == 5
    assert all(len(hint) < 300 for hint in hints)


INSPECTED = b"""head\t0123
outside\t1
commit\t4567 2026-01-01 the fix
gomod\tgo.mod module example.org/own
cached\t/root/go/pkg/mod/example.org/own@v1.2.3
done\t1
"""


def inspection(record: Record, **task: object):  # type: ignore[no-untyped-def]
    made = make_task(commands=("first", "second"), **task)
    return outcome_of(make_run("inspect-1"), 1, made, record, make_state(record.exit_code or 0), merged=False)


def test_a_look_into_the_image_is_one_command_whose_lines_are_facts_and_no_results() -> None:
    found = inspection(make_record(INSPECTED + LOG, b"warning: nothing\n"))
    assert (found.kind, dict(found.results), len(found.commands)) == (OutcomeKind.FINISHED, {}, 1)
    assert found.inspection is not None
    assert (found.inspection.complete, found.inspection.outside) == (True, 1)
    assert found.inspection.history == ("commit 4567 2026-01-01 the fix",)
    assert [held.version for held in found.inspection.own_copies()] == ["v1.2.3"]


def test_a_look_that_the_deadline_ended_is_not_complete() -> None:
    begun = INSPECTED.replace(b"done\t1\n", b"")
    found = inspection(make_record(begun, codes=(124,), facts={"timeout-001": "1"}))
    assert found.kind is OutcomeKind.TEST_TIMEOUT
    assert found.inspection is not None
    assert not found.inspection.complete


def test_a_look_at_an_image_that_is_not_its_commit_has_no_answer() -> None:
    record = make_record(b"", codes=(), facts={"dirty": "1", "dirtyPath-1": "a"}, exit_code=96)
    found = inspection(record)
    assert (found.kind, found.inspection.complete) == (OutcomeKind.DIRTY_IMAGE, False)


def test_lines_that_look_like_a_look_into_the_image_are_test_output_in_any_other_run() -> None:
    assert outcome(make_record(INSPECTED)).inspection is None


@pytest.mark.parametrize(
    ("machine", "platform"),
    [("x86_64", "linux/amd64"), ("aarch64", "linux/arm64"), ("riscv64", "linux/riscv64"), ("", "")],
)
def test_the_platform_is_named_as_images_name_it(machine: str, platform: str) -> None:
    assert platform_of(make_record(facts={"machine": machine} if machine else {})) == platform


@given(
    facts=st.dictionaries(
        st.sampled_from(["dirty", "oomKills", "exit-001", "timeout-001", "patch-test", "setupFailed", "machine"]),
        st.one_of(
            st.text("-0179a \0٣²\ud800", max_size=30),
            st.sampled_from(["1", "-1", "9" * 40, "٣", "²", "-", "--1", "0x10"]),
        ),
    ),
    code=st.integers(0, 255),
    oom=st.booleans(),
    out=st.binary(max_size=200),
)
def test_no_word_of_the_task_breaks_the_operator(facts: dict[str, str], code: int, oom: bool, out: bytes) -> None:
    record, state = make_record(out, facts=facts, exit_code=code), make_state(code, oom_killed=oom)
    assert fault_of(record, state) is None or "setupFailed" in facts
    assert outcome(record, state).kind in OutcomeKind


@pytest.mark.parametrize(("told", "place"), [("absent", "absent"), ("head", "head"), ("elsewhere", ""), ("", "")])
def test_where_the_base_commit_lies_is_kept_with_the_outcome(told: str, place: str) -> None:
    found = outcome(make_record(codes=(0,), facts={"base": told}))
    assert found.base.value == place
    artifact = Artifact(uri="file:///x", sha256="a" * 64, bytes=1)
    assert outcome_of_document(outcome_document(found), artifact).base is found.base
