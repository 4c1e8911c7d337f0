"""Made data sets, one a family: our own content in the shape that the family publishes, with every quirk of its rows.

``MADE[family]`` has at least thirty rows.  Each row knows the column that it must be refused for, or None.  The first
rows are good and differ in their encodings; the last ones are each bad in one way.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

GOOD = 22
RECIPES = {"*": {"commands": ["./run-tests {test_files}"], "parser": "parse_log_pytest_v2"}}
"""What a user says about families whose rows name neither command nor parser."""
PARSER_SOURCE = "def parser(log):\n    import os\n    return {line: 'pass' for line in log.splitlines()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRow:
    """A row and the column that it is refused for; None: it is a task."""

    values: Mapping[str, Any]
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSet:
    """The rows of one family; ``recipes`` are needed for those that say too little."""

    family: str
    rows: tuple[MadeRow, ...]
    recipes: Mapping[str, Any]


def commit(number: int) -> str:
    """A commit's hash."""
    return f"{number:02x}" * 20


def diff(path: str, old: str, new: str) -> str:
    """A git diff of one line."""
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n def f():\n-{old}\n+{new}\n"


def reference(number: int) -> str:
    """A reference patch; some have CRLF line ends, some are not ASCII."""
    text = diff("lantern/m.py", "    return 1", f"    return {number} # Größe ✓" if number % 5 == 0 else "    return 2")
    return text.replace("return 1\n", "return 1\r\n").replace("return 2\n", "return 2\r\n") if number % 7 == 3 else text


def added_test(number: int) -> str:
    """A test patch that adds a file only."""
    path = f"tests/test_{number}.py"
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        "@@ -0,0 +1,2 @@\n+def test_f():\n+    assert f() == 2\n"
        "diff --git a/tests/data.json b/tests/data.json\nnew file mode 100644\n--- /dev/null\n+++ b/tests/data.json\n"
        "@@ -0,0 +1 @@\n+{}\n"
    )


def targets(number: int) -> list[str]:
    """Target tests with what names may hold: blanks, quotes, colours, timings, other scripts."""
    odd = (
        f"tests/test_{number}.py::test_f[a b]",
        f"tests/test_{number}.py::test_f[it's]",
        f'tests/test_{number}.py::test_f["]',
        f" leading and trailing {number} ",
        f"\x1b[32mgreen {number}\x1b[0m",
        f"suite » works ({number} ms)",
        f"prüft größe {number} ✓",
        f"tests/test_{number}.py::test_f[log(photon",
    )
    return [f"tests/test_{number}.py::test_f", odd[number % len(odd)]]


def kept(number: int) -> list[str]:
    """Pass-to-pass tests, one of them listed twice in some rows."""
    names = [f"tests/test_old.py::test_{place}" for place in range(3)]
    return [*names, names[0]] if number % 4 == 0 else names


def written(number: int, names: list[str]) -> Any:
    """A list of names in one of the encodings that published rows have."""
    forms: tuple[Callable[[list[str]], Any], ...] = (
        json.dumps,
        list,
        repr,
        lambda listed: dict.fromkeys(listed, "PASS"),
    )
    return forms[number % len(forms)](names)


def moment(number: int) -> Any:
    """A time in one of the encodings that published rows have."""
    at = datetime(2021, 3, 1 + number % 28, 12, tzinfo=UTC)
    return (at.isoformat(), at.strftime("%Y-%m-%dT%H:%M:%SZ"), int(at.timestamp()), int(at.timestamp() * 1000))[
        number % 4
    ]


