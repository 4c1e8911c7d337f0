"""Run + template + pin -> pod manifest, and a task's inputs -> Secrets: named fields of parsed YAML, never text.

The inputs of an object are written once and shared by all of its runs; a run mounts only the files that
it needs, so the reference patch is in no pod but the patched ones.
"""

from __future__ import annotations

import base64
import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.api.v1alpha1 import Check
from assay.domain.collectors import collector_of
from assay.domain.inspection import distinctive_lines, endings_of
from assay.domain.patches import quoted
from assay.domain.plan import INSPECTING, PatchName, Run, RunKind, limits_of_run, pod_name
from assay.domain.submissions import Applied
from assay.domain.task import Limits, Task, quantity_of

CHUNK_BYTES = 512 * 1024
SECRET_BYTES = 1000 * 1024
"""Bytes of content in one Secret, under the API server's limit of 1 MiB."""
FUSE_SECONDS = 120
"""What a pod may live beyond its own deadlines before the kubelet ends it."""

RUN_SCRIPTS, SANDBOX_SCRIPTS = ("run.sh", "git.sh"), ("serve.sh", "git.sh")
"""Files of a task's container by its pod: the script that it begins with, and what that one reads."""

LABEL_OBJECT = "assay.dev/object"
LABEL_RUN = "assay.dev/run"
LABEL_DATASET = "assay.dev/dataset"
LABEL_NETWORK = "assay.dev/network"
LABEL_MANAGED = "app.kubernetes.io/managed-by"
MANAGED_BY = "assay"
ANNOTATION_ATTEMPT = "assay.dev/attempt"
ANNOTATION_EPOCH = "assay.dev/epoch"
ANNOTATION_TASK = "assay.dev/task-id"

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The custom resource that owns pods and Secrets; ``epoch`` as ``assay.domain.plan.epoch_of`` gives it."""

    namespace: str
    name: str
    uid: str
    epoch: str
    kind: str = "TaskValidation"
    api_version: str = "assay.dev/v1alpha1"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file of the pod's input directory: its path there, and where its bytes are (Secret and key)."""

    path: str
    secret: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files of an object and the Secrets that hold them."""

    files: tuple[InputFile, ...]
    secrets: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What the operator adds to every pod.

    ``targets`` are ``address:port`` strings that must be out of reach; ``pull_secrets`` names of image pull Secrets.
    """

    witness_image: str
    targets: tuple[str, ...]
    gate_seconds: int = 30
    sample_seconds: int = 10
    pull_secrets: tuple[str, ...] = ()
    pull_policy: str = "IfNotPresent"
    cpu_request_fraction: float = 1.0


