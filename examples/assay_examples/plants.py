"""Solutions planted in images: what the checks of a TaskValidation have to find.

The solution is the base with both patches applied; a plant is the tree of one more layer that holds it somewhere.
"""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from assay_examples.layers import SITE
from assay_examples.patches import tag_solution, write_solution
from assay_examples.recipes import Plant, Upstream
from assay_examples.sandbox import IMAGE_ENVIRONMENT

TAG = "v2.0.0"


def plant(kind: Plant, base: Path, patches: Sequence[bytes], *, upstream: Upstream | None, into: Path) -> None:
    """Write the planted layer's tree; `base` is the task's repository, whose place in the image is its folder's name."""
    with tempfile.TemporaryDirectory(dir=into.parent) as temporary:
        copy, solved = Path(temporary) / "copy", Path(temporary) / "solved"
        shutil.copytree(base, copy, symlinks=True)
        match kind:
            case Plant.TAG:
                tag_solution(copy, patches, TAG)
                (copy / ".git" / "solved").unlink()
                _copy_new(copy, base, into / base.name)
            case Plant.RELEASE:
                write_solution(copy, patches, solved)
                for package in (path.parent for path in solved.glob("*/__init__.py")):
                    shutil.copytree(package, into / SITE / package.name)
            case Plant.MODULE_CACHE:
                assert upstream is not None, "a module has a path"
                write_solution(copy, patches, into / _place_of_module(upstream))
            case _:
                assert_never(kind)


def _copy_new(changed: Path, old: Path, into: Path) -> None:
    """Copy the files that a folder has beside those of its old state."""
    for path in changed.rglob("*"):
        relative = path.relative_to(changed)
        if path.is_file() and not (old / relative).exists():
            (into / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, into / relative)


def _place_of_module(upstream: Upstream) -> str:
    """Where the go command keeps the newer release, capital letters written as it writes them."""
    escaped = re.sub("[A-Z]", lambda match: f"!{match[0].lower()}", upstream.package)
    return f"{IMAGE_ENVIRONMENT['GOMODCACHE'].lstrip('/')}/{escaped}@{upstream.after.version}"
