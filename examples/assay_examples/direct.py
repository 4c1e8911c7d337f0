"""Runs of an example without Kubernetes: a fresh copy of its image's file system for each, offline, under its limits."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.domain.logs import parse_log
from assay_examples.images import WORKDIR, Example, Image
from assay_examples.oracle import DirectRun, End, condemned_by_first, whole_results
from assay_examples.sandbox import Sandbox

PATCH_FOLDER = "direct-patches"
APPLY = "git -c safe.directory='*' apply --whitespace=nowarn"


def direct_runs(example: Example, *, scratch: Path) -> Iterator[DirectRun]:
    """All runs of the example, the first unpatched one first; no more when that one settles the verdict."""
    image, runs = example.image, example.recipe.runs
    assert image is not None, "a task without an image cannot be run"
    first = direct_run(example, image, "unpatched", scratch=scratch)
    yield first
    if condemned_by_first(example.recipe, first):
        return
    states = ["unpatched"] * (runs.unpatched - 1) + ["patched"] * runs.patched + ["pristine"] * runs.pristine
    for state in states:
        yield direct_run(example, image, state, scratch=scratch)


def direct_run(example: Example, image: Image, state: str, *, scratch: Path) -> DirectRun:
    """Patch a fresh copy as the state asks, run the test commands and read their output."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix=f"{example.recipe.name}-") as temporary:
        folder = Path(temporary)
        patches = folder / "patches" / PATCH_FOLDER
        patches.mkdir(parents=True)
        contents = {"test": example.test_patch, "reference": example.reference_patch}
        for name, content in contents.items():
            (patches / f"{name}.patch").write_bytes(content)
        layers = [*image.layers, folder / "patches"]
        sandbox = Sandbox(layers=layers, upper=folder / "upper", scratch=folder / "mounts")
        steps = {"pristine": (), "unpatched": ("test",), "patched": ("test", "reference")}[state]
        for step in filter(contents.get, steps):  # git calls an empty patch invalid
            applied = sandbox.run(f"{APPLY} /{PATCH_FOLDER}/{step}.patch", workdir=WORKDIR)
            if applied.code != 0:
                return DirectRun(state=state, end=End.TEST_PATCH if step == "test" else End.PATCH)
        return _tested(example, sandbox, state)


def _tested(example: Example, sandbox: Sandbox, state: str) -> DirectRun:
    limits = example.recipe.limits
    done = [
        sandbox.run(command, workdir=WORKDIR, seconds=limits.test, memory=limits.memory)
        for command in example.recipe.commands
    ]
    raw = b"".join(one.stdout for one in done) + b"".join(one.stderr for one in done)
    log = raw.decode("utf-8", "surrogateescape")
    if any(one.out_of_memory for one in done):
        return DirectRun(state=state, end=End.MEMORY, log=log)
    if any(one.code is None for one in done):
        return DirectRun(state=state, end=End.TIME, log=log)
    results = {str(name): str(status) for name, status in parse_log(example.recipe.parser, log).items()}
    whole = whole_results(example.recipe.language, log, results)
    return DirectRun(state=state, end=End.RAN, results=results, whole=whole, log=log)
