"""The witness from its start to its exit code: gate, watch, print, wait for SIGTERM."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from types import FrameType

from assay.witness.channels import Channels
from assay.witness.frames import Printer, canonical_json
from assay.witness.isolation import GateError, Target, parse_targets, pass_gate
from assay.witness.recording import Recording
from assay.witness.session import Session, private_copy

EXIT_GATE = 70
EXIT_RESTARTED = 71
STDOUT = 1


class Ending:
    """SIGTERM: leaves at once, but not in the middle of printing the record of a run that is over."""

    def __init__(self) -> None:
        self._printing = False
        self._asked = False
        signal.signal(signal.SIGTERM, self._on_term)

    def begin_printing(self) -> None:
        """From here on a SIGTERM waits for :meth:`wait`."""
        self._printing = True

    def wait(self) -> None:
        """Return when SIGTERM has come."""
        self._printing = False
        while not self._asked:
            signal.pause()

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        if not self._printing:
            os._exit(0)


def live(folder: str, private: str, environment: Mapping[str, str]) -> int:
    """Watch one run whose FIFOs lie in ``folder``; return the exit code."""
    ending = Ending()
    printer = Printer(STDOUT, int(environment.get("ASSAY_ECHO_BYTES", "1048576")))
    try:
        targets = _targets(environment)
        gate = pass_gate(targets, float(environment.get("ASSAY_GATE_SECONDS", "30")))
    except GateError as refusal:
        return _refuse(refusal, printer, private)
    channels = Channels(folder)
    with private_copy(private) as store:
        recording = Recording(
            store,
            head=int(environment.get("ASSAY_RECORD_HEAD_BYTES", "67108864")),
            tail=int(environment.get("ASSAY_RECORD_TAIL_BYTES", "8388608")),
        )
        every = float(environment.get("ASSAY_SAMPLE_SECONDS", "10"))
        session = Session(channels, recording, printer, targets, every)
        session.watch()
        ending.begin_printing()
        session.close()
        recording.finish()
        printer.record(session.header(gate), store)
    session.release()
    ending.wait()
    return 0


def live_again(private: str) -> int:
    """Say again that the gate refused, if it did; a restarted witness has nothing else to say."""
    try:
        with open(f"{private}/refused", "rb") as note:  # noqa: PTH123  (pathlib is slow to import)
            refusal = note.read()
    except FileNotFoundError:
        os.write(2, b"the witness was restarted: the beginning of this run's output is lost\n")
        return EXIT_RESTARTED
    Printer(STDOUT, 0).gate(refusal)
    return EXIT_GATE


def _targets(environment: Mapping[str, str]) -> tuple[Target, ...]:
    try:
        return parse_targets(environment.get("ASSAY_ISOLATION_TARGETS", ""))
    except ValueError as error:
        raise GateError(str(error)) from error


def _refuse(refusal: GateError, printer: Printer, private: str) -> int:
    note = canonical_json({"why": refusal.why, "open": refusal.still_open, "rounds": refusal.rounds})
    with open(f"{private}/refused", "wb") as kept:  # noqa: PTH123  (pathlib is slow to import)
        kept.write(note)
    printer.gate(note)
    return EXIT_GATE