def swe_bench_row(number: int) -> dict[str, Any]:
    """Version 4: a repository of the table, no image, lists as JSON text; every third is of version 5."""
    repo = ("pytest-dev/pytest", "django/django", "sympy/sympy", "astropy/astropy")[number % 4]
    row: dict[str, Any] = {
        "instance_id": f"{repo.replace('/', '__')}-{1000 + number}",
        "repo": repo,
        "base_commit": commit(number),
        "environment_setup_commit": commit(200),
        "version": ("7.0", "1.9", "1.12", "1.3")[number % 4],
        "patch": reference(number),
        "test_patch": added_test(number),
        "problem_statement": "" if number == 6 else f"f() returns the wrong number ({number}).\r\nFix it. 修正",
        "hints_text": "",
        "created_at": moment(number),
        "FAIL_TO_PASS": written(number, targets(number)),
        "PASS_TO_PASS": "" if number == 9 else written(number + 1, kept(number)),
        "difficulty": "<15 min fix",
    }
    if number % 3 == 0:
        row |= {
            "repo": f"Acorn/Lantern-{number}",
            "instance_id": f"Acorn__Lantern-{number}",
            "image": f"registry.test/acorn/lantern:{number}",
            "log_parser": "parse_log_pytest",
            "eval_type": "pass_and_fail",
            "eval_script": eval_script(commit(number), added_test(number)),
        }
    return row


def eval_script(base: str, test_patch: str) -> str:
    """A script as version 5 carries it: it puts test files back, applies the test patch, marks the tests."""
    return "\n".join(
        [
            "#!/bin/bash",
            "set -uxo pipefail",
            "source /opt/miniconda3/bin/activate",
            "cd /testbed",
            f"git checkout {base} tests/test_m.py",
            "git apply -v - <<'EOF_1'",
            test_patch,
            "EOF_1",
            ": '>>>>> Start Test Output'",
            "pytest -rA tests",
            ": '>>>>> End Test Output'",
            f"git checkout {base} tests/test_m.py",
            "",
        ]
    )


def swe_rebench_row(number: int) -> dict[str, Any]:
    """First version: lists as lists, ``install_config`` as a struct or as JSON text."""
    config = {
        "python": "3.9",
        "install": "pip install -e .",
        "test_cmd": "pytest -rA",
        "log_parser": "parse_log_pytest",
    }
    row = swe_bench_row(number * 3 + 1) | {"instance_id": f"acorn__lantern-{number}", "repo": "acorn/lantern"}
    del row["difficulty"]
    return row | {
        "FAIL_TO_PASS": targets(number),
        "PASS_TO_PASS": kept(number),
        "install_config": json.dumps(config) if number % 2 else config,
        "meta": {"has_pytest": True},
        "docker_image": f"registry.test/rebench/acorn_lantern:{number}",
    }


def swe_rebench_v2_row(number: int) -> dict[str, Any]:
    """Second version: lower-case id, commands as text, list or chain, labels joined by bars, structs as JSON text."""
    command: Any = (
        "go test -v ./...",
        ["go test -v ./... > out.txt", "cat out.txt"],
        ["cd src && go test -v ./... > out.txt && cat out.txt"],
        '["go test -v ./..."]',
    )[number % 4]
    config = {
        "install": ["go build ./..."],
        "test_cmd": command,
        "base_image_name": "go_1.22",
        "docker_specs": {"go": "1.22"},
    }
    config["log_parser" if number % 3 else "log_parsers"] = "parse_log_gotest"
    labels = {"code": ("A", "A|B5", "B2", "a")[number % 4], "difficulty": "easy", "confidence": 0.9}
    meta = {"llm_metadata": [labels] if number % 5 == 0 else labels, "num_modified_files": 1}
    image = f"swerebenchv2/acorn-lantern:{number}-{commit(number)[:7]}"
    return {
        "instance_id": f"acorn__lantern-{number}",
        "repo": "Acorn/Lantern",
        "base_commit": commit(number),
        "created_at": 1_600_000_000_000 + number,
        "patch": reference(number),
        "test_patch": added_test(number),
        "problem_statement": f"Wrong number {number}",
        "pr_description": "",
        "interface": "" if number % 2 else "f() -> int in lantern/m.py",
        "FAIL_TO_PASS": targets(number),
        "PASS_TO_PASS": kept(number),
        "install_config": json.dumps(config) if number % 2 else config,
        "image_name": f"prime/primeintellect/{image.partition('/')[2]}" if number % 6 == 1 else f"docker.io/{image}",
        "language": "go",
        "meta": json.dumps(meta) if number % 3 == 0 else meta,
    }


