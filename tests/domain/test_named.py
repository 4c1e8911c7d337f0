"""Which files test commands name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.domain.named import NamedPaths


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("./run_tests.sh", "run_tests.sh"),
        ("bash ./ci/../scripts/test.sh --fast", "scripts/test.sh"),
        ("mvn -q test && cat target/surefire-reports/TEST-A.xml", "target/surefire-reports/TEST-A.xml"),
        ("mvn -q test; cat target/surefire-reports/*.xml", "target/surefire-reports/TEST-B.xml"),
        ("cargo test;find . -name 'TEST-*.xml' -exec cat {} \\;", "deep/in/it/TEST-C.xml"),
        ("pytest --junitxml=out/report.xml; cat out/report.xml", "out/report.xml"),
        ("cd server && ./check.sh", "server/check.sh"),
        ("pytest checks/all.py::TestAll::test_one", "checks/all.py"),
        ("(sh t.sh)>log.txt", "t.sh"),
        ("echo 'it is odd && sh t.sh", "t.sh"),
        (".ci/run", ".ci/run"),
    ],
)
def test_a_file_that_a_command_names_is_known(command: str, path: str) -> None:
    assert NamedPaths([command]).holds(path)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("go test ./...", "pkg/mux.go"),
        ("pytest src", "src/m.py"),
        ("pytest src/*", "src/m.py"),
        ("gofmt -l *.go && cat *", "mux.go"),
        ("pip install -e . && cat ../out.xml", "m.py"),
        ("cat /tmp/report.xml", "tmp/report.xml"),
        ("cat target/surefire-reports/*.xml", "src/main/resources/beans.xml"),
        ("pytest -rA", "a/-rA"),
    ],
)
def test_a_file_that_no_command_names_is_free(command: str, path: str) -> None:
    assert not NamedPaths([command]).holds(path)


@given(st.text(max_size=80), st.text(max_size=20))
def test_no_command_breaks_the_reader(command: str, path: str) -> None:
    NamedPaths([command]).holds(path)
