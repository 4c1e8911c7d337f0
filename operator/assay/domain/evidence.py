"""A run's record and its pod's end -> the run's outcome, or the fault that makes the record worthless.

Nothing here trusts the task: the record was made and hashed by the witness, the exit code is compared with the one
that the kubelet saw, and a run during which the network was open counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.domain.inspection import distinctive_lines, inspection_of
from assay.domain.logs import ParseFailed, contradictions_in, parse_log
from assay.domain.logs.statuses import FAILED
from assay.domain.outcomes import BasePlace, CommandResult, FaultKind, Isolation, OutcomeKind, RunOutcome
from assay.domain.plan import Run, RunKind
from assay.domain.pods import PodState
from assay.domain.task import Task
from assay.witness.record import Record

NETWORK_WORDS = (
    b"Temporary failure in name resolution",
    b"temporary failure in name resolution",
    b"Name or service not known",
    b"Network is unreachable",
    b"network is unreachable",
    b"No such host",
    b"no such host",
    b"Could not resolve",
    b"getaddrinfo",
    b"EAI_AGAIN",
    b"ENOTFOUND",
    b"dial tcp",
    b"Max retries exceeded",
    b"module lookup disabled by GOPROXY=off",
    b"NameResolutionError",
    b"cannot query module due to",
)
HINT_MARGIN = 100
"""Bytes of its line that are kept on either side of a word."""
MAX_HINTS = 5
NUMBER = re.compile(r"-?[0-9]{1,10}")
KILLED = 137
NODE_FAULTS = frozenset({"ScratchUnavailable", "StorageFull", "PatchMissing"})
"""Words of run.sh for a set-up that failed by the node's disk or mounts; its others speak of the image."""
PATCHES = (
    ("patch-submission", OutcomeKind.PATCH_DOES_NOT_APPLY),
    ("patch-test", OutcomeKind.TEST_PATCH_DOES_NOT_APPLY),
    ("patch-reference", OutcomeKind.PATCH_DOES_NOT_APPLY),
)
"""What run.sh says of each patch, and what it means when git refuses it."""
OUT_OF_MEMORY = (OutcomeKind.OUT_OF_MEMORY, "the kernel ended processes of the run at its memory limit")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

LOG_SECONDS = 600.0
"""How long an ended run's log is asked for when its node does not give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFault:
    """An attempt lost to the infrastructure."""

    kind: FaultKind
    message: str


def fault_of(record: Record, pod: PodState) -> AttemptFault | None:
    """Return why a record cannot count, None when it can."""
    leaks = record.isolation.leak_count
    if leaks:
        return AttemptFault(kind=FaultKind.ISOLATION_LEAK, message=f"{leaks} probes got out during the run")
    if not record.ended and (pod.cut or not pod.oom_killed):
        return fault_without_record(pod, "the run ended without its trailer")
    if record.ended and record.exit_code != pod.exit_code:
        message = f"the trailer says exit code {record.exit_code}, the kubelet {pod.exit_code}"
        return AttemptFault(kind=FaultKind.EVIDENCE_INCOMPLETE, message=message)
    if record.ended and not (pod.oom_killed or _says_why(record)):
        return fault_without_record(pod, f"the set-up was killed, exit code {record.exit_code}", FaultKind.START_FAILED)
    failed = record.facts.get("setupFailed", "")
    if failed in NODE_FAULTS:
        return AttemptFault(kind=FaultKind.START_FAILED, message=f"the run could not be prepared: {failed}")
    if failed == "SetupTimeout":
        return AttemptFault(
            kind=FaultKind.SETUP_TIMEOUT, message="the patches were not applied before the setup deadline"
        )
    return None


def _says_why(record: Record) -> bool:
    """Whether an ended run's record tells of its tests, or of what kept them from beginning."""
    facts = record.facts
    return (
        any(mark.name == "command-001-begin" for mark in record.marks)
        or "setupFailed" in facts
        or bool(_number(facts.get("dirty", "0")))
        or any(facts.get(name) == "failed" for name, _ in PATCHES)
    )


