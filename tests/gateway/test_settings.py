"""The gateway's settings: what of an episode they may fix for all tasks, and what is each task's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.gateway.settings import load_settings, operator_url


@pytest.mark.parametrize(
    ("field", "said"),
    [("goPolicy: {owned: [x.dev/a]}", "each task has its own, in spec.goPolicy"), ("task: {}", "there are limits")],
)
def test_what_is_a_tasks_own_cannot_be_said_for_all(tmp_path: Path, field: str, said: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"episode: {{network: GoProxy, {field}}}\n")
    with pytest.raises(ValueError, match=rf"episode\.{field.partition(':')[0]}: {said}"):
        load_settings(file)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://assay-operator:8080"),
        ("10.96.0.7", "http://10.96.0.7:8081"),
        ("fd00::7", "http://[fd00::7]:8081"),
    ],
)
def test_the_operator_is_found_by_its_services_address_where_a_cluster_has_no_names(host: str, url: str) -> None:
    address = {"ASSAY_OPERATOR_SERVICE_HOST": host, "ASSAY_OPERATOR_SERVICE_PORT": "8081"}
    assert operator_url(address) == url