def owner_reference(owner: Owner) -> Manifest:
    """Return the controller reference that makes the garbage collector clean up after the owner."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def inputs_of(task: Task, owner: Owner, scripts: Mapping[str, bytes], inspector: bytes = b"") -> Inputs:
    """Return the inputs of a validation's runs, cut into chunks and packed into as few Secrets as hold them.

    ``scripts`` are the ``RUN_SCRIPTS`` by name; ``inspector`` is the one that looks into the image, for tasks whose
    checks ask for it.
    """
    others = {}
    if INSPECTING & task.checks:
        lines = b"".join(line + b"\n" for line in distinctive_lines(task.patch))
        endings = "".join(f"{ending}\n" for ending in endings_of(task.patch)).encode()
        others = {"inspect/script": inspector, "inspect/lines": lines, "inspect/endings": endings}
    patches = {PatchName.TEST: task.test_patch, PatchName.REFERENCE: task.patch}
    return _packed(task, owner, scripts, patches, others)


def grading_inputs_of(
    task: Task, owner: Owner, scripts: Mapping[str, bytes], submission: Applied, number: int
) -> Inputs:
    """Return the inputs of one submission's grading run; the reference patch is not among them.

    ``submission.paths`` tells the pod which paths the submission may change, in git's own quotes.
    """
    paths = b"".join(quoted(path) + b"\n" for path in submission.paths)
    patches = {PatchName.TEST: task.test_patch, PatchName.SUBMISSION: submission.diff}
    return _packed(task, owner, scripts, patches, {"submission.paths": paths}, part=f"graded-{number}-")


def _packed(  # noqa: PLR0913 - what the Secrets are made of
    task: Task,
    owner: Owner,
    scripts: Mapping[str, bytes],
    patches: Mapping[PatchName, bytes],
    others: Mapping[str, bytes] | None = None,
    *,
    part: str = "",
) -> Inputs:
    contents = list(scripts.items())
    contents += [
        (f"commands/{number:03}", command.encode("utf-8", "surrogateescape"))
        for number, command in enumerate(task.commands, 1)
    ]
    collectors = [(f"collect/{number:03}", collector_of(command)) for number, command in enumerate(task.commands, 1)]
    contents += [(path, script_.encode("utf-8", "surrogateescape")) for path, script_ in collectors if script_]
    whole = {f"{name}.patch": patch for name, patch in patches.items()} | dict(others or {})
    for name, content in whole.items():
        chunks = [content[start : start + CHUNK_BYTES] for start in range(0, len(content), CHUNK_BYTES)]
        contents += [(f"{name}.{number:03}", chunk) for number, chunk in enumerate(chunks, 1)]
    files: list[InputFile] = []
    secrets: list[Manifest] = []
    stem = f"assay-inputs-{_digest(f'{owner.uid}/{owner.epoch}', scripts)}-{part}"
    used = SECRET_BYTES
    for path, content in contents:
        if used + len(content) > SECRET_BYTES:
            secrets.append(_secret(owner, f"{stem}{len(secrets)}"))
            used = 0
        used += len(content)
        key = path.replace("/", "-")
        secrets[-1]["data"][key] = base64.b64encode(content).decode()
        files.append(InputFile(path=path, secret=secrets[-1]["metadata"]["name"], key=key))
    return Inputs(files=tuple(files), secrets=tuple(secrets))


def files_of_run(run: Run, files: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """Return the input files that a run may see: all but the patches that it does not apply.

    A run that looks into the image has the inspector in place of the task's commands.
    """
    if run.kind is RunKind.INSPECT:
        named = {"inspect/script.001": "commands/001"}
        seen = (file for file in files if file.path in RUN_SCRIPTS or file.path.startswith("inspect/"))
        return tuple(replace(file, path=named.get(file.path, file.path)) for file in seen)
    hidden = ("inspect/", *(f"{name}.patch." for name in PatchName if name not in run.patches))
    return tuple(file for file in files if not file.path.startswith(hidden))


def pod_of(  # noqa: PLR0913 - each argument is one source of the manifest
    run: Run,
    attempt: int,
    *,
    owner: Owner,
    task: Task,
    limits: Limits,
    files: Sequence[InputFile],
    image: str,
    template: Mapping[str, Any],
    settings: RunSettings,
) -> Manifest:
    """Return the pod that performs one attempt of a run; equal arguments give equal pods."""
    files, limits = files_of_run(run, files), limits_of_run(run, limits)
    pod: Manifest = copy.deepcopy(dict(template))
    _name_pod(pod, run.name, attempt, owner, task)
    spec = pod["spec"]
    spec["activeDeadlineSeconds"] = limits.pull + limits.setup + limits.test * len(task.commands) + FUSE_SECONDS
    container = _fill_containers(pod, image=image, limits=limits, settings=settings)
    container["env"] = _env(
        ASSAY_WORKDIR=task.workdir,
        ASSAY_PATCHES=" ".join(name for name in run.patches if _has_patch(task, name)),
        ASSAY_SETUP_SECONDS=limits.setup,
        ASSAY_TEST_SECONDS=limits.test,
        ASSAY_BASE_COMMIT=task.base_commit,
        **({"ASSAY_GO_OFFLINE": 1} if Check.GO_OFFLINE in task.checks else {}),
    )
    sources = next(volume for volume in spec["volumes"] if volume["name"] == "in")["projected"]["sources"]
    sources.extend(_sources(files))
    return pod


def sandbox_secret_of(owner: Owner, key: str, scripts: Mapping[str, bytes]) -> Manifest:
    """Return the Secret of an episode's sandboxes: the hands' key, which no task container sees, and the scripts."""
    secret = _secret(owner, f"assay-sandbox-{_digest(owner.uid, scripts)}")
    contents = {"key": key.encode(), **scripts}
    secret["data"] = {name: base64.b64encode(content).decode() for name, content in contents.items()}
    return secret


def sandbox_of(  # noqa: PLR0913 - each argument is one source of the manifest
    number: int,
    *,
    owner: Owner,
    task: Task,
    limits: Limits,
    life: int,
    network: str,
    secret: str,
    image: str,
    template: Mapping[str, Any],
    settings: RunSettings,
    environment: Mapping[str, str] | None = None,
    doors: Sequence[str] = (),
) -> Manifest:
    """Return the ``number``-th pod that an agent works in: nothing in it knows a patch or the name of a test.

    ``life`` is in seconds from its first call, ``network`` the mode (``sandbox`` or ``goproxy``), ``secret`` the name of
    :func:`sandbox_secret_of`, ``environment`` what the task's container gets beside its image's own, ``doors`` the
    ``address:port`` that must answer the witness before the task begins.
    """
    pod: Manifest = copy.deepcopy(dict(template))
    _name_pod(pod, f"sandbox-{number}", number, owner, task)
    pod["metadata"]["labels"][LABEL_NETWORK] = network
    spec = pod["spec"]
    spec["activeDeadlineSeconds"] = limits.pull + limits.setup + life + FUSE_SECONDS
    container = _fill_containers(pod, image=image, limits=limits, settings=settings)
    key = {"name": "ASSAY_KEY", "valueFrom": {"secretKeyRef": {"name": secret, "key": "key"}}}
    spec["initContainers"][0]["env"].append(key)
    if doors:
        spec["initContainers"][0]["env"].extend(_env(ASSAY_ISOLATION_DOORS=" ".join(doors)))
    container["env"] = _env(ASSAY_WORKDIR=task.workdir, ASSAY_BASE_COMMIT=task.base_commit, **(environment or {}))
    files = [InputFile(path=name, secret=secret, key=name) for name in SANDBOX_SCRIPTS]
    next(volume for volume in spec["volumes"] if volume["name"] == "in")["projected"]["sources"].extend(_sources(files))
    return pod


def _fill_containers(pod: Manifest, *, image: str, limits: Limits, settings: RunSettings) -> Manifest:
    """Fill what every pod has, and return the task's container."""
    spec = pod["spec"]
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    witness: Manifest = spec["initContainers"][0]
    container: Manifest = spec["containers"][0]
    witness["image"] = settings.witness_image
    witness["imagePullPolicy"] = settings.pull_policy
    witness["env"] = _env(
        ASSAY_ISOLATION_TARGETS=" ".join(settings.targets),
        ASSAY_GATE_SECONDS=settings.gate_seconds,
        ASSAY_SAMPLE_SECONDS=settings.sample_seconds,
    )
    container["image"] = image
    container["imagePullPolicy"] = settings.pull_policy
    amounts = {"cpu": limits.cpu, "memory": limits.memory, "ephemeral-storage": limits.ephemeral_storage}
    container["resources"] = {"limits": amounts, "requests": _requests(limits, settings)}
    return container