def swe_bench_live_row(number: int) -> dict[str, Any]:
    """Commands in three lists, the parser is the word pytest or a name, sometimes under its other column."""
    return {
        "repo": "acorn/lantern",
        "pull_number": str(number),
        "instance_id": f"acorn__lantern-{number}",
        "issue_numbers": ["1"],
        "base_commit": commit(number),
        "patch": reference(number),
        "test_patch": added_test(number),
        "problem_statement": "Wrong number",
        "hints_text": "",
        "all_hints_text": "",
        "commit_urls": [],
        "created_at": moment(number),
        "rebuild_cmds": [] if number % 2 else ["pip install -e . --no-deps"],
        "test_cmds": ["pytest -rA > log.txt"],
        "print_cmds": ["cat log.txt"] if number % 3 else [],
        "log_parser" if number % 4 else "parser": "pytest" if number % 5 else "parse_log_pytest_v2",
        "FAIL_TO_PASS": targets(number),
        "PASS_TO_PASS": kept(number),
        "docker_image": "" if number % 7 == 0 else f"starryzhang/sweb.eval.x86_64.acorn_1776_lantern-{number}",
    }


def states(names: list[str]) -> dict[str, Any]:
    """Tests by transition, as Multi-SWE-bench keeps them."""
    return {name: {"run": "NONE", "test": "FAIL", "fix": "PASS"} for name in names}


def columnar(names: list[str]) -> dict[str, Any]:
    """The same as columns, as the copies on the hub keep them."""
    count = len(names)
    return {"name": names, "run": ["NONE"] * count, "test": ["FAIL"] * count, "fix": ["PASS"] * count}


def multi_swe_bench_row(number: int) -> dict[str, Any]:
    """Pull requests: organisation and name apart, a number that is sometimes text, tests by transition."""
    form = columnar if number % 2 else states
    return {
        "org": "Acorn",
        "repo": "Lantern",
        "number": str(number) if number % 3 == 0 else number,
        "state": "closed",
        "title": "Return two",
        "body": "",
        "base": {"label": "acorn:main", "ref": "main", "sha": commit(number)},
        "resolved_issues": [{"number": 1, "title": "Wrong number", "body": "f() returns 1"}],
        "fix_patch": reference(number),
        "test_patch": added_test(number),
        "f2p_tests": form(targets(number)[:1]),
        "s2p_tests": form([]),
        "n2p_tests": form(targets(number)[1:]),
        "p2p_tests": form(sorted(set(kept(number)))),
        "fixed_tests": form(targets(number)),
        "lang": "Go",
    }


def swe_bench_pro_row(number: int) -> dict[str, Any]:
    """Long ids with upper case, lists as Python literals."""
    tag = f"acorn.lantern-Acorn__Lantern-{commit(number)}"
    return {
        "repo": "Acorn/Lantern",
        "instance_id": f"instance_Acorn__Lantern-{commit(number)}-v{commit(number + 100)}",
        "base_commit": commit(number),
        "patch": reference(number),
        "test_patch": added_test(number),
        "problem_statement": "Wrong number",
        "requirements": "" if number % 2 else "- f() returns 2",
        "interface": "",
        "repo_language": "python",
        "fail_to_pass": repr(targets(number)),
        "pass_to_pass": repr(kept(number)),
        "selected_test_files_to_run": repr([f"tests/test_{number}.py"]),
        "before_repo_set_cmd": "git clean -fd",
        "dockerhub_tag": tag,
    }


def swe_smith_row(number: int) -> dict[str, Any]:
    """The patch is the bug."""
    return {
        "instance_id": f"acorn__lantern.{commit(number)[:8]}.func__{number}",
        "repo": "swesmith/acorn__lantern",
        "patch": reference(number),
        "FAIL_TO_PASS": targets(number),
        "PASS_TO_PASS": kept(number),
        "image_name": f"swesmith.x86_64.acorn_1776_lantern.{commit(number)[:8]}",
        "problem_statement": "Wrong number",
        "created_at": moment(number),
    }


def swe_gym_row(number: int) -> dict[str, Any]:
    """SWE-bench's columns without its marks, lists as lists."""
    row = swe_bench_row(number * 3 + 1)
    for column in ("environment_setup_commit", "difficulty"):
        del row[column]
    return row | {
        "instance_id": f"getmoto__moto-{number}",
        "repo": "getmoto/moto",
        "version": "5.0",
        "FAIL_TO_PASS": targets(number),
        "PASS_TO_PASS": kept(number),
    }


