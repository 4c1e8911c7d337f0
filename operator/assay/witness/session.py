"""One run, watched from its first byte to its record: the loop between the FIFOs, the recording and the ledger."""

from __future__ import annotations

import fcntl
import os
import select
import time
from struct import unpack
from termios import FIONREAD
from typing import IO

from assay.witness.channels import Channels
from assay.witness.control import Ledger, LineBuffer
from assay.witness.frames import Printer
from assay.witness.isolation import Gate, Sampler, Target
from assay.witness.recording import Recording

READ_BYTES = 262144
SWITCHES_WITHOUT_PAUSE = 262144
PAUSE_SECONDS = 0.005


class Session:
    """Records until run.sh says ``end`` or dies."""

    def __init__(
        self, channels: Channels, recording: Recording, printer: Printer, targets: tuple[Target, ...], every: float
    ) -> None:
        """Sample the isolation ``targets`` each ``every`` seconds while recording."""
        self._channels = channels
        self._recording = recording
        self._printer = printer
        self._ledger = Ledger(os.urandom(16).hex())
        self._lines = LineBuffer()
        self._started_at = time.time()
        self._begun = time.monotonic()
        self._sampler = Sampler(targets, every, self._seconds)
        self._targets = targets

    def watch(self) -> None:
        """Record until run.sh says ``end``, or is dead."""
        channels, recording = self._channels, self._recording
        poller = select.poll()
        for descriptor in (channels.ctl, channels.out, channels.err):
            poller.register(descriptor, select.POLLIN)
        self._sampler.start()
        while True:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if channels.ctl in ready and self._hear():
                break
            if channels.out in ready:
                self._take(0, channels.out, READ_BYTES)
            if channels.err in ready:
                self._take(1, channels.err, READ_BYTES)
            if recording.pieces > SWITCHES_WITHOUT_PAUSE:
                time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        """Take what is left in the pipes and the last isolation sample."""
        self._drain()
        out, err = self._recording.sizes
        self._ledger.mark("end", out=out, err=err, seconds=self._seconds())
        self._sampler.finish()

    def header(self, gate: Gate) -> dict[str, object]:
        """Return the record's header; the recording must be finished."""
        recording, ledger = self._recording, self._ledger
        return {
            "format": 1,
            "ended": ledger.ended,
            "rc": ledger.exit_code,
            "sizes": {"out": recording.sizes[0], "err": recording.sizes[1], "merged": recording.merged},
            "sha256": recording.sha256,
            "truncated": recording.truncated,
            "stored": {
                "merged": recording.kept_bytes,
                "head": recording.head_bytes,
                "pieces": recording.pieces,
                "sha256": recording.kept_sha256,
            },
            "marks": ledger.marks,
            "facts": ledger.facts,
            "strange": ledger.strange,
            "isolation": self._isolation(gate),
            "startedAt": round(self._started_at, 3),
            "durationSeconds": round(self._seconds(), 3),
        }

    def release(self) -> None:
        """Answer the ``end``: run.sh may go."""
        if self._ledger.ended:
            self._answer("end")

    def _isolation(self, gate: Gate) -> dict[str, object]:
        sampler = self._sampler
        return {
            "targets": len(self._targets),
            "rounds": gate.rounds,
            "gateSeconds": round(gate.seconds, 3),
            "openedAtFirst": gate.opened_at_first,
            "samples": sampler.samples,
            "unknown": sampler.unknown,
            "leaks": sampler.leaks,
            "leakCount": sampler.leak_count,
        }

    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    def _hear(self) -> bool:
        """Read the control channel; return whether the run is over."""
        try:
            data = os.read(self._channels.ctl, READ_BYTES)
        except BlockingIOError:
            return False
        ledger, sizes = self._ledger, self._recording.sizes
        for line in self._lines.feed(data):
            self._drain()
            greeted = ledger.greeted
            answer = ledger.read(line, out=sizes[0], err=sizes[1], seconds=self._seconds())
            if ledger.ended:
                return True
            if ledger.greeted and not greeted:
                self._channels.hide()
            if answer is not None:
                self._answer(answer)
        return not data

    def _drain(self) -> None:
        """Take what lies in the pipes now, and no more: a writer that never stops cannot hold a mark back."""
        for stream, descriptor in ((0, self._channels.out), (1, self._channels.err)):
            left = unpack("i", fcntl.ioctl(descriptor, FIONREAD, b"\0\0\0\0"))[0]
            while left > 0 and (taken := self._take(stream, descriptor, min(left, READ_BYTES))):
                left -= taken

    def _take(self, stream: int, descriptor: int, most: int) -> int:
        try:
            data = os.read(descriptor, most)
        except BlockingIOError:
            return 0
        self._recording.append(stream, data)
        self._printer.echo(data)
        return len(data)

    def _answer(self, text: str) -> None:
        try:
            os.write(self._channels.ack, text.encode() + b"\n")
        except BlockingIOError:
            return


def private_copy(folder: str) -> IO[bytes]:
    """Return the file that takes the compressed bytes."""
    return open(f"{folder}/record", "w+b")  # noqa: PTH123  (pathlib is slow to import)
