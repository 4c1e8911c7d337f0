"""The operator's settings: one frozen model, from a YAML file and the environment, each value with its default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class IsolationSettings(BaseModel):
    """How the network of a run is proven shut.

    ``targets`` are ``address:port`` strings beside the API server and the operator itself, which are always probed.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    targets: tuple[str, ...] = ()
    gate_seconds: Annotated[int, Field(ge=1, le=600)] = 30
    sample_seconds: Annotated[int, Field(ge=1, le=600)] = 10


class Settings(BaseModel):
    """Settings of ``assay operator``; an unknown key is an error that names it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    namespace: Annotated[str, Field(min_length=1)] = "assay-runs"
    """Namespace of the objects and their runs."""
    lease_namespace: str = "assay-system"
    witness_image: Annotated[str, Field(min_length=1)] = "assay:latest"
    pull_secrets: tuple[str, ...] = ()
    pull_policy: str = "IfNotPresent"
    max_pods: Annotated[int, Field(ge=1)] = 200
    """Pods at a time that have not ended."""
    cpu_request_fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of a task's processor limit that its pod asks for; below 1, runs share processors and may be slower."""
    max_sandboxes: Annotated[int, Field(ge=1)] = 200
    """Sandboxes at a time; beside max_pods, so that gradings never wait for the sandboxes that wait for them."""
    master_key_file: str = "/var/run/assay/master/key"
    """Master key of episodes, the gateways' own; without it, no sandbox is made."""
    gateway_service: str = "assay-gateway"
    """Service of the episode gateway, for agents' pods."""
    default_environment: str = "assay"
    """The gateway's name for the environment of tasks without a data set."""
    go_sumdb: str = ""
    """GOSUMDB of GoProxy sandboxes, of a database that the module gateway serves; empty: none."""
    infra_retries: Annotated[int, Field(ge=0, le=20)] = 3
    """Attempts of one run that may be lost before the object is Inconclusive."""
    workers: Annotated[int, Field(ge=1, le=512)] = 48
    resync_seconds: Annotated[float, Field(gt=0)] = 600.0
    store: Annotated[str, Field(max_length=400)] = "file:///var/lib/assay/store"
    renamed_repos: Mapping[str, str] = {}
    """Former names of repositories, and forks, with the present name: both are one repository, on one side of a split."""
    review_required: bool = False
    """Whether a task whose statement nobody has decided on is dropped as ``StatementUnreviewed``."""
    upload_bytes: Annotated[int, Field(ge=0)] = 64 * 1024 * 1024
    """Largest artifact that the operator's port takes for its store; 0: none, bundles go into the store by its URI."""
    templates: str = ""
    """Directory of the job templates; empty: those that came with the package."""
    http_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    http_address: str = "0.0.0.0"  # noqa: S104 - probes and the Service's proxy come from other hosts
    identity: str = ""
    log_level: str = "INFO"
    isolation: IsolationSettings = IsolationSettings()


ENVIRONMENT = {
    "ASSAY_NAMESPACE": "namespace",
    "ASSAY_WITNESS_IMAGE": "witnessImage",
    "ASSAY_STORE": "store",
    "ASSAY_TEMPLATES": "templates",
    "ASSAY_HTTP_PORT": "httpPort",
    "ASSAY_MAX_PODS": "maxPods",
    "ASSAY_LOG_LEVEL": "logLevel",
    "ASSAY_MASTER_KEY_FILE": "masterKeyFile",
    "POD_NAME": "identity",
    "POD_NAMESPACE": "leaseNamespace",
}


def load_settings(file: Path | None, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a file, overridden by the environment.  ``ValueError`` names a bad key or value."""
    values: dict[str, object] = {}
    if file is not None:
        loaded = yaml.safe_load(file.read_text()) or {}
        if not isinstance(loaded, dict):
            raise ValueError(f"{file}: must hold a mapping of settings")
        values.update(loaded)
    values.update({key: environment[name] for name, key in ENVIRONMENT.items() if environment.get(name)})
    return Settings.model_validate(values)
