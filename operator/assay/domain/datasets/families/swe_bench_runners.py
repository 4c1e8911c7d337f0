"""How SWE-bench's own repositories run their tests, for rows that carry no script: the test step alone.

Versions follow SWE-bench 4.  Its evaluation also installs the repository again before the tests; images have it
installed in place, and a run without network could not, so that step is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.domain.datasets.scripts import CONDA, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A repository's test command before its test files, its parser, its environment, versions that differ."""

    command: str
    parser: str
    environment: tuple[str, ...] = ()
    versions: tuple[tuple[frozenset[str], str], ...] = ()


PYTEST = "pytest -rA"
DJANGO = "./tests/runtests.py --verbosity 2"
UTF8 = ("export LANG=en_US.UTF-8", "export LC_ALL=en_US.UTF-8", "export PYTHONIOENCODING=utf8")
OLD_ASTROPY = frozenset({"0.1", "0.2", "0.3", "0.4", "1.1", "1.2", "1.3"})

RUNNERS = {
    "astropy/astropy": Runner(
        command=PYTEST,
        parser="swebench_pytest_v2",
        versions=((OLD_ASTROPY, "pytest -rA -vv -o console_output_style=classic --tb=no -p no:nose"),),
    ),
    "django/django": Runner(
        command=f"{DJANGO} --settings=test_sqlite --parallel 1",
        parser="parse_log_django",
        environment=UTF8,
        versions=((frozenset({"1.9"}), DJANGO),),
    ),
    "matplotlib/matplotlib": Runner(command=PYTEST, parser="swebench_matplotlib"),
    "mwaskom/seaborn": Runner(command="pytest --no-header -rA", parser="parse_log_seaborn"),
    "pallets/flask": Runner(command=PYTEST, parser="swebench_pytest"),
    "psf/requests": Runner(command=PYTEST, parser="swebench_pytest_options"),
    "pydata/xarray": Runner(command=PYTEST, parser="swebench_pytest"),
    "pylint-dev/pylint": Runner(command=PYTEST, parser="swebench_pytest_options"),
    "pytest-dev/pytest": Runner(command=PYTEST, parser="swebench_pytest"),
    "scikit-learn/scikit-learn": Runner(command=PYTEST, parser="swebench_pytest_v2"),
    "sphinx-doc/sphinx": Runner(command="tox --current-env -epy39 -v --", parser="swebench_pytest_v2"),
    "sympy/sympy": Runner(
        command="PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose",
        parser="parse_log_sympy",
    ),
    "pylint-dev/astroid": Runner(command=PYTEST, parser="swebench_pytest"),
    "marshmallow-code/marshmallow": Runner(command=PYTEST, parser="swebench_pytest"),
    "pvlib/pvlib-python": Runner(command=PYTEST, parser="swebench_pytest"),
    "pydicom/pydicom": Runner(command=PYTEST, parser="swebench_pytest_options"),
    "pyvista/pyvista": Runner(command=PYTEST, parser="swebench_pytest"),
    "sqlfluff/sqlfluff": Runner(command=PYTEST, parser="swebench_pytest"),
}


def command_of(repo: str, version: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return a repository's test command on these files; none for a repository that is not in the table."""
    runner = RUNNERS.get(repo)
    if runner is None or not files:
        return ()
    command = next((other for versions, other in runner.versions if version in versions), runner.command)
    words = quoted([_django_label(file) for file in files] if repo == "django/django" else files)
    return ("\n".join([CONDA, *runner.environment, f"{command} {words}"]),)


def parser_of(repo: str) -> str:
    """Return a repository's parser; empty for a repository that is not in the table."""
    runner = RUNNERS.get(repo)
    return runner.parser if runner else ""


def _django_label(file: str) -> str:
    return file.removesuffix(".py").removeprefix("tests/").replace("/", ".")
