"""Write ``crds/*.yaml``, their copies in the chart and ``docs/api.md`` from the models, or say with ``--check`` that they are out of date.

    python -m assay.api.generate [--check] [ROOT]

Exit status 1: a file differs from what the models say (``--check`` only).
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import yaml

from assay.api.reference import reference_of
from assay.api.schema import PRESENTATIONS, crd_of

HEADER = (
    "# Generated from the models of operator/assay/api by `python -m assay.api.generate`; edit the models instead.\n"
)


def generated_files() -> Mapping[str, str]:
    """Return every generated file: its path below the repository's root -> its text."""
    definitions = [crd_of(model) for model in PRESENTATIONS]
    crds = {_path_of(definition): HEADER + _yaml(definition) for definition in definitions}
    charts = {f"charts/assay/{path}": text for path, text in crds.items()}
    return {**crds, **charts, "docs/api.md": reference_of(definitions)}


def stale_files(root: Path) -> list[str]:
    """Return the paths whose text in ``root`` is not what the models say."""
    return [
        path
        for path, text in generated_files().items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]


def write_files(root: Path) -> list[str]:
    """Write what is stale and return its paths."""
    stale = stale_files(root)
    for path in stale:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(generated_files()[path], encoding="utf-8")
    return stale


def _path_of(definition: Mapping[str, object]) -> str:
    spec = definition["spec"]
    assert isinstance(spec, dict)
    return f"crds/{spec['group']}_{spec['names']['plural']}.yaml"


def _yaml(definition: Mapping[str, object]) -> str:
    return yaml.safe_dump(dict(definition), sort_keys=False, allow_unicode=True, width=120)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m assay.api.generate", description="Write crds/ and docs/api.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    parser.add_argument("root", nargs="?", type=Path, default=Path(), help="the repository (default: here)")
    options = parser.parse_args()
    stale = stale_files(options.root) if options.check else write_files(options.root)
    if options.check and stale:
        raise SystemExit(f"out of date, run `python -m assay.api.generate`: {', '.join(stale)}")


if __name__ == "__main__":
    main()
