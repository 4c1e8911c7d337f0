"""``assay review next | accept | reject | rewrite``: a reviewer's decisions on statements, in files or on the cluster."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from assay.api import v1alpha1 as api
from assay.cli.review_places import ClusterPlace, FilePlace, Place, Reviewable
from assay.cli.stored import DEFAULT_NAMESPACE, DEFAULT_SERVICE, Namespace, Service, reader, told
from assay.cli.tables import Output, OutputOption, printed
from assay.datasets.bundles import BundleError
from assay.domain.datasets.exports import patch_of
from assay.domain.reviews import Reviewer, accepted, rejected, rewritten
from assay.domain.screening import statement_of
from assay.domain.task import Refusal

SHOWN_NAMES = 20
Name = Annotated[str, typer.Argument(help="Name of the TaskValidation; in files the task's id will do.")]
Files = Annotated[
    Path | None,
    typer.Option("--in", help="File of manifests, or the directory of an import; the cluster if not given."),
]
By = Annotated[str, typer.Option("--reviewer", help="Who decides; the user's own name if not given.")]
Why = Annotated[str, typer.Option("--reason", help="Why.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    commands = typer.Typer(help="Decide on statements: accept, reject, rewrite.", no_args_is_help=True)
    commands.command("next")(next_task)
    commands.command("accept")(accept)
    commands.command("reject")(reject)
    commands.command("rewrite")(rewrite)
    app.add_typer(commands, name="review")


def next_task(
    files: Files = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the next task that nobody has decided on: statement, tests, reference patch, test patch.

    Example: assay review next --in tasks
    """
    with _told():
        found = asyncio.run(_next(files, namespace, service))
    if output is Output.TABLE:
        typer.echo(_text(found) if found else "every statement has its decision")
    else:
        typer.echo(printed(shown(found) if found else {}, output))


def accept(
    name: Name,
    files: Files = None,
    reviewer: By = "",
    reason: Why = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Let agents be given a task's statement as it is.

    Example: assay review accept demo-valid --in tasks --reason "says all that the tests ask for"
    """
    with _told():
        asyncio.run(_decide(name, files, namespace, service, lambda task: accepted(task, _by(reviewer, reason))))


def reject(
    name: Name,
    files: Files = None,
    reviewer: By = "",
    reason: Why = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Drop a task for its statement's sake, whatever its runs have shown.

    Example: assay review reject demo-valid --in tasks --reason "names the fix"
    """
    with _told():
        asyncio.run(_decide(name, files, namespace, service, lambda task: rejected(task, _by(reviewer, reason))))


def rewrite(
    name: Name,
    statement: Annotated[Path, typer.Option(help="File with the new statement.")],
    files: Files = None,
    allow: Annotated[str, typer.Option(help="Names that the statement may tell, separated by commas.")] = "",
    reviewer: By = "",
    reason: Why = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    service: Service = DEFAULT_SERVICE,
) -> None:
    """Put another statement in place of a task's own, which is kept.

    Exits 1 when the new statement tells names that the reference patch alone has: they are listed.

    Example: assay review rewrite demo-valid --in tasks --statement clearer.md --allow Lantern,dim
    """
    allowed = frozenset(word.strip() for word in allow.split(",") if word.strip())
    with _told():
        text = statement.read_text(encoding="utf-8")
        by = _by(reviewer, reason)
        asyncio.run(_decide(name, files, namespace, service, lambda task: rewritten(task, text, by, allowed=allowed)))


async def _next(files: Path | None, namespace: str, service: str) -> Reviewable | None:
    async with _place(files, namespace, service) as place:
        async for found in place.waiting():
            return found
    return None


async def _decide(name: str, files: Path | None, namespace: str, service: str, review: Any) -> None:
    async with _place(files, namespace, service) as place:
        found = await place.named(name)
        said: api.StatementReview | Refusal = review(found.task)
        if isinstance(said, Refusal):
            raise LookupError(f"{name}: {said}")  # noqa: TRY004 - told to the user
        await place.keep(found, said)
    typer.echo(f"{found.found.metadata.name}: {said.decision}", err=True)


@contextlib.asynccontextmanager
async def _place(files: Path | None, namespace: str, service: str) -> AsyncIterator[Place]:
    if files:
        yield FilePlace(files)
        return
    async with reader(namespace, service) as source:
        yield ClusterPlace(source)


@contextlib.contextmanager
def _told() -> Any:
    """As ``told``, for what can be wrong with files too."""
    with told("review"):
        try:
            yield
        except (BundleError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise LookupError(error) from error


def _by(reviewer: str, reason: str) -> Reviewer:
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Reviewer(name=reviewer or getpass.getuser(), reason=reason, time=time)


def shown(said: Reviewable) -> dict[str, Any]:
    """Return what a reviewer looks at, as data; bytes of a patch that are no text are escaped."""
    task, tests = said.task, said.task.tests
    return {
        "name": said.found.metadata.name,
        "id": task.id,
        "repo": task.repo,
        "statement": statement_of(task.statement, said.found.spec.statement_review),
        "interface": task.interface,
        "failToPass": list(tests.fail_to_pass),
        "passToPass": list(tests.pass_to_pass),
        "patch": patch_of(task.patch, task.patch_base64).decode("utf-8", "backslashreplace"),
        "testPatch": patch_of(task.test_patch, task.test_patch_base64).decode("utf-8", "backslashreplace"),
    }


def _text(found: Reviewable) -> str:
    said = shown(found)
    parts = [f"{said['name']}  {said['id']}  {said['repo']}".rstrip(), "", "STATEMENT", said["statement"].strip()]
    if said["interface"].strip():
        parts += ["", "INTERFACE", said["interface"].strip()]
    for head, key in (("FAIL TO PASS", "failToPass"), ("PASS TO PASS", "passToPass")):
        names = said[key]
        more = [f"  and {len(names) - SHOWN_NAMES} more"] if len(names) > SHOWN_NAMES else []
        parts += ["", f"{head} ({len(names)})", *(f"  {name}" for name in names[:SHOWN_NAMES]), *more]
    parts += ["", "REFERENCE PATCH", said["patch"].rstrip("\n"), "", "TEST PATCH", said["testPatch"].rstrip("\n")]
    return "\n".join(parts)
