"""Entry point: ``python3 -I -m assay.witness.hands``.  Proves isolation, then lets serve.sh begin and serves calls."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from json import loads
from typing import Any

from assay.witness.frames import Printer, canonical_json
from assay.witness.hands.api import Api, refusal
from assay.witness.hands.engine import Engine
from assay.witness.hands.http import Server
from assay.witness.hands.spool import HEAD_BYTES, SEGMENT_BYTES, Limits
from assay.witness.isolation import GateError, Sampler, Target, parse_targets, pass_gate

EXIT_GATE = 70
EXIT_SETTINGS = 64
PORT = 7070
BUDGET_BYTES = 512 * 1024 * 1024
STACK_BYTES = 262144


def main() -> int:
    """Serve until SIGTERM; return 64 (no key) or 70 (isolation not proven, now or in a previous life)."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    environment = os.environ
    private = environment.get("ASSAY_RECORD", "/assay/record")
    key = environment.pop("ASSAY_KEY", "")
    if not key:
        os.write(2, b"ASSAY_KEY is not set\n")
        return EXIT_SETTINGS
    try:
        targets, gate = _proof(private, environment)
    except GateError as refused:
        note = canonical_json({"why": refused.why, "open": refused.still_open, "rounds": refused.rounds})
        _keep(f"{private}/refused", note)
        Printer(1, 0).gate(note)
        return EXIT_GATE
    begun = time.monotonic()
    sampler = Sampler(targets, float(environment.get("ASSAY_SAMPLE_SECONDS", "10")), lambda: time.monotonic() - begun)
    sampler.start()
    limits = Limits(
        int(environment.get("ASSAY_HEAD_BYTES", HEAD_BYTES)), int(environment.get("ASSAY_SEGMENT_BYTES", SEGMENT_BYTES))
    )
    budget = int(environment.get("ASSAY_OUTPUT_BYTES", BUDGET_BYTES))
    engine = Engine(environment.get("ASSAY_IO", "/assay/io"), private, limits=limits, budget=budget)
    api = Api(engine, key, lambda: _isolation(gate, sampler, len(targets)))
    threading.stack_size(STACK_BYTES)
    server = Server(_listener(environment), admit=api.admit, handle=api.handle, refuse=refusal)
    threading.Thread(target=server.run, daemon=True).start()
    engine.run()
    return 0


def _proof(private: str, environment: Mapping[str, str]) -> tuple[tuple[Target, ...], dict[str, object]]:
    """Return the targets and what the gate saw, in this life or in the first one."""
    try:
        targets = parse_targets(environment.get("ASSAY_ISOLATION_TARGETS", ""))
        doors = parse_targets(environment.get("ASSAY_ISOLATION_DOORS", ""))
    except ValueError as error:
        raise GateError(str(error)) from error
    if refused := _kept(f"{private}/refused"):
        raise GateError(refused["why"], tuple(refused["open"]), refused["rounds"])
    if passed := _kept(f"{private}/gate"):
        return targets, passed | {"restarts": _count_restart(private)}
    gate = pass_gate(targets, float(environment.get("ASSAY_GATE_SECONDS", "30")), doors)
    seen = {"rounds": gate.rounds, "gateSeconds": round(gate.seconds, 3), "openedAtFirst": gate.opened_at_first}
    seen["doors"] = len(doors)
    _keep(f"{private}/gate", canonical_json(seen))
    return targets, {**seen, "restarts": 0}


def _count_restart(private: str) -> int:
    with open(f"{private}/restarts", "ab") as file:
        file.write(b"!")
    return os.stat(f"{private}/restarts").st_size


def _isolation(gate: dict[str, object], sampler: Sampler, targets: int) -> dict[str, object]:
    seen = {"samples": sampler.samples, "unknown": sampler.unknown, "leaks": sampler.leaks}
    return gate | seen | {"targets": targets, "leakCount": sampler.leak_count}


def _kept(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            found: dict[str, Any] = loads(file.read())
    except FileNotFoundError:
        return None
    return found


def _keep(path: str, data: bytes) -> None:
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)


def _listener(environment: Mapping[str, str]) -> socket.socket:
    address = (environment.get("ASSAY_ADDRESS", ""), int(environment.get("ASSAY_PORT", PORT)))
    if not address[0] and socket.has_dualstack_ipv6():
        return socket.create_server(address, family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    return socket.create_server(address, backlog=128)


if __name__ == "__main__":
    sys.exit(main())