def _name_pod(pod: Manifest, run: str, attempt: int, owner: Owner, task: Task) -> None:
    metadata = pod["metadata"]
    metadata["name"] = pod_name(uid=owner.uid, epoch=owner.epoch, run=run, attempt=attempt)
    metadata["namespace"] = owner.namespace
    metadata["labels"][LABEL_OBJECT] = owner.uid
    metadata["labels"][LABEL_RUN] = run
    metadata["annotations"] = {
        ANNOTATION_ATTEMPT: str(attempt),
        ANNOTATION_EPOCH: owner.epoch,
        ANNOTATION_TASK: task.id,
    }
    metadata["ownerReferences"] = [owner_reference(owner)]


def _has_patch(task: Task, name: PatchName) -> bool:
    """Whether there is something to apply; a submission without changes is graded without a run."""
    patches = {PatchName.TEST: task.test_patch, PatchName.REFERENCE: task.patch}
    return name not in patches or bool(patches[name].strip())


def _requests(limits: Limits, settings: RunSettings) -> dict[str, str]:
    """Ask for what the limit allows, but for disk: few nodes have every task's worst case free at once."""
    storage = min(quantity_of(limits.ephemeral_storage), quantity_of("256Mi"))
    millicores = max(1, round(quantity_of(limits.cpu) * 1000 * settings.cpu_request_fraction))
    return {"cpu": f"{millicores}m", "memory": limits.memory, "ephemeral-storage": str(int(storage))}


def _env(**values: object) -> list[Manifest]:
    """Return the variables as they are: the kubelet would put another one's value in for ``$(NAME)``."""
    return [{"name": name, "value": str(value).replace("$(", "$$(")} for name, value in values.items()]


def _sources(files: Sequence[InputFile]) -> list[Manifest]:
    names = dict.fromkeys(file.secret for file in files)
    return [
        {
            "secret": {
                "name": name,
                "items": [{"key": file.key, "path": file.path} for file in files if file.secret == name],
            }
        }
        for name in names
    ]


def _digest(text: str, scripts: Mapping[str, bytes]) -> str:
    """Return what names Secrets: with the scripts in it, so that an operator of another version mounts only its own.

    Secrets are immutable, and one that is there already is taken as it is: after an upgrade it has the old scripts.
    """
    return hashlib.sha256(b"\0".join((text.encode(), *scripts.values()))).hexdigest()[:24]


def _secret(owner: Owner, name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": {LABEL_MANAGED: MANAGED_BY, LABEL_OBJECT: owner.uid},
            "ownerReferences": [owner_reference(owner)],
        },
        "immutable": True,
        "type": "Opaque",
        "data": {},
    }
