"""Figures of the module gateway: requests/s and latency of cached files, decision time, memory of policies.

    python benchmarks/go_gateway.py [--requests 4000] [--connections 8]

The gateway runs as the command does, in a process of its own, over a directory of module files.  Beside it, in the same
run and under the same client, a plain Go proxy: the standard library's file server over the same directory, without
identities, rules or logs.  The client is one Python process on the same machine, so rates are a floor for both, and the
ratio is what to look at; `ms a request` is the server's own processor time, which holds on a busy machine too.  Decision time is processor time of parsing and both judgements of one request.  Exits 1 when a
decision takes more than 100 microseconds.
"""

import argparse
import asyncio
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.domain.gomodules import GoPolicy
from assay.domain.goproxy.answers import Facts
from assay.domain.goproxy.judge import judge_answer, judge_request
from assay.domain.goproxy.records import RunRecord
from assay.domain.goproxy.targets import Refusal, parse_target, split_token

TOKEN = "benchmark-token-0123456789"
RUNS, PATHS = 1_000, 50
GOAL_MICROSECONDS = 100.0
MODULE, VERSION = "github.com/BurntSushi/toml", "v1.3.2"
STEM = f"github.com/!burnt!sushi/toml/@v/{VERSION}"
SIZES = {"zip of 100 KiB": 100 << 10, "zip of 4 MiB": 4 << 20}
PLAIN_PROXY = """package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("port %d,\\n", listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.FileServer(http.Dir(os.Args[1]))))
}
"""


def write_modules(root: Path, size: int) -> None:
    """Write the files of one version whose zip has about `size` bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{MODULE}@{VERSION}/go.mod", f"module {MODULE}\n")
        for number in range(50):
            archive.writestr(f"{MODULE}@{VERSION}/f{number}.go", hashlib.shake_256(b"%d" % number).digest(size // 50))
    files = {
        "info": json.dumps({"Version": VERSION}).encode(),
        "mod": f"module {MODULE}\n\ngo 1.18\n".encode(),
        "zip": buffer.getvalue(),
    }
    for suffix, body in files.items():
        path = root / f"{STEM}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


@dataclass(frozen=True)
class Server:
    """A server at work."""

    port: int
    pid: int

    def processor_seconds(self) -> float:
        """Return the processor time that it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def process(*command: str | Path) -> Iterator[Server]:
    """Run a server that prints "port N," on its first line."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "operator")}
    with tempfile.TemporaryFile("w+") as output, subprocess.Popen(command, stdout=output, text=True, env=env) as server:
        try:
            port = ""
            while not port and server.poll() is None:
                time.sleep(0.05)
                output.seek(0)
                port = output.read().partition("port ")[2].partition(",")[0]
            yield Server(int(port), server.pid)
        finally:
            server.kill()


@contextmanager
def gateway(root: Path, work: Path) -> Iterator[Server]:
    """Run the gateway over the directory, with one run's policy."""
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    run = {"run": "r", "tokenSHA256": digest, "addresses": ["127.0.0.1"], "owned": ["github.com/acme/widget"]}
    (work / "policies.json").write_text(json.dumps({"runs": [run]}))
    start = "import typer; from assay.cli import goproxy; app = typer.Typer(); goproxy.register(app); app()"
    options = [
        "--upstream",
        root,
        "--policies",
        work / "policies.json",
        "--cache-dir",
        work / "cache",
        "--host",
        "127.0.0.1",
    ]
    budgets = ["--run-requests", "1000000", "--run-bytes-mib", "1000000", "--port", "0", "--health-port", "0"]
    with process(sys.executable, "-c", start, *map(str, options), *budgets) as server:
        yield server


@contextmanager
def plain_proxy(root: Path, work: Path) -> Iterator[Server]:
    """Build and run the standard library's file server."""
    (work / "main.go").write_text(PLAIN_PROXY)
    binary = work / "plain"
    subprocess.run(["go", "build", "-o", binary, work / "main.go"], check=True, env={**os.environ, "GOPROXY": "off"})
    with process(binary, root) as server:
        yield server


