"""Coverage-guided fuzzing of request targets: the gateway's parser beside a second reading of the grammar.

    PYTHONPATH=operator:tests python tests/goproxy/fuzz_targets.py [options of libFuzzer] [corpus]

Ends with a traceback and the input at the first target that the two judge differently.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["assay.domain", "goproxy"]):
    from assay.domain.goproxy.targets import Refusal, parse_target, render, split_token
    from goproxy.second_reading import PIECES, SEEDS, second_reading

TOKEN = "a-token-of-fuzzing"


def judge(data: bytes) -> None:
    """Compare the two on one target; raise where they differ."""
    target = data.decode("latin-1")
    split = split_token(f"/t/{TOKEN}/{target}")
    request = split if isinstance(split, Refusal) else parse_target(split[1])
    expected = second_reading(f"/{target}")
    if isinstance(request, Refusal):
        if expected is not None or request.status not in {400, 404}:
            raise AssertionError(f"refused: {target!r} is {expected}")
    elif expected != (request.kind, request.module, request.version):
        raise AssertionError(f"read as {request}: {target!r} is {expected}")
    elif parse_target(f"/{render(request)}") != request:
        raise AssertionError(f"rendered differently: {target!r} as {render(request)}")


def main() -> None:
    """Start from one target of each route and a dictionary of odd pieces."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        corpus.mkdir()
        for number, seed in enumerate(SEEDS):
            (corpus / str(number)).write_text(seed.removeprefix("/"))
        words.write_text("".join(f'"{piece}"\n' for piece in PIECES))
        atheris.Setup([sys.argv[0], f"-dict={words}", "-max_len=200", *sys.argv[1:], str(corpus)], judge)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
