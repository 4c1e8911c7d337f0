"""What a GoProxy episode's sandbox gets to know of the gateway."""

from __future__ import annotations

import pytest

from assay.domain.goproxy.environment import database_of, go_environment
from assay.domain.goproxy.targets import Refusal, split_token
from assay.domain.keys import go_token, sandbox_key, sha256_of

MASTER = b"m" * 32


def test_the_go_command_is_led_to_the_gateway_alone() -> None:
    variables = go_environment(gateway="http://10.0.0.1:8080/", token="abc", sumdb="sum.example.org+00+key")
    assert variables["GOPROXY"] == "http://10.0.0.1:8080/t/abc"
    assert variables["GOSUMDB"] == "sum.example.org+00+key"
    assert (variables["GONOPROXY"], variables["GONOSUMDB"], variables["GOENV"]) == ("none", "none", "off")
    assert variables["GOTOOLCHAIN"] == "local"


def test_what_the_image_says_of_proxies_and_flags_is_taken_out() -> None:
    variables = go_environment(gateway="http://10.0.0.1:8080", token="abc")
    assert {variables[name] for name in ("GOFLAGS", "GOPRIVATE", "HTTP_PROXY", "https_proxy", "ALL_PROXY")} == {""}


def test_without_a_database_sums_are_not_looked_up() -> None:
    assert go_environment(gateway="http://10.0.0.1:8080", token="abc")["GOSUMDB"] == "off"


@pytest.mark.parametrize("value", ["sum.example.org", "sum.example.org+0a+b", "sum.example.org https://x.example.org"])
def test_the_database_is_named_by_its_value(value: str) -> None:
    assert database_of(value) == "sum.example.org"


def test_a_derived_token_is_one_that_the_gateway_reads_and_no_other_key() -> None:
    token = go_token(MASTER, "uid")
    assert split_token(f"/t/{token}/x") == (token, "/x")
    assert not isinstance(split_token(f"/t/{token}"), Refusal)
    assert token not in {sandbox_key(MASTER, "uid"), go_token(MASTER, "other"), go_token(b"n" * 32, "uid")}
    assert len(sha256_of(token)) == 64
    assert sha256_of(token) != token
