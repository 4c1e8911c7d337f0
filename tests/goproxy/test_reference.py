"""The grammar against two strict readings of it: the go command's own code, and a second one written from the text."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assay.domain.gomodules import owner_of
from assay.domain.goproxy.gomod import module_paths_of_gomod
from assay.domain.goproxy.paths import escape, is_canonical_version, is_module_path, is_version_query, unescape
from assay.domain.goproxy.targets import ModuleRequest, Refusal, SumdbRequest, parse_target, render, split_token
from goproxy.gotools import HERE, ask_reference, build
from goproxy.second_reading import PIECES as ODD_PIECES
from goproxy.second_reading import SEEDS, second_reading
from goproxy.stage import T1, WIDGET, make_stage, read_answer

BOUNDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],  # no shrinking: a failure shows in seconds
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

PIECES = st.sampled_from(
    [
        "github.com",
        "golang.org/x/text",
        "gopkg.in",
        "gopkg.in/yaml.v2",
        ".v1",
        ".v0",
        ".v0-unstable",
        "-unstable",
        "/v1",
        "/v2",
        "/v02",
        "/v",
        "/v2.1",
        "con",
        "NUL",
        "com1.x",
        "a~1",
        "~",
        "a~1.b",
        ".",
        "..",
        "/",
        "//",
        "!",
        "!a",
        "!!",
        "A",
        "Widget",
        "acme",
        "widget",
        ".git",
        "www.",
        "-",
        "_",
        "+",
        "@",
        "%",
        "é",
        "\u017f",
        "\u212a",
        "\u200b",
        ":",
        ";",
        "\\",
        "~x",
        "x..y",
        "x.",
    ]
)
PATHS = st.lists(PIECES | st.text("abvXZ019.-_~!/@", max_size=4), max_size=6).map("".join)
VERSIONS = st.one_of(
    st.from_regex(r"v[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(-[0-9a-z.-]{0,8})?(\+(incompatible|meta))?", fullmatch=True),
    st.lists(st.sampled_from(["v1.2.3", "v01.2.3", "-", ".", "0.", "master", "!r!c1", "RC1", "+incompatible", "con", "/", "~1"]))
    .map("".join),
)  # fmt: skip
GOMOD = st.lists(
    st.sampled_from(
        ["module", " ", "\t", "\n", "\r\n", "(", ")", '"', "`", "//", "\\", "\ufeff", "x.dev/a", "x.dev/b", "require", "v1.0.0",
         '"x.dev/\\x61"', "module x.dev/a\n", "module (\n", "\nmodule ", "retract", "/*", "*/", ",", "=>", "\x00", "\u00a0"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(HERE / "reference/main.go", tmp_path_factory.mktemp("reference") / "build")


def _ask(reference: Path, op: str, texts: list[str]) -> list[tuple[str, dict[str, Any]]]:
    return list(zip(texts, ask_reference(reference, [(op, text) for text in texts]), strict=True))


@BOUNDED
@given(texts=st.lists(PATHS, min_size=50, max_size=120))
def test_module_paths_are_read_as_the_go_command_reads_them(reference: Path, texts: list[str]) -> None:
    for text, answer in _ask(reference, "path", texts):
        plain = unescape(text)
        mine = plain is not None and is_module_path(plain)
        assert mine == answer["ok"], text
        if mine:
            assert plain == answer["texts"][0]
            assert escape(plain) == text


@BOUNDED
@given(texts=st.lists(VERSIONS, min_size=50, max_size=120))
def test_versions_are_read_as_the_go_command_reads_them_or_not_at_all(reference: Path, texts: list[str]) -> None:
    for text, answer in _ask(reference, "version", texts):
        plain = unescape(text)
        if plain is not None and is_version_query(plain):
            assert answer["ok"], text
            assert answer["texts"] == [plain]
        elif answer["ok"]:
            assert re.fullmatch(r"[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*", answer["texts"][0]) is None, text
    for text, answer in _ask(reference, "canonical", texts):
        assert is_canonical_version(text) == answer["ok"], text


@BOUNDED
@given(texts=st.lists(GOMOD, min_size=50, max_size=120))
def test_no_module_path_that_the_go_command_finds_in_a_gomod_is_missed(reference: Path, texts: list[str]) -> None:
    for text, answer in _ask(reference, "gomod", texts):
        for path in answer["texts"] or ():
            if is_module_path(path):
                assert path in module_paths_of_gomod(text), text


@pytest.mark.parametrize("text", ["module x.dev/a\n", "module (\n\tx.dev/a\n)\n", '\ufeffmodule "x.dev/a" // c\r\n'])
def test_the_reference_reads_what_it_should(reference: Path, text: str) -> None:
    [(_, answer)] = _ask(reference, "gomod", [text.removeprefix("\ufeff")])
    assert "x.dev/a" in answer["texts"]
    assert module_paths_of_gomod(text) == ("x.dev/a",)


CUTS = st.lists(
    st.tuples(
        st.integers(0, 80),
        st.integers(0, 3),
        st.sampled_from(list("/.!@%v0129AaZ~-_+:;?#\\& ")) | st.sampled_from(ODD_PIECES),
    ),
    max_size=3,
)


@st.composite
def targets(draw: st.DrawFn) -> str:
    """A valid target after a few cuts: at a place, some characters out, a piece in; then some characters by percent."""
    text = draw(st.sampled_from(SEEDS))
    for place, length, piece in draw(CUTS):
        at = 1 + place % len(text)
        text = text[:at] + piece + text[at + length :]
    for place in draw(st.lists(st.integers(1, 80), max_size=2)):
        at = place % len(text) or 1
        if at < len(text) and text[at] not in "/%":
            text = text[:at] + f"%{ord(text[at]):02x}" + text[at + 1 :]
    return text


@settings(BOUNDED, max_examples=2000)
@given(target=targets())
def test_no_target_is_judged_differently_by_a_second_reading(target: str) -> None:
    split = split_token(f"/t/{T1}{target}")
    request = split if isinstance(split, Refusal) else parse_target(split[1])
    expected = second_reading(target)
    if isinstance(request, Refusal):
        assert expected is None
        assert request.status in {400, 404}
        return
    assert expected == (request.kind, request.module, request.version)
    assert parse_target(f"/{render(request)}") == request
    assert re.fullmatch(r"[a-z0-9._~!+@/-]+", render(request))


def _spelled(text: str, choices: list[int]) -> str:
    """Spell each character of an unescaped path in one of the ways that decode to it or to its other case."""
    spelled = []
    for place, character in enumerate(text):
        way = choices[place % len(choices)]
        bang = (
            f"!{character.lower()}"
            if character.isalpha() and character != "v" and way % 3 == 1 and place > 20
            else character.lower()
        )
        spelled.append("".join(f"%{ord(c):02x}" if way % 2 and c != "/" else c for c in bang))
    return "".join(spelled)


OWNED = [
    "github.com/acme/widget",
    "www.github.com/acme/widget.git",
    "gopkg.in/acme/widget.v1",
    "github.com/acme-labs/widget-go/v7",
    "go.acme.dev/widget/v2/x",
    "github.com/newco/gadget",
    "gitlab.com/someone/widget",
]
TAILS = ["/@v/list", "/@latest", "/@v/main.info", "/@v/v1.0.0.mod", "/@v/v1.0.0.zip"]


@settings(BOUNDED, max_examples=10)
@given(
    cases=st.lists(
        st.tuples(st.sampled_from(OWNED), st.sampled_from(TAILS), st.lists(st.integers(0, 5), min_size=1, max_size=9)),
        min_size=10,
        max_size=30,
    ),
    others=st.lists(targets(), min_size=10, max_size=30),
)
def test_a_running_gateway_forwards_nothing_owned_and_only_what_it_rendered_itself(
    cases: list[tuple[str, str, list[int]]], others: list[str]
) -> None:
    asyncio.run(_fuzz_gateway([_spelled(module, ways) + tail for module, tail, ways in cases], others))


async def _fuzz_gateway(owned: list[str], others: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with make_stage(Path(directory), generous=True) as stage:
            for target in owned:
                answer = await stage.ask(f"/{target}")
                assert answer.status == 403, target
            assert stage.upstream.heads == []
            for target in others:
                if " " in target:
                    continue
                await _compare(stage.port, target)
                allowed = second_reading(target)
                asked = [path.lstrip("/") for path in stage.upstream.paths]
                stage.upstream.heads.clear()
                request = parse_target(target)
                if allowed is None or isinstance(request, Refusal) or owner_of(WIDGET, request.module or "x.dev/x"):
                    assert asked == [], target
                elif isinstance(request, ModuleRequest | SumdbRequest):
                    assert set(asked) <= _expected(request), target


def _expected(request: ModuleRequest | SumdbRequest) -> set[str]:
    """The paths that a request may lead to: itself, and for zips and lookups the info and mod of its version."""
    base = f"{escape(request.module)}/@v/{escape(request.version)}"
    return {render(request), f"{base}.info", f"{base}.mod"}


async def _compare(port: int, target: str) -> None:
    """GET and HEAD on one connection have one status, or the connection ends with a 400."""
    statuses = set()
    for method in ("GET", "HEAD"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{method} /t/{T1}{target} HTTP/1.1\r\nHost: g\r\n\r\n".encode("latin-1"))
        statuses.add((await read_answer(reader, method)).status)
        writer.close()
    assert len(statuses) == 1, target
