"""What a run wrote arrives byte for byte, however much and whatever it is, and a death that its exit code hides shows."""

from __future__ import annotations

import base64
import hashlib
from itertools import count

import pytest

from cluster.stage import RESULTS, Manifest, Stage, task_like

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SIXTY_FOUR_MIB = 64 << 20
RESULTS_UNPATCHED = b"FAILED t::transfer\nPASSED t::other\n"
LOUD = """
grep -q transfer ledger/book.py || python3 -c '
import hashlib, sys
left, number = %d, 0
while left > 0:
    line = b"%%08d %%s\\n" %% (number, hashlib.sha256(str(number).encode()).hexdigest().encode())
    left -= sys.stdout.buffer.write(line[-left:])
    number += 1
'
"""
ALL_BYTES = bytes(range(256)) + bytes(range(255, -1, -1))
ODD = (
    b"\0\0\0\r\r\n\r \xff\xfe\xc3\x28 \x1b[31mred\x1b[0m\x08\x08 \x1eassay-record {}\n\x1eassay-data 0 AAAA\n"
    b'\x1eassay-end {"frames":0,"header":"","sha256":""}\nhello\nend 0\n' + ALL_BYTES
)
SAY = "python3 -c 'import sys, base64; sys.{stream}.buffer.write(base64.b64decode(\"{text}\") * {times})'"


@pytest.fixture(scope="module")
def odd(stage: Stage, examples: dict[str, Manifest]) -> str:
    """Objects of this module, applied together so that their runs overlap; the binary one's name."""
    loud = LOUD % (SIXTY_FOUR_MIB - len(RESULTS_UNPATCHED))
    said = base64.b64encode(ODD).decode()
    binary = [SAY.format(stream=stream, text=said, times=times) for stream, times in (("stdout", 40), ("stderr", 3))]
    eater = 'sh -c \'python3 -c "bytearray(b\\"x\\") * (1 << 30)"\'; echo the command goes on; exit 0'
    stage.apply(task_like(examples["valid"], loud, RESULTS), "loud")
    stage.apply(task_like(examples["valid"], *binary, f"echo; {RESULTS}"), "binary")
    stage.apply(task_like(examples["valid"], eater, RESULTS, memory="128Mi"), "child-out-of-memory")
    return "binary"


def loud_text() -> bytes:
    """The 64 MiB that the loud task writes, made anew."""
    lines, left = [], SIXTY_FOUR_MIB - len(RESULTS_UNPATCHED)
    for number in count():
        line = f"{number:08} {hashlib.sha256(b'%d' % number).hexdigest()}\n".encode()
        lines.append(line[-left:])
        left -= len(lines[-1])
        if not left:
            return b"".join(lines) + RESULTS_UNPATCHED
    raise AssertionError("unreachable")


def test_64_mib_of_output_arrive_whole_and_are_printed_whole(stage: Stage, odd: str) -> None:
    assert odd
    status = stage.finished("loud")
    assert (status["verdict"], status["tests"]["failToPass"]["first"]) == ("Valid", ["t::transfer"]), status["message"]
    run = next(run for run in status["runs"] if run["name"] == "unpatched-1")
    expected = loud_text()
    assert len(expected) == SIXTY_FOUR_MIB
    assert (run["log"]["bytes"], run["log"]["sha256"]) == (len(expected), hashlib.sha256(expected).hexdigest())
    assert not run["truncated"]
    assert stage.operator.store.get(run["log"]["sha256"]) == expected
    assert stage.log("loud", "unpatched-1") == expected


def test_binary_output_arrives_byte_for_byte(stage: Stage, odd: str) -> None:
    status = stage.finished(odd)
    assert status["verdict"] == "Valid", status["message"]
    expected = ODD * 43 + b"\n" + RESULTS_UNPATCHED
    run = next(run for run in status["runs"] if run["name"] == "unpatched-1")
    assert run["log"]["sha256"] == hashlib.sha256(expected).hexdigest()
    assert stage.log(odd, "unpatched-1") == expected


def test_a_child_that_memory_killed_shows_although_the_command_exits_with_0(stage: Stage, odd: str) -> None:
    assert odd
    status = stage.finished("child-out-of-memory")
    assert (status["verdict"], status["reason"]) == ("Invalid", "OutOfMemory"), status["message"]
    assert [(run["exitCode"], run["attempt"]) for run in status["runs"]] == [(0, 1), (0, 1)]
    said = stage.log("child-out-of-memory", "patched-1").splitlines()  # the shell's own "Killed" comes in somewhere
    assert said.index(b"the command goes on") < said.index(b"PASSED t::transfer")