def fault_without_record(pod: PodState, message: str, kind: FaultKind = FaultKind.EVIDENCE_INCOMPLETE) -> AttemptFault:
    """Return the fault of an ended attempt whose record is missing or broken: what cut the pod off, if anything did."""
    if pod.cut:
        return AttemptFault(kind=pod.cut[0], message=pod.cut[1])
    return AttemptFault(kind=kind, message=message)


def fault_without_log(pod: PodState, message: str, now: float) -> AttemptFault | None:
    """Return the fault of an ended attempt whose log its node does not give; None while it may still do so."""
    if pod.cut or now > pod.ended_at + LOG_SECONDS:
        return fault_without_record(pod, f"the node does not give the log: {message}", FaultKind.NODE_LOST)
    return None


def results_of(parser: str, text: bytes) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the tests of a text, and those that it shows both to pass and to fail: they have failed.  ``ParseFailed``."""
    results = parse_log(parser, text.decode("utf-8", "surrogateescape"))
    contradicted = tuple(sorted(contradictions_in(results)))
    return {**results, **dict.fromkeys(contradicted, FAILED)}, contradicted


def outcome_of(  # noqa: PLR0913 - each argument is one source of the outcome
    run: Run, attempt: int, task: Task, record: Record, pod: PodState, *, merged: bool
) -> RunOutcome:
    """Return what a run with complete evidence says; ``merged`` chooses the text that the parser reads.

    The parser reads what the commands wrote, from the first one's beginning to the last one's end: standard output
    followed by standard error, or both in the order of arrival.
    """
    facts = record.facts
    count = commands_in(run, task)
    commands = commands_of(record, count)
    text = test_text(record, commands=count, merged=merged)
    kind, message = _kind_of(record, pod, commands, task)
    results: Mapping[str, str] = {}
    contradicted: tuple[str, ...] = ()
    inspection = None
    if run.kind is RunKind.INSPECT:
        inspection = inspection_of(text.decode("utf-8", "surrogateescape"), distinctive_lines(task.patch))
    elif kind in (OutcomeKind.FINISHED, OutcomeKind.TEST_TIMEOUT, OutcomeKind.OUT_OF_MEMORY):
        try:
            results, contradicted = results_of(task.parser, text)
        except ParseFailed as failure:
            kind, message = unread(kind, message, failure)
    return RunOutcome(
        run=run,
        attempt=attempt,
        kind=kind,
        message=message,
        commands=commands,
        results=results,
        contradicted=contradicted,
        inspection=inspection,
        oom_kills=_number(facts.get("oomKills", "0")) or int(pod.oom_killed),
        truncated=record.truncated,
        network_hints=hints_of(text),
        dirty_paths=tuple(facts[key] for key in sorted(facts) if key.startswith("dirtyPath-")),
        base=_base_of(facts.get("base", "")),
        isolation=Isolation(
            targets=record.isolation.targets,
            samples=record.isolation.samples,
            leaks=record.isolation.leak_count,
            gate_seconds=record.isolation.gate_seconds,
        ),
        image_id=pod.image_id,
    )


def _base_of(said: str) -> BasePlace:
    return BasePlace(said) if said in set(BasePlace) else BasePlace.UNKNOWN


def commands_in(run: Run, task: Task) -> int:
    """Return how many commands a run performs: the task's own, or the one that looks into the image."""
    return 1 if run.kind is RunKind.INSPECT else len(task.commands)


def platform_of(record: Record) -> str:
    """Return the platform that the run saw, as images name it; empty when the run did not say."""
    machine = record.facts.get("machine", "")
    return f"linux/{ARCHITECTURES.get(machine, machine)}" if machine else ""


def test_text(record: Record, *, commands: int, merged: bool) -> bytes:
    """Return the bytes that the parser reads: what the test commands wrote."""
    names = {mark.name for mark in record.marks}
    begin, end = "command-001-begin", f"command-{commands:03}-end"
    if begin not in names:
        return b""
    last = end if end in names else None
    if merged:
        return record.between(begin, last, "merged")
    return record.between(begin, last, "out") + record.between(begin, last, "err")