def r2e_gym_row(number: int) -> dict[str, Any]:
    """Structured diffs and a whole map of outcomes, both as JSON text."""
    hunk = {
        "descriptor": {
            "old_range": {"start": 1, "length": 2},
            "new_range": {"start": 1, "length": 2},
            "section": "def f",
        },
        "line_group": {
            "all_lines": [
                {"content": "def f():", "type": "context"},
                {"content": "    return 1", "type": "deleted"},
                {"content": f"    return {number}", "type": "added"},
                *([{"content": "No newline at end of file", "type": "note"}] if number % 2 else []),
            ]
        },
    }
    diffs = [{"header": {"file": {"path": path}}, "hunks": [hunk]} for path in ("lantern/m.py", "tests/test_m.py")]
    parsed = {"file_diffs": diffs, "old_commit_hash": f"{commit(number)}^", "new_commit_hash": commit(number)}
    return {
        "repo_name": "lantern",
        "commit_hash": commit(number),
        "docker_image": f"namanjain12/lantern_final:{commit(number)}",
        "parsed_commit_content": json.dumps(parsed),
        "expected_output_json": json.dumps(dict.fromkeys(targets(number), "PASSED")),
        "relevant_files": ["lantern/m.py"],
        "problem_statement": "Wrong number",
        "execution_result_content": "{}",
    }


def nemotron_row(number: int) -> dict[str, Any]:
    """Image, command and parser under other usual names."""
    row = swe_bench_row(number * 3 + 1)
    for column in ("environment_setup_commit", "difficulty", "version"):
        del row[column]
    image = ("image", "image_name", "docker_image")[number % 3]
    return row | {
        "instance_id": f"acorn__lantern-{number}",
        "repo": "acorn/lantern",
        image: f"registry.test/acorn/lantern:{number}",
        "test_cmd" if number % 2 else "test_command": "pytest -rA",
        "log_parser" if number % 4 else "parser": "parse_log_pytest_v2",
    }


Change = tuple[dict[str, Any], str]
"""Columns that make a row bad (None removes one), and the column that it is refused for."""


def bad_patches(patch: str, listed: tuple[str, str]) -> list[Change]:
    """What may be wrong with patches and lists in every family."""
    f2p, p2p = listed
    return [
        ({patch: ""}, patch),
        ({patch: "   \n"}, patch),
        ({patch: None}, patch),
        ({patch: "please change f"}, patch),
        ({patch: diff("../etc/passwd", "a", "b")}, patch),
        ({f2p: "['unfinished"}, f2p),
        ({f2p: "__import__('os').getcwd()"}, f2p),
        ({f2p: [1, 2]}, f2p),
        ({p2p: 3.5}, p2p),
        ({f2p: ["same"], p2p: ["same"]}, p2p),
    ]


USUAL = [({"instance_id": ""}, "instance_id"), *bad_patches("patch", ("FAIL_TO_PASS", "PASS_TO_PASS"))]
BASED = [*USUAL, ({"base_commit": "main"}, "base_commit"), ({"test_patch": "no diff"}, "test_patch")]
CONFIG = {"test_cmd": "pytest -rA", "log_parser": "parse_log_pytest"}

