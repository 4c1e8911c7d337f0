"""A validation with its verdict -> a row of a data set: our own form, or the one that a public harness reads.

The lists of tests are those that the runs have shown, taken whole from the verdict's report, never the declared ones.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from assay.api import v1alpha1 as api
from assay.domain.datasets.families.swe_bench import WITH_EXPECTED_FAILURES
from assay.domain.datasets.refused import RowRefusedError
from assay.domain.datasets.scripts import END_MARK, START_MARK, quoted
from assay.domain.patches import paths_of
from assay.domain.screening import statement_of
from assay.domain.task import Refusal

ROOT = "/testbed"
"""Work directory of SWE-bench's images, which its rows do not name."""
HERE_END = "EOF_114329324912"
"""What ends the test patch in SWE-bench's own scripts."""
SWE_BENCH_PARSERS = MappingProxyType({ours: theirs for theirs, ours in WITH_EXPECTED_FAILURES.items()})
SWE_BENCH_WORDS = """
    ant astroid astropy bpmn_js calypso carbon cargo chart_js cucumber django doctest eslint flask googletest
    gotest gradle_custom grommet highlightjs immutable_js jekyll jest jest_json jq karma lighthouse marked
    marshmallow matplotlib maven micropython_test minitest next openlayers p5js phpunit prismjs pvlib pydicom
    pylint pytest pytest_options pytest_v2 pyvista quarto_cli react_pdf redis requests rspec_transformed_json
    ruby_unit scikit seaborn sphinx sqlfluff sympy tap vitest xarray
"""
SWE_BENCH_KNOWN = frozenset(f"parse_log_{word}" for word in SWE_BENCH_WORDS.split())
"""Parsers that SWE-bench 5 has."""
MARKED = re.compile(
    rf"(?P<before>.*?)(?P<start>[^\n]*{START_MARK}[^\n]*)\n(?P<tests>.*)\n"
    rf"assay_code=\$\?\n(?P<end>[^\n]*{END_MARK}[^\n]*)\nexit \$assay_code\n?",
    re.DOTALL,
)
"""A command that an import made of SWE-bench's evaluation script."""


class Form(StrEnum):
    """Shape of a row."""

    ASSAY = "assay"
    SWE_BENCH = "swe-bench"
    SWE_REBENCH_V2 = "swe-rebench-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """What an export knows of one object: ``report`` is the verdict's document, empty where nothing ran."""

    found: api.TaskValidation
    task: api.Task
    report: Mapping[str, Any]


def row_of_validation(said: Validated, form: Form) -> dict[str, Any] | Refusal:
    """Return the row of a validation; a refusal names the column of which the form has no way to say it."""
    try:
        return dict(FORMS[form](said))
    except RowRefusedError as refused:
        return Refusal(field=refused.field, why=refused.why)


def _assay(said: Validated) -> Mapping[str, Any]:
    task, spec, status = said.task, said.found.spec, said.found.status
    came = spec.provenance or api.Provenance()
    patch, test_patch = patch_of(task.patch, task.patch_base64), patch_of(task.test_patch, task.test_patch_base64)
    return {
        "instance_id": task.id,
        "repo": task.repo,
        "base_commit": task.base_commit,
        "language": task.language,
        "image": task.image,
        "image_digest": status.image.digest,
        "platform": status.image.platform,
        "workdir": task.workdir,
        "problem_statement": statement_of(task.statement, said.found.spec.statement_review),
        "interface": task.interface,
        "patch": _text_or_nothing(patch),
        "test_patch": _text_or_nothing(test_patch),
        "patch_base64": _base64_of_bytes(patch),
        "test_patch_base64": _base64_of_bytes(test_patch),
        "test_commands": list(task.tests.commands),
        "log_parser": parser_of(said),
        "FAIL_TO_PASS": _names(said, "failToPass"),
        "PASS_TO_PASS": _names(said, "passToPass"),
        "flaky": _reasons(said, "flaky"),
        "unstable": _names(said, "unstable"),
        "excluded": _reasons(said, "excluded"),
        "new_targets": said.report.get("newTargets"),
        "profile": (status.regrade.profile if status.regrade else "") or spec.profile,
        "verdict": str(status.verdict or ""),
        "reason": status.reason,
        "message": status.message,
        "split": spec.split or "",
        "statement_review": _review(spec.statement_review),
        "runs": len(status.runs),
        "dataset": came.dataset,
        "dataset_revision": came.revision,
        "dataset_family": came.family,
        "dataset_row": came.row,
        "row_sha256": came.row_digest,
        "report_sha256": status.report.sha256 if status.report else "",
        "object": f"{said.found.metadata.namespace}/{said.found.metadata.name}",
    }


