"""The gateway's settings: one frozen model, from a YAML file, each value with its default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from assay.witness.isolation import target_name

EPISODE_FIELDS = frozenset({"profile", "network", "limits", "timeouts", "resources", "reward", "priority"})
"""Fields of an episode's spec that the settings may fix for all episodes that clients open."""


class Settings(BaseModel):
    """Settings of ``assay gateway``; an unknown key is an error that names it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    namespace: Annotated[str, Field(min_length=1)] = "assay-runs"
    """Namespace of the episodes and of the tasks (TaskValidations)."""
    keys_file: str = "/var/run/assay/keys/keys.json"
    """API keys: {"keys": [{"name", "sha256", "maxEpisodes"}]}; read again when it changes."""
    master_key_file: str = "/var/run/assay/master/key"
    """Master key from which the keys of sandboxes, agents and calls are derived."""
    environments: Mapping[str, Mapping[str, str]] = {}
    """Environments by name, with the labels that their tasks carry; empty: one for each value of assay.dev/dataset."""
    default_environment: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$")] = "assay"
    """Environment that paths without one speak of, and of tasks without the label."""
    episode: Mapping[str, Any] = {}
    """Fields of the spec of every episode that a client opens: profile, limits, resources ..."""
    artifacts_url: str = ""
    """Where tasks are read that are given by reference; empty: the operator's Service, as ``operator_url`` finds it."""
    host: str = "0.0.0.0"  # noqa: S104 - clients come from other hosts
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8081
    heartbeat_seconds: Annotated[float, Field(gt=0, le=10)] = 8.0
    lost_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long a sandbox may be out of reach before a call is answered with a fault of the infrastructure."""
    log_level: str = "INFO"


def operator_url(environment: Mapping[str, str]) -> str:
    """Return the operator's URL: its Service's address, which needs no cluster DNS, else its name."""
    host, port = environment.get("ASSAY_OPERATOR_SERVICE_HOST"), environment.get("ASSAY_OPERATOR_SERVICE_PORT")
    if not host or not port:
        return "http://assay-operator:8080"
    return f"http://{target_name((host, int(port)))}"


def load_settings(file: Path | None) -> Settings:
    """Return the settings of a file.  ``ValueError`` names a bad key or value."""
    if file is None:
        return Settings()
    loaded = yaml.safe_load(file.read_text()) or {}
    if not isinstance(loaded, dict):
        raise ValueError(f"{file}: must hold a mapping of settings")  # noqa: TRY004 - a wrong file
    settings = Settings.model_validate(loaded)
    if "goPolicy" in settings.episode:
        raise ValueError(f"{file}: episode.goPolicy: each task has its own, in spec.goPolicy of its TaskValidation")
    unknown = sorted(set(settings.episode) - EPISODE_FIELDS)
    if unknown:
        raise ValueError(f"{file}: episode.{unknown[0]}: there are {', '.join(sorted(EPISODE_FIELDS))}")
    return settings
