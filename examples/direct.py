"""Run examples directly, without Kubernetes, and write what they give: one JSON file an example.

The same file systems, patches, commands and parser as on a cluster; the rules are stated a second time, in
`assay_examples.oracle`. A verdict on the cluster that differs from the file written here is a fault in one of the two.
Results are kept under the hash of all that they depend on, so a second call only reports.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "operator")]

from assay_examples.artefacts import ArtefactError  # noqa: E402  the folders above must be importable first
from assay_examples.caches import cache_root, content_key, locked, tree_key  # noqa: E402
from assay_examples.commands import CommandError  # noqa: E402
from assay_examples.direct import direct_runs  # noqa: E402
from assay_examples.images import Example, Workshop  # noqa: E402
from assay_examples.oracle import DirectRun, Judgement, judgement_of, judgement_of_whole  # noqa: E402
from assay_examples.recipes import Expectation, RecipeError, load_recipes  # noqa: E402

IMAGE_UNAVAILABLE = Judgement(verdict="Invalid", reason="ImageUnavailable")


def say(text: str) -> None:
    print(f"direct: {text}", file=sys.stderr, flush=True)


def judged(example: Example, *, scratch: Path) -> tuple[Judgement, list[DirectRun]]:
    """The example's direct runs and what they say; a task without an image has no runs."""
    if example.image is None:
        return IMAGE_UNAVAILABLE, []
    runs = list(direct_runs(example, scratch=scratch))
    return judgement_of(example.recipe, runs), runs


def document_of(example: Example, judgement: Judgement, runs: list[DirectRun]) -> dict[str, object]:
    """What is written for an example: lists whole, flaky and unstable with their counts, the runs in short."""
    new, whole = judgement.new_targets, judgement_of_whole(example.recipe, runs)
    return {
        "name": example.recipe.name,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "failToPass": list(judgement.fail_to_pass),
        "passToPass": list(judgement.pass_to_pass),
        "flaky": {
            name: {state: list(seen) for state, seen in vector.items()} for name, vector in judgement.flaky.items()
        },
        "unstable": list(judgement.unstable),
        "excluded": list(judgement.excluded),
        "newTargets": None if new is None else list(new),
        "counts": {
            "failToPass": len(judgement.fail_to_pass),
            "passToPass": len(judgement.pass_to_pass),
            "flaky": len(judgement.flaky),
            "unstable": len(judgement.unstable),
            "excluded": len(judgement.excluded),
        },
        "runs": [{"state": run.state, "end": run.end.value, "results": len(run.results)} for run in runs],
        "wholeNames": {"failToPass": len(whole.fail_to_pass), "passToPass": len(whole.pass_to_pass)},
        "deviations": deviations(example.recipe.expected, judgement, whole),
    }


def deviations(expected: Expectation, found: Judgement, whole: Judgement) -> list[str]:
    """In which points direct execution differs from what the recipe says; its counts are about whole names."""
    pairs = {
        "verdict": (expected.verdict, found.verdict),
        "reason": (expected.reason, found.reason),
        "fail-to-pass": (expected.fail_to_pass, len(whole.fail_to_pass)),
        "pass-to-pass": (expected.pass_to_pass, len(whole.pass_to_pass)),
    }
    return [
        f"{what}: the recipe says {said}, the runs {seen}"
        for what, (said, seen) in pairs.items()
        if said != seen and not (said is None and isinstance(seen, int))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="examples to run (default: all)")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the JSON files")
    parser.add_argument("--only", default="", help="names separated by commas, as for build.py")
    parser.add_argument(
        "--logs", type=Path, help="a folder that keeps each run's output; runs again even what is known"
    )
    options = parser.parse_args()
    for folder in filter(None, (options.out, options.logs)):
        folder.mkdir(parents=True, exist_ok=True)
    only = [*options.names, *(name for name in options.only.split(",") if name)]
    try:
        return _run(only, out=options.out, logs=options.logs)
    except (ArtefactError, CommandError, RecipeError) as error:
        say(str(error))
        return 1


def _run(only: list[str], *, out: Path, logs: Path | None) -> int:
    workshop = Workshop(HERE, cache_root(), say=say)
    with locked(cache_root()):
        examples = [workshop.example_of(recipe) for recipe in load_recipes(HERE, only=only)]
    code = content_key(tree_key(HERE / "assay_examples"), tree_key(HERE.parent / "operator/assay/domain/logs"))
    deviating = 0
    with tempfile.TemporaryDirectory(dir=cache_root(), prefix="direct-") as scratch:
        for example in examples:
            started = time.monotonic()
            kept = cache_root() / "direct" / f"{example.recipe.name}-{_key(example, code)}.json"
            if logs or not kept.exists():
                _perform(example, kept, scratch=Path(scratch), logs=logs)
            document = json.loads(kept.read_text())
            (out / f"{example.recipe.name}.json").write_text(kept.read_text())
            deviating += bool(document["deviations"])
            _report(document, seconds=time.monotonic() - started)
    return 1 if deviating else 0


def _key(example: Example, code: str) -> str:
    """Changes with everything that a direct result depends on, the text of its rules and of the parsers included."""
    digest = example.image.digest if example.image else None
    patches = [hashlib.sha256(patch).hexdigest() for patch in (example.test_patch, example.reference_patch)]
    return content_key(code, digest, patches, repr(replace(example.recipe, folder=Path())))


def _perform(example: Example, kept: Path, *, scratch: Path, logs: Path | None) -> None:
    judgement, runs = judged(example, scratch=scratch)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(document_of(example, judgement, runs), indent=1) + "\n")
    for number, run in enumerate(runs if logs else ()):
        assert logs is not None
        name = f"{example.recipe.name}-{number}-{run.state}.log"
        (logs / name).write_text(run.log, "utf-8", "surrogateescape")


def _report(document: dict[str, Any], *, seconds: float) -> None:
    counts = document["counts"]
    said = f"{document['verdict']} {document['reason'] or ''}".strip()
    say(f"{document['name']}: {said} {counts} after {seconds:.1f} s")
    for deviation in document["deviations"]:
        say(f"{document['name']}: DEVIATION {deviation}")


if __name__ == "__main__":
    sys.exit(main())