def _swe_bench(said: Validated) -> Mapping[str, Any]:
    """A row of version 5, which says everything itself; its script does what Assay's own runs do."""
    task = said.task
    test_patch = _text("test_patch", patch_of(task.test_patch, task.test_patch_base64))
    read_by = parser_of(said)
    parser = SWE_BENCH_PARSERS.get(read_by, read_by)
    if parser not in SWE_BENCH_KNOWN:
        raise RowRefusedError("log_parser", f"is {parser}, which SWE-bench does not have")
    return _common(said) | {
        "FAIL_TO_PASS": json.dumps(_names(said, "failToPass")),
        "PASS_TO_PASS": json.dumps(_names(said, "passToPass")),
        "version": "",
        "environment_setup_commit": task.base_commit,
        "hints_text": "",
        "language": task.language,
        "image": task.image,
        "image_digest": said.found.status.image.digest,
        "eval_script": evaluation_script(task, test_patch),
        "log_parser": parser,
        "eval_type": "pass_and_fail",
    }


def _swe_rebench_v2(said: Validated) -> Mapping[str, Any]:
    task = said.task
    root = f"/{task.repo.rpartition('/')[2]}"
    if task.workdir != root:
        raise RowRefusedError("workdir", f"is {task.workdir or 'not said'}; that form's harness works in {root}")
    return _common(said) | {
        "FAIL_TO_PASS": _names(said, "failToPass"),
        "PASS_TO_PASS": _names(said, "passToPass"),
        "interface": task.interface,
        "language": task.language,
        "image_name": task.image,
        "image_digest": said.found.status.image.digest,
        "install_config": {
            "install": [],
            "test_cmd": list(task.tests.commands),
            "log_parser": parser_of(said),
        },
    }


FORMS: Mapping[Form, Callable[[Validated], Mapping[str, Any]]] = MappingProxyType(
    {Form.ASSAY: _assay, Form.SWE_BENCH: _swe_bench, Form.SWE_REBENCH_V2: _swe_rebench_v2}
)


def _common(said: Validated) -> dict[str, Any]:
    task = said.task
    return {
        "instance_id": task.id,
        "repo": task.repo,
        "base_commit": task.base_commit,
        "patch": _text("patch", patch_of(task.patch, task.patch_base64)),
        "test_patch": _text("test_patch", patch_of(task.test_patch, task.test_patch_base64)),
        "problem_statement": statement_of(task.statement, said.found.spec.statement_review),
    }


def evaluation_script(task: api.Task, test_patch: str) -> str:
    """Return the script that SWE-bench's harness runs in the task's image, with the marks that it looks for."""
    marked = MARKED.fullmatch(task.tests.commands[0]) if len(task.tests.commands) == 1 else None
    if marked:
        before, tests = marked["before"].splitlines(), [marked["start"], marked["tests"], marked["end"]]
    else:
        before = ["#!/bin/bash", "set -uxo pipefail", f"cd {quoted([task.workdir or ROOT])}"]
        tests = [f": '{START_MARK}'", *task.tests.commands, f": '{END_MARK}'"]
    files = [path.decode("utf-8", "surrogateescape") for path in paths_of(test_patch.encode())]
    restore = (
        [f"git checkout {task.base_commit} {quoted([file])} || true" for file in files] if task.base_commit else []
    )
    apply = [f"git apply -v - <<'{HERE_END}'", test_patch.removesuffix("\n"), HERE_END] if test_patch.strip() else []
    return "\n".join([*before, *restore, *apply, *tests, *restore]) + "\n"


def parser_of(said: Validated) -> str:
    """Return the parser that read the lists."""
    regrade = said.found.status.regrade
    return (regrade.parser if regrade else "") or said.task.tests.parser


def patch_of(text: str | None, encoded: str | None) -> bytes:
    """Return a patch's bytes from the two fields of which a task has one."""
    return base64.b64decode(encoded) if encoded else (text or "").encode("utf-8", "surrogateescape")


def _text(column: str, patch: bytes) -> str:
    try:
        return patch.decode()
    except UnicodeDecodeError as error:
        raise RowRefusedError(column, f"is not UTF-8, and this form holds text: {error}") from error


def _text_or_nothing(patch: bytes) -> str:
    try:
        return patch.decode()
    except UnicodeDecodeError:
        return ""


def _base64_of_bytes(patch: bytes) -> str:
    """Return a patch in base64 if it is no text, else nothing."""
    return "" if _text_or_nothing(patch) or not patch else base64.b64encode(patch).decode("ascii")


def _review(review: api.StatementReview | None) -> str:
    """Return a review as JSON, empty without one; its text is the row's statement already."""
    if review is None:
        return ""
    said = review.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"statement"})
    return json.dumps(said, sort_keys=True)


def _names(said: Validated, key: str) -> list[str]:
    return list(said.report.get(key) or ())


def _reasons(said: Validated, key: str) -> list[dict[str, str]]:
    """Tests with their evidence, as a list, since names are no columns."""
    return [{"name": name, "why": why} for name, why in dict(said.report.get(key) or {}).items()]