def commands_of(record: Record, count: int) -> tuple[CommandResult, ...]:
    """Return the results of the commands that ended, in order."""
    seconds = {mark.name: mark.seconds for mark in record.marks}
    found = []
    for number in range(1, count + 1):
        begin, end = seconds.get(f"command-{number:03}-begin"), seconds.get(f"command-{number:03}-end")
        code = record.facts.get(f"exit-{number:03}")
        if begin is None or end is None or code is None:
            break
        timed_out = record.facts.get(f"timeout-{number:03}") == "1"
        found.append(CommandResult(exit_code=_number(code), seconds=end - begin, timed_out=timed_out))
    return tuple(found)


def hints_of(text: bytes) -> tuple[str, ...]:
    """Return the first lines that look like a failed connection or look-up, cut to the words' surroundings.

    Plain searches for each word: one expression for all takes minutes over a log of 64 MiB.
    """
    found: list[str] = []
    past = 0
    places = {word: text.find(word) for word in NETWORK_WORDS}
    while len(found) < MAX_HINTS:
        places = {word: at if at >= past else text.find(word, past) for word, at in places.items() if at >= 0}
        places = {word: at for word, at in places.items() if at >= 0}
        if not places:
            break
        word = min(places, key=places.__getitem__)
        at = places[word]
        begin = max(text.rfind(b"\n", past, at) + 1, at - HINT_MARGIN, past)
        margin = at + len(word) + HINT_MARGIN
        line_end = text.find(b"\n", at, margin)
        past = line_end if line_end >= 0 else margin
        found.append(text[begin:past].decode("utf-8", "replace").strip())
    return tuple(found)


def _kind_of(record: Record, pod: PodState, commands: tuple[CommandResult, ...], task: Task) -> tuple[OutcomeKind, str]:
    facts = record.facts
    if _number(facts.get("dirty", "0")):
        return OutcomeKind.DIRTY_IMAGE, f"{facts['dirty']} tracked files of the image differ from its commit"
    for fact, kind in PATCHES:
        if facts.get(fact) == "failed":
            said = record.between("setup", None, "merged")[-1000:].decode("utf-8", "replace").strip()
            return kind, said.splitlines()[0] if said else "git refused the patch"
    if "setupFailed" in facts:
        return OutcomeKind.SETUP_FAILED, _set_up(facts["setupFailed"], task)
    if pod.oom_killed and not any(command.timed_out for command in commands):
        return OUT_OF_MEMORY
    return end_of(commands, _number(facts.get("oomKills", "0")))


def end_of(commands: Sequence[CommandResult], oom_kills: int) -> tuple[OutcomeKind, str]:
    """Return how a run's commands ended, and a sentence of it."""
    if any(command.timed_out for command in commands):
        return OutcomeKind.TEST_TIMEOUT, "a test command was ended at its deadline"
    if oom_kills and any(command.exit_code == KILLED for command in commands):
        return OUT_OF_MEMORY
    return OutcomeKind.FINISHED, ""


def unread(kind: OutcomeKind, message: str, failure: ParseFailed) -> tuple[OutcomeKind, str]:
    """Return how a run ended whose log cannot be read: one that was cut off ended by that, whatever its log says."""
    return (OutcomeKind.PARSE_FAILED, str(failure)) if kind is OutcomeKind.FINISHED else (kind, message)


def _set_up(word: str, task: Task) -> str:
    """Return the pod's word for a set-up that failed, and what of the task or its image to look at."""
    place = f"{task.workdir} (spec.task.workdir)" if task.workdir else "the directory that the image starts in"
    why = {
        "WorkdirMissing": f"the image has no directory {place}",
        "NotARepository": f"no git repository at {place}",
        "NoCommit": f"no commit in the git repository at {place}",
        "WorktreeReadOnly": f"files at {place} cannot be written by the image's user",
        "GitMissing": "the image has no git, which applies the patches",
    }.get(word)
    return f"{word}: {why}" if why else word


def _number(text: str) -> int:
    """Return a whole number said by the pod; 0 for anything else."""
    return int(text) if NUMBER.fullmatch(text) else 0
