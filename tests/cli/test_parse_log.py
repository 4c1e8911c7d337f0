"""The commands that parse logs and list dialects."""

import json

import pytest
import typer
from typer.testing import CliRunner

from assay.cli import parse_log, parsers


@pytest.fixture
def app():
    application = typer.Typer()
    parse_log.register(application)
    parsers.register(application)
    return application


def run(app, *arguments, stdin=None):
    return CliRunner().invoke(app, arguments, input=stdin)


def test_files_are_read_in_order_and_standard_error_last(app, tmp_path):
    (tmp_path / "a").write_text("PASSED t::a\nPASSED t::b\n")
    (tmp_path / "b").write_text("FAILED t::b - x\n")
    (tmp_path / "err").write_text("ERROR t::a\n")
    done = run(
        app,
        "parse-log",
        "parse_log_pytest",
        str(tmp_path / "a"),
        str(tmp_path / "b"),
        "--stderr",
        str(tmp_path / "err"),
    )
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"t::a": "ERROR", "t::b": "FAILED"})


def test_bytes_that_are_no_utf8_survive_the_json(app):
    log = "PASSED t::é".encode() + b"\xff\n"
    done = run(app, "parse-log", "parse_log_pytest", stdin=log)
    (name,) = json.loads(done.stdout_bytes)
    assert name.encode("utf-8", "surrogateescape") == "t::é".encode() + b"\xff"


def test_standard_input_comes_before_the_file_of_standard_error(app, tmp_path):
    (tmp_path / "err").write_bytes(b"ERROR t::a\n")
    done = run(app, "parse-log", "parse_log_pytest", "--stderr", str(tmp_path / "err"), stdin=b"PASSED t::a\n")
    assert json.loads(done.stdout) == {"t::a": "ERROR"}


def test_json_is_sorted_and_leaves_letters_as_they_are(app):
    done = run(app, "parse-log", "parse_log_jq", stdin="PASS: ü\nPASS: a\nFAIL: \x00\n".encode())
    assert done.stdout == '{\n  "\\u0000": "FAILED",\n  "a": "PASSED",\n  "ü": "PASSED"\n}\n'


def test_logs_that_are_too_large_together_are_refused_before_they_are_read_whole(app, tmp_path, monkeypatch):
    monkeypatch.setattr(parse_log, "MAX_LOG_CHARS", 20)
    (tmp_path / "a").write_bytes(b"PASSED t::a\n")
    assert run(app, "parse-log", "parse_log_pytest", str(tmp_path / "a")).exit_code == 0
    for options in ([str(tmp_path / "a")], ["--stderr", str(tmp_path / "a")], ["--stderr", "/dev/zero"]):
        done = run(app, "parse-log", "parse_log_pytest", str(tmp_path / "a"), *options)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "more than 20 bytes" in done.stderr


def test_a_table_shows_no_control_characters(app):
    done = run(app, "parse-log", "parse_log_jq", "--format", "table", stdin=b"PASS: a\x1b[31m\nFAIL: b\n")
    assert done.stdout == "PASSED  a\\x1b[31m\nFAILED  b\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (("parse_log_pytst",), "", 2, "parse_log_pytest"),
        (("parse_log_pytest", "/nonexistent/log"), "", 2, "nonexistent"),
        (("parse_log_seaborn",), "FAILED\n", 1, "no second word"),
    ],
)
def test_refusals_say_why(app, arguments, stdin, code, message):
    done = run(app, "parse-log", *arguments, stdin=stdin)
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stdout == ""


def test_the_table_lists_every_dialect(app):
    done = run(app, "parsers", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["parse_lua_nvim"]["aliasOf"] == "parse_lue_nvim"
    assert rows["parse_log_gotest"]["family"] == "marked"
    assert "parse_log_gotest" in run(app, "parsers").stdout
