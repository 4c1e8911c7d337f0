"""Proof that the pod's network is shut: a probe, the gate before the run, samples during it.

A *target* is an address that an open network would answer on, such as the API server.  A probe connects to all of
them at once.  A door counts as shut only for errors that mean so; an error of our own making (no descriptors left,
no ports left) proves nothing and is reported as ``unknown``, which never passes the gate.
"""

from __future__ import annotations

import errno
import select
import socket
import threading
import time
from collections.abc import Callable

OPEN, SHUT, UNKNOWN = "open", "shut", "unknown"

PROBE_SECONDS = 0.5
ROUND_GAP_SECONDS = 0.1
FIRST_SAMPLE_SECONDS = 0.5
LEAKS_KEPT = 20

_SHUT_ERRORS = frozenset({
    errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ETIMEDOUT,
    errno.EPERM, errno.EACCES,
})  # fmt: skip
_NO_IPV6_ERRORS = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})

Target = tuple[str, int]


class GateError(Exception):
    """Isolation was not proven: nothing of the task may run.  ``still_open`` names the targets last seen not shut."""

    def __init__(self, why: str, still_open: tuple[str, ...] = (), rounds: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.still_open = still_open
        self.rounds = rounds


def parse_targets(text: str) -> tuple[Target, ...]:
    """Return the targets in ``ip:port [v6]:port ...``; raise ``ValueError`` for anything else."""
    return tuple(_parse_target(word) for word in text.split())


def _parse_target(word: str) -> Target:
    host, colon, port = word.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    number = int(port)
    if not colon or not 0 < number < 65536:
        raise ValueError(f"not a target: {word!r}")
    try:
        socket.inet_pton(_family(host), host)
    except OSError as error:
        raise ValueError(f"not an address: {word!r}") from error
    return host, number


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def target_name(target: Target) -> str:
    """Return ``ip:port`` or ``[v6]:port``."""
    host, port = target
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def probe(targets: tuple[Target, ...], seconds: float = PROBE_SECONDS) -> dict[Target, str]:
    """Connect to all targets at once and say of each whether its door is open, shut or unknown.

    No answer within ``seconds`` is shut.  Takes at most ``seconds``, and next to nothing when every door answers.
    """
    verdicts: dict[Target, str] = {}
    waiting: dict[int, tuple[socket.socket, Target]] = {}
    poller = select.poll()
    try:
        for target in targets:
            begun = _begin(target)
            if isinstance(begun, int):
                verdicts[target] = _meaning(begun, target)
            else:
                waiting[begun.fileno()] = (begun, target)
                poller.register(begun, select.POLLOUT)
        deadline = time.monotonic() + seconds
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(left * 1000):
                connection, target = waiting.pop(descriptor)
                poller.unregister(descriptor)
                with connection:
                    verdicts[target] = _meaning(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), target)
        verdicts.update((target, SHUT) for _, target in waiting.values())
    finally:
        for connection, _ in waiting.values():
            connection.close()
    return verdicts


def _begin(target: Target) -> socket.socket | int:
    try:
        connection = socket.socket(_family(target[0]), socket.SOCK_STREAM)
    except OSError as error:
        return error.errno or errno.EIO
    connection.setblocking(False)
    code = connection.connect_ex(target)
    if code in (0, errno.EINPROGRESS):
        return connection
    connection.close()
    return code


def _meaning(code: int, target: Target) -> str:
    if code == 0:
        return OPEN
    if code in _SHUT_ERRORS or (":" in target[0] and code in _NO_IPV6_ERRORS):
        return SHUT
    return UNKNOWN


def sees_an_open_door() -> bool:
    """Return whether the probe finds a listener of our own on the loopback: the positive control."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            door: Target = ("127.0.0.1", listener.getsockname()[1])
            return probe((door,), 2.0)[door] == OPEN
    except OSError:
        return False


class Gate:
    """What the gate saw: ``rounds`` probes in ``seconds``, and whether a target was open in the first of them."""

    __slots__ = ("opened_at_first", "rounds", "seconds")

    def __init__(self, rounds: int, seconds: float, *, opened_at_first: bool) -> None:
        self.rounds = rounds
        self.seconds = seconds
        self.opened_at_first = opened_at_first


def pass_gate(targets: tuple[Target, ...], seconds: float, doors: tuple[Target, ...] = ()) -> Gate:
    """Return once two rounds in a row, at least 100 ms apart, found every target shut and every one of ``doors`` open.

    Raises :class:`GateError` when there is nothing to probe, when the positive control fails, or after ``seconds``.
    """
    if not targets:
        raise GateError("no isolation targets given")
    if not sees_an_open_door():
        raise GateError("positive control failed: the probe does not see an open port on the loopback")
    begun = time.monotonic()
    rounds = shut_in_a_row = 0
    opened_at_first = False
    while True:
        verdicts = probe(targets + doors)
        rounds += 1
        not_shut = tuple(target_name(target) for target in targets if verdicts[target] != SHUT)
        not_open = tuple(target_name(door) for door in doors if verdicts[door] != OPEN)
        opened_at_first = opened_at_first or (rounds == 1 and OPEN in map(verdicts.get, targets))
        shut_in_a_row = 0 if not_shut or not_open else shut_in_a_row + 1
        passed = time.monotonic() - begun
        if shut_in_a_row == 2:
            return Gate(rounds, passed, opened_at_first=opened_at_first)
        if passed >= seconds:
            why = "targets are not shut" if not_shut else f"no answer from {', '.join(not_open)}"
            raise GateError(why, not_shut, rounds)
        time.sleep(ROUND_GAP_SECONDS)


class Sampler:
    """Probes the targets again and again while the run goes on, in a thread of its own."""

    def __init__(self, targets: tuple[Target, ...], every: float, clock: Callable[[], float]) -> None:
        """Prepare to sample ``targets`` each ``every`` seconds; ``clock`` gives the time noted with a leak."""
        self._targets = targets
        self._every = every
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples = 0
        self.unknown = 0
        self.leak_count = 0
        self.leaks: list[dict[str, object]] = []

    def start(self) -> None:
        """Begin; the first sample comes half a second from now."""
        self._thread.start()

    def finish(self) -> None:
        """Stop the thread and take the last sample."""
        self._stopped.set()
        self._thread.join()
        self._sample()

    def _run(self) -> None:
        pause = min(FIRST_SAMPLE_SECONDS, self._every)
        while not self._stopped.wait(pause):
            self._sample()
            pause = self._every

    def _sample(self) -> None:
        verdicts = probe(self._targets)
        self.samples += 1
        self.unknown += sum(verdict == UNKNOWN for verdict in verdicts.values())
        for target, verdict in verdicts.items():
            if verdict != OPEN:
                continue
            self.leak_count += 1
            if len(self.leaks) < LEAKS_KEPT:
                self.leaks.append({"target": target_name(target), "seconds": round(self._clock(), 3)})
