"""Multi-SWE-bench: pull requests with tests by transition; commands and parsers are code of its harness, not of a row."""

from __future__ import annotations

from assay.domain.datasets import images
from assay.domain.datasets.coercions import Row, names, once, patch, required, struct, text
from assay.domain.datasets.family import Draft, Family
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.datasets.scripts import files_for_runner

FIXED = ("f2p_tests", "s2p_tests", "n2p_tests")
"""Failed, skipped or absent before, passed after: all of them are target tests."""


def draft_of(row: Row) -> Draft:
    """Return the draft of a row; commands and parser come from the user's recipe."""
    org, repo = required(row, "org"), required(row, "repo")
    number = required(row, "number")
    if not number.isdecimal():
        raise RowRefusedError("number", f"{number[:40]!r} is not a pull request's number")
    changed = patch(row, "test_patch")
    return Draft(
        id=text(row, "instance_id") or f"{org}__{repo}-{number}",
        repo=f"{org}/{repo}",
        base_commit=_base(row),
        language=text(row, "lang").lower(),
        image=images.multi_swe_bench(org, repo, number),
        usual_workdir=f"/home/{repo}",
        statement=_statement(row),
        patch=patch(row, "fix_patch"),
        test_patch=changed,
        fail_to_pass=names(row, "FAIL_TO_PASS") or once(name for column in FIXED for name in names(row, column)),
        pass_to_pass=once(names(row, "PASS_TO_PASS", "p2p_tests")),
        test_files=files_for_runner(changed),
        columns={
            "patch": "fix_patch",
            "tests.failToPass": "f2p_tests",
            "tests.passToPass": "p2p_tests",
            "baseCommit": "base",
        },
    )


def _base(row: Row) -> str:
    commit = text(struct(row, "base"), "sha").lower()
    if not commit:
        raise RowRefusedError("base", "holds no sha")
    return commit


def _statement(row: Row) -> str:
    """Return the issues that the pull request resolves; its own text would tell the solution."""
    issues = row.get("resolved_issues")
    if isinstance(issues, dict):  # a columnar copy
        titles, bodies = issues.get("title") or [], issues.get("body") or []
        issues = [{"title": title, "body": body} for title, body in zip(titles, bodies, strict=False)]
    if not isinstance(issues, list):
        return ""
    told = [f"{text(issue, 'title')}\n\n{text(issue, 'body')}".strip() for issue in issues if isinstance(issue, dict)]
    return "\n\n".join(told)


FAMILY = Family(
    name="multi-swe-bench",
    title="Multi-SWE-bench (and mini, flash, RL)",
    signature=frozenset({"org", "repo", "number", "base", "fix_patch", "test_patch"}),
    columns=(
        "org", "repo", "number", "instance_id", "base", "lang", "resolved_issues", "fix_patch", "test_patch",
        *FIXED, "p2p_tests", "FAIL_TO_PASS", "PASS_TO_PASS",
    ),
    profile="strict",
    draft_of=draft_of,
)  # fmt: skip