async def load(port: int, target: str, *, requests: int, connections: int) -> list[float]:
    """Ask for the target so often over kept-alive connections; return each answer's seconds."""
    seconds: list[float] = []
    question = f"GET {target} HTTP/1.1\r\nHost: g\r\n\r\n".encode()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        for _ in range(requests // connections):
            start = time.perf_counter()
            writer.write(question)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            seconds.append(time.perf_counter() - start)
            if b" 200 " not in head[:20]:
                raise RuntimeError(head.decode())
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return sorted(seconds)


def measure(server: Server, target: str, requests: int, connections: int) -> str:
    """Warm up, measure, and return a line's figures."""
    asyncio.run(load(server.port, target, requests=connections * 10, connections=connections))
    start, used = time.perf_counter(), server.processor_seconds()
    seconds = asyncio.run(load(server.port, target, requests=requests, connections=connections))
    rate = len(seconds) / (time.perf_counter() - start)
    cost = 1000 * (server.processor_seconds() - used) / len(seconds)
    p50, p99 = (1000 * seconds[int(len(seconds) * share)] for share in (0.5, 0.99))
    return f"{rate:8.0f} requests/s   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   {cost:6.3f} ms a request"


def many_policies() -> list[RunRecord]:
    """Make the records of 1,000 tasks with 50 paths each."""
    return [
        RunRecord(
            run=f"runs/{run}",
            pod_uid="u",
            token_sha256=hashlib.sha256(b"%d" % run).hexdigest(),
            addresses=frozenset({"10.0.0.1"}),
            policy=GoPolicy(
                owned=frozenset(f"github.com/owner{run}/repository/module{path}" for path in range(PATHS)),
                fork_names=frozenset({"repository"}),
            ),
        )
        for run in range(RUNS)
    ]


def decision_microseconds(policy: GoPolicy) -> float:
    """Return the processor time of parsing and judging one allowed request, both stages."""
    target = f"/t/{TOKEN}/{STEM}.mod".replace("!", "%21")
    facts = Facts(declared=(MODULE,), origins=(f"https://{MODULE}",))
    rounds = 20_000
    start = time.process_time()
    for _ in range(rounds):
        split = split_token(target)
        request = parse_target(split[1]) if not isinstance(split, Refusal) else split
        if isinstance(request, Refusal) or judge_request(policy, request) or judge_answer(policy, facts):
            raise RuntimeError("the target must be allowed")
    return (time.process_time() - start) / rounds * 1e6


def main() -> int:
    """Print the figures; return 1 when the decision misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    for name, size in SIZES.items():
        few = max(options.requests * (100 << 10) // size // 2, options.connections * 10)
        cases = [("mod", options.requests)] * (name == "zip of 100 KiB") + [("zip", few)]
        with tempfile.TemporaryDirectory() as directory:
            work, root = Path(directory), Path(directory) / "modules"
            write_modules(root, size)
            for word, server, prefix in (("gateway", gateway, f"/t/{TOKEN}/"), ("plain Go", plain_proxy, "/")):
                with server(root, work) as running:
                    for suffix, requests in cases:
                        figures = measure(running, f"{prefix}{STEM}.{suffix}", requests, options.connections)
                        print(f"{name if suffix == 'zip' else 'mod':16} {word:9} {figures}", flush=True)
    tracemalloc.start()
    records = many_policies()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"{RUNS} policies of {PATHS} paths: {held / (1 << 20):.1f} MiB")
    decision = decision_microseconds(records[0].policy)
    print(f"decision: {decision:.1f} microseconds of processor time (goal {GOAL_MICROSECONDS:.0f})")
    return int(decision > GOAL_MICROSECONDS)


if __name__ == "__main__":
    sys.exit(main())