BAD: dict[str, list[Change]] = {
    "swe-bench": [
        *BASED,
        ({"repo": "acorn/unknown", "eval_script": None, "log_parser": None}, "eval_script"),
        ({"log_parser": PARSER_SOURCE}, "log_parser"),
        ({"log_parser": "parse_log_pytset"}, "log_parser"),
        ({"eval_type": "fail_only"}, "eval_type"),
        ({"image": "Acorn/UPPER:case"}, "image"),
    ],
    "swe-rebench": [
        *BASED,
        ({"docker_image": None}, "docker_image"),
        ({"install_config": "{'test_cmd': 'pytest',"}, "install_config"),
        ({"install_config": {}}, "install_config.test_cmd"),
        ({"install_config": CONFIG | {"log_parser": "parse_log_pytset"}}, "install_config.log_parser"),
    ],
    "swe-rebench-v2": [
        *BASED,
        ({"image_name": ""}, "image_name"),
        ({"install_config": CONFIG | {"log_parser": PARSER_SOURCE}}, "install_config.log_parser"),
        ({"install_config": CONFIG | {"test_cmd": {"a": 1}}}, "install_config.test_cmd"),
        (
            {"install_config": CONFIG | {"log_parser": ["parse_log_pytest", "parse_log_cargo"]}},
            "install_config.log_parser",
        ),
    ],
    "swe-bench-live": [
        *BASED,
        ({"log_parser": PARSER_SOURCE}, "log_parser"),
        ({"test_cmds": []}, "test_cmds"),
        ({"docker_image": "starryzhang/sweb.eval.win.acorn_1776_lantern-1"}, "docker_image"),
    ],
    "multi-swe-bench": [
        *bad_patches("fix_patch", ("f2p_tests", "p2p_tests")),
        ({"number": "seven"}, "number"),
        ({"base": {"label": "main"}}, "base"),
        ({"base": {"sha": "main"}}, "base"),
        ({"org": None}, "org"),
    ],
    "swe-bench-pro": [
        *[({"instance_id": ""}, "instance_id"), *bad_patches("patch", ("fail_to_pass", "pass_to_pass"))],
        ({"dockerhub_tag": None}, "dockerhub_tag"),
        ({"dockerhub_tag": "not a tag"}, "dockerhub_tag"),
    ],
    "swe-smith": [*USUAL, ({"image_name": ""}, "image_name"), ({"patch": "GIT binary patch\nliteral 0\n"}, "patch")],
    "swe-gym": BASED,
    "r2e-gym": [
        ({"commit_hash": ""}, "commit_hash"),
        ({"docker_image": None}, "docker_image"),
        ({"parsed_commit_content": "{"}, "parsed_commit_content"),
        ({"parsed_commit_content": "{}"}, "parsed_commit_content"),
        ({"parsed_commit_content": json.dumps({"file_diffs": [{"header": {}}]})}, "parsed_commit_content"),
        ({"parsed_commit_content": json.dumps({"file_diffs": []})}, "parsed_commit_content"),
        ({"relevant_files": ["lantern/other.py"]}, "parsed_commit_content"),
        ({"repo_name": None}, "repo_name"),
    ],
    "nemotron": [
        *BASED,
        ({"image": None, "image_name": None, "docker_image": None}, "image"),
        ({"test_cmd": None, "test_command": None}, "test_cmd"),
        ({"log_parser": PARSER_SOURCE, "parser": None}, "log_parser"),
    ],
}
ROWS: dict[str, Callable[[int], dict[str, Any]]] = {
    "swe-bench": swe_bench_row,
    "swe-rebench": swe_rebench_row,
    "swe-rebench-v2": swe_rebench_v2_row,
    "swe-bench-live": swe_bench_live_row,
    "multi-swe-bench": multi_swe_bench_row,
    "swe-bench-pro": swe_bench_pro_row,
    "swe-smith": swe_smith_row,
    "swe-gym": swe_gym_row,
    "r2e-gym": r2e_gym_row,
    "nemotron": nemotron_row,
}
SAY_TOO_LITTLE = frozenset({"multi-swe-bench", "swe-bench-pro", "swe-smith", "swe-gym", "r2e-gym"})


def made_set(family: str) -> MadeSet:
    """The family's rows: good ones first, then one for each way to be bad."""
    make = ROWS[family]
    rows = [MadeRow(values=make(number)) for number in range(GOOD)]
    for place, (change, column) in enumerate(BAD[family]):
        # A number whose row says the least by itself: it is neither of version 5 nor under another column.
        values = copy.deepcopy(make(GOOD + 6 * place + 1)) | change
        rows.append(
            MadeRow(values={name: value for name, value in values.items() if value is not None}, refused=column)
        )
    return MadeSet(family=family, rows=tuple(rows), recipes=RECIPES if family in SAY_TOO_LITTLE else {})


MADE = {family: made_set(family) for family in ROWS}
