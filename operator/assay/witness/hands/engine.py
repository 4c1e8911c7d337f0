"""The engine: one thread that runs one call after the other, and the doors by which other threads ask for them.

Exactly once: a call is noted in the journal before it is answered, and told to serve.sh by its number, which runs no
number twice and answers again when asked again.  So a new engine over the same volume tells the last number again.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque

from assay.witness.hands.call import DONE, EXIT_TIMEOUT, QUEUED, RUNNING, Call
from assay.witness.hands.channel import Channel, waiting_bytes
from assay.witness.hands.jobs import Job, capture, job_of
from assay.witness.hands.journal import Journal
from assay.witness.hands.spool import Limits, Spool
from assay.witness.hands.volume import Volume

GRACE_SECONDS = 2.0
"""Between the signals TERM and KILL."""
KILLS_BEFORE_GIVING_UP = 15
LOOK_SECONDS = 1.0
READ_BYTES = 1048576
LATE_READERS = 256
"""FIFOs of finished calls that are still read, because processes that they left behind may write."""


class ConflictError(Exception):
    """The id is taken by another request, or another submission holds the lock."""


class LockedError(Exception):
    """A submission is being graded: no call is taken."""


class NotReadyError(Exception):
    """The sandbox cannot take a call now; the message says why."""


class Engine:
    """Calls by id; every attribute without an underscore may be read by any thread under ``changed``."""

    def __init__(self, folder: str, private: str, *, limits: Limits, budget: int) -> None:
        """Take up the state in ``private``; keep at most ``budget`` bytes of finished calls' output."""
        self._channel = Channel(folder)
        self._volume = Volume(private, limits, budget)
        self.changed = threading.Condition()
        self.calls: dict[str, Call] = {}
        self.locked: int | None = None
        self.submissions: dict[int, Call] = {}
        self.facts: dict[str, str] = {}
        self.ready = False
        self.reason = "the work tree is being prepared"
        self.active_at = time.monotonic()
        self._numbers = 0
        self._queue: deque[Call] = deque()
        self._running: Call | None = None
        self._output = -1
        self._look_at = 0.0
        self._told: dict[str, str] = {}
        self._late: dict[int, int] = {}
        self._poller = select.poll()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._journal = Journal(f"{private}/journal")
        self._recover()
        for descriptor in (self._wake_read, self._channel.answers):
            self._poller.register(descriptor, select.POLLIN)

    # --- doors for other threads -------------------------------------------------------------------------------------

    def put(self, identifier: str, digest: str, body: object) -> Call:
        """Take a call, or find the one that was taken before.  Raises as the classes above say, or ``OSError``."""
        with self.changed:
            if found := self.calls.get(identifier):
                if found.digest != digest:
                    raise ConflictError("another call has this id")
                return found
            if self.locked is not None:
                raise LockedError(f"submission {self.locked} is being graded")
            if not self.ready:
                raise NotReadyError(self.reason)
            number = self._numbers + 1
            self._volume.keep_request(number, body)
            self._journal.note("call", number, identifier, digest)
            self.active_at = time.monotonic()
            return self._enqueue(Call(number, identifier, digest))

    def cancel(self, call: Call) -> None:
        """End a call as if its time were over; one that still waits never runs."""
        with self.changed:
            if call.state == QUEUED and not call.is_capture:
                self._queue.remove(call)
                call.cancelled = True
                self._end(call, None, "cancelled before it began")
            elif call is self._running and not call.cancelled:
                call.cancelled = True
                call.kill_at = call.kill_at or time.monotonic()
                self._wake()

    def wait(self, call: Call, seconds: float) -> None:
        """Return when the call is done, or after ``seconds``."""
        with self.changed:
            self.changed.wait_for(lambda: call.state == DONE, seconds)

    def submit(self, number: int) -> Call:
        """Lock, and take the diff once the calls before it are done; a diff that failed is taken again."""
        with self.changed:
            found = self.submissions.get(number)
            if found and (found.state != DONE or found.exit_code == 0):
                return found
            if self.locked not in (None, number):
                raise ConflictError(f"submission {self.locked} is being graded")
            if not self.ready:
                raise NotReadyError(self.reason)
            if self.locked is None:
                self._journal.note("lock", number)
                self.locked = number
            call = Call(self._numbers + 1, f"submission/{number}", "", is_capture=True)
            self._journal.note("capture", call.number, number)
            self.submissions[number] = call
            return self._enqueue(call)

    def release(self, number: int) -> None:
        """Take calls again."""
        with self.changed:
            if self.locked not in (None, number):
                raise ConflictError(f"submission {self.locked} is being graded")
            if self.locked is not None:
                self._journal.note("release", number)
                self.locked = None
            self.active_at = time.monotonic()

    def touch(self) -> None:
        """Somebody still cares."""
        with self.changed:
            self.active_at = time.monotonic()

    def spool_of(self, call: Call) -> Spool | None:
        """Return a reader of the call's output; None when it was dropped for want of room."""
        return self._volume.spool(call.number) if self._volume.holds(call.number) else None

    def summary(self) -> dict[str, object]:
        """Return counts and times."""
        with self.changed:
            now = time.monotonic()
            running = self._running
            return {
                "ready": self.ready,
                "reason": self.reason,
                "calls": len(self.calls),
                "callSeconds": round(sum(call.seconds for call in self.calls.values()), 3),
                "running": running.id if running else None,
                "queued": len(self._queue),
                "idleSeconds": 0.0 if running or self._queue else round(now - self.active_at, 3),
                "locked": self.locked,
            }

    # --- the engine's own thread -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Work for ever."""
        self._channel.say("hello")
        while True:
            events = self._poller.poll(self._pause())
            with self.changed:
                self._serve({descriptor for descriptor, _ in events})

    def _serve(self, descriptors: set[int]) -> None:
        for descriptor in descriptors:
            if descriptor == self._wake_read:
                os.read(self._wake_read, 4096)
            elif descriptor == self._output:
                self._take(READ_BYTES)
            elif descriptor in self._late:
                self._discard(descriptor)
        if self._channel.answers in descriptors:
            self._hear()
        self._watch()
        if self.ready and not self._running and self._queue:
            self._begin(self._queue.popleft())

    def _pause(self) -> float:
        """Milliseconds until something must be looked at."""
        running = self._running
        if not running:
            return 60_000.0
        due = min(self._look_at, running.deadline if running.kill_at is None else running.kill_at)
        return max(0.0, due - time.monotonic()) * 1000 + 1

    def _hear(self) -> None:
        lines = self._channel.hear()
        if lines is None:
            self._poller.unregister(self._channel.answers)
            self._give_up(self.reason if self.reason and not self.ready else "the sandbox has ended")
            return
        for line in lines:
            verb, _, rest = line.partition(" ")
            name, _, value = rest.partition(" ")
            if verb == "fact" and len(self._told) < 100:
                self._told[name] = value[:4096]
            elif verb == "ready":
                self._become_ready()
            elif verb == "failed" and not self.ready:
                self.reason = rest[:2000]
            elif verb == "end" and self._running and name == str(self._running.number) and value.isdecimal():
                self._finish(self._running, int(value) & 255)

    def _become_ready(self) -> None:
        if self.ready:
            return
        self.facts = self.facts or self._told
        self.ready, self.reason = True, ""
        if self._running:
            self._hand_over(self._running)
        self.changed.notify_all()

    def _give_up(self, why: str) -> None:
        """serve.sh is gone: nothing will run here any more."""
        self.ready, self.reason = False, why
        for call in [self._running] if self._running else []:
            self._end(call, None, why)
        while self._queue:
            self._end(self._queue.popleft(), None, why)

    def _begin(self, call: Call) -> None:
        call.state = RUNNING
        call.began = time.monotonic()
        self._running = call
        self._journal.note("begin", call.number, time.time())
        self._hand_over(call)

    def _hand_over(self, call: Call) -> None:
        try:
            self._tell(call)
        except OSError as error:
            self._end(call, None, f"the call could not be handed to the sandbox: {error}")

    def _tell(self, call: Call) -> None:
        """Hand the running call to serve.sh, for the first time or again."""
        job = self._job(call)
        for suffix, content in (*job.files.items(), ("job", job.text)):
            self._channel.put(f"{call.number}.{suffix}", content)
        if self._output < 0:
            self._channel.make_fifo(f"{call.number}.out")
            call.spool = self._volume.spool(call.number)
            self._output = self._channel.open_output(call.number)
            self._poller.register(self._output, select.POLLIN)
        call.deadline = call.began + job.seconds
        self._look_at = time.monotonic() + LOOK_SECONDS
        self._channel.say(f"run {call.number}")

    def _watch(self) -> None:
        """Deadline, signals, and whether the call's parent lives."""
        call = self._running
        if not call or not self.ready:
            return
        now = time.monotonic()
        if call.kill_at is None and now >= call.deadline:
            call.timed_out = True
            call.kill_at = now
        if call.kill_at is not None and now >= call.kill_at:
            if call.kills == KILLS_BEFORE_GIVING_UP:
                self._end(call, None, "the sandbox does not answer")
                return
            self._channel.say(f"kill {call.number} {'KILL' if call.kills else 'TERM'}")
            call.kills += 1
            call.kill_at = now + GRACE_SECONDS
        if now >= self._look_at:
            self._channel.say(f"look {call.number}")
            self._look_at = now + LOOK_SECONDS

    def _take(self, most: int) -> None:
        call = self._running
        try:
            if call and call.spool:
                call.spool.take(self._output, most)
        except BlockingIOError:
            return

    def _finish(self, call: Call, code: int) -> None:
        """The call's processes have ended; what they wrote lies in the pipe."""
        left = waiting_bytes(self._output) if self._output >= 0 else 0
        if left:
            self._take(left)
        self._end(call, EXIT_TIMEOUT if call.timed_out else code, None)

    def _end(self, call: Call, code: int | None, error: str | None) -> None:
        call.exit_code, call.error = code, error
        call.seconds = time.monotonic() - call.began if call.state == RUNNING else 0.0
        if call.spool:
            call.output_bytes, call.omitted = call.spool.total, call.spool.omitted
            call.spool.close()
            self._settle(call)
        call.state = DONE
        self._journal.note("done", call.number, call.result())
        call.spool = None
        if call is self._running:
            self._running = None
            self.active_at = time.monotonic()
            self._let_output_go(call.number)
        for suffix in ("job", "script", "stdin", "data"):
            self._channel.drop(f"{call.number}.{suffix}")
        self._volume.forget_request(call.number)
        self.changed.notify_all()

    # --- output of processes that outlive their call -----------------------------------------------------------------

    def _let_output_go(self, number: int) -> None:
        if self._output < 0:
            return
        self._late[self._output] = number
        self._output = -1
        if len(self._late) > LATE_READERS:
            self._close_late(next(iter(self._late)))

    def _discard(self, descriptor: int) -> None:
        """Read on, so that nobody blocks; the end comes when the last writer is gone."""
        try:
            if not os.splice(descriptor, self._null, READ_BYTES, flags=os.SPLICE_F_NONBLOCK):
                self._close_late(descriptor)
        except BlockingIOError:
            return

    def _close_late(self, descriptor: int) -> None:
        self._channel.drop(f"{self._late.pop(descriptor)}.out")
        self._poller.unregister(descriptor)
        os.close(descriptor)

    # --- the private volume ------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        numbered: dict[int, Call] = {}
        began: dict[int, float] = {}
        for verb, number, *rest in self._journal.entries:
            if verb == "call":
                numbered[number] = self.calls[rest[0]] = Call(number, rest[0], rest[1])
            elif verb == "capture":
                numbered[number] = Call(number, f"submission/{rest[0]}", "", is_capture=True)
                self.submissions[rest[0]] = numbered[number]
            elif verb == "begin":
                began[number] = rest[0]
            elif verb == "done":
                numbered[number].restore(rest[0])
            else:
                self.locked = number if verb == "lock" else None
        self._journal.entries.clear()
        self._numbers = max(numbered, default=0)
        for number, call in numbered.items():
            if call.state == DONE:
                self._settle(call)
            elif number in began:
                call.state = RUNNING
                call.began = time.monotonic() - max(0.0, time.time() - began[number])
                self._running = call
            else:
                self._queue.append(call)
        self._recover_outputs(numbered)

    def _recover_outputs(self, numbered: dict[int, Call]) -> None:
        for number in self._channel.outputs():
            if number in numbered and numbered[number].state == DONE:
                try:
                    descriptor = self._channel.open_output(number)
                except OSError:
                    continue
                self._late[descriptor] = number
                self._poller.register(descriptor, select.POLLIN)
        if self._running:
            call = self._running
            call.spool = self._volume.spool(call.number)
            self._channel.make_fifo(f"{call.number}.out")
            self._output = self._channel.open_output(call.number)
            self._poller.register(self._output, select.POLLIN)

    def _enqueue(self, call: Call) -> Call:
        self._numbers = call.number
        if not call.is_capture:
            self.calls[call.id] = call
        self._queue.append(call)
        self._wake()
        return call

    def _job(self, call: Call) -> Job:
        if call.is_capture:
            return capture()
        return job_of(self._volume.request(call.number), f"{self._channel.folder}/{call.number}.")

    def _settle(self, call: Call) -> None:
        if not call.is_capture:
            self._volume.settle(call.number)

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except BlockingIOError:
            return
