"""R2E-Gym: commits as structured diffs, graded by a whole map of outcomes, so that targets are derived by running.

The reference patch is put together from ``parsed_commit_content`` for the files that ``relevant_files`` names (all when
it names none); the image holds the parent of the commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.domain.datasets.coercions import Row, names, required, struct, text
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError

COLUMN = "parsed_commit_content"
MARKS = {"context": " ", "added": "+", "deleted": "-"}
NO_NEWLINE = "\\ No newline at end of file"


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; commands and parser come from the user's recipe."""
    name, commit = required(row, "repo_name"), required(row, "commit_hash").lower()
    content = struct(row, COLUMN)
    base = text(content, "old_commit_hash").lower()
    return Draft(
        id=text(row, "instance_id") or f"{name}-{commit}",
        repo=name,
        base_commit="" if base.endswith("^") else base,
        language="python",
        image=required(row, "docker_image"),
        usual_workdir="/testbed",
        statement=text(row, "problem_statement"),
        patch=_patch_of(content, frozenset(names(row, "relevant_files"))).encode("utf-8", "surrogatepass"),
        columns={"patch": COLUMN, "image": "docker_image"},
    )


def _patch_of(content: Mapping[str, Any], wanted: frozenset[str]) -> str:
    diffs = content.get("file_diffs")
    if not isinstance(diffs, list):
        raise RowRefusedError(COLUMN, "holds no list file_diffs")
    try:
        files = {str(diff["header"]["file"]["path"]): diff for diff in diffs}
        lost = sorted(wanted - set(files))
        if lost:
            raise RowRefusedError(COLUMN, f"holds no diff of {lost[0]!r}, which relevant_files names")
        return "".join(_file(path, diff) for path, diff in files.items() if not wanted or path in wanted)
    except (KeyError, TypeError, IndexError) as error:
        raise RowRefusedError(COLUMN, f"has a file_diffs of another shape: {type(error).__name__} {error}") from error


def _file(path: str, diff: Mapping[str, Any]) -> str:
    if diff.get("is_binary_file"):
        raise RowRefusedError(COLUMN, f"holds no content of the binary file {path!r}")
    minus, plus = (diff.get(side) or {} for side in ("minus_file", "plus_file"))
    created, deleted = minus.get("path") == "/dev/null", plus.get("path") == "/dev/null"
    head = [f"diff --git a/{path} b/{path}"]
    head += ["new file mode 100644"] if created else ["deleted file mode 100644"] if deleted else []
    if not diff["hunks"]:
        raise RowRefusedError(COLUMN, f"holds no hunk of {path!r}")
    head += ["--- /dev/null" if created else f"--- a/{path}", "+++ /dev/null" if deleted else f"+++ b/{path}"]
    return "\n".join([*head, *(line for hunk in diff["hunks"] for line in _hunk(hunk))]) + "\n"


def _hunk(hunk: Mapping[str, Any]) -> Sequence[str]:
    said = hunk["descriptor"]
    old, new = (f"{int(said[side]['start'])},{int(said[side]['length'])}" for side in ("old_range", "new_range"))
    lines = hunk["line_group"]["all_lines"]
    told = [NO_NEWLINE if line["type"] == "note" else MARKS[line["type"]] + line["content"] for line in lines]
    return [f"@@ -{old} +{new} @@", *told]


FAMILY = Family(
    name="r2e-gym",
    title="R2E-Gym",
    signature=frozenset({"repo_name", "commit_hash", "docker_image", COLUMN}),
    columns=("repo_name", "commit_hash", "instance_id", "docker_image", COLUMN, "relevant_files", "problem_statement"),
    profile="strict",
    draft_of=draft_of,
)
