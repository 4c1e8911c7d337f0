"""What a family of data sets is: a name, the columns that give it away, and the reader of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from assay.domain.datasets.coercions import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a row says of its task; empty where it does not say.  ``base_commit`` is lower case.

    ``commands``, ``parser`` and ``image`` that no row and no rule gives come from the user's recipe, or the row is
    refused.  ``usual_workdir`` is where the family's images have the repository, unless the row or the recipe says
    ``workdir``.  ``columns`` maps a field of the task to the column that it came from, for refusals.
    """

    id: str
    repo: str
    base_commit: str = ""
    language: str = ""
    image: str = ""
    workdir: str = ""
    usual_workdir: str = ""
    statement: str = ""
    interface: str = ""
    patch: bytes = b""
    test_patch: bytes = b""
    commands: tuple[str, ...] = ()
    parser: str = ""
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
    difficulty: str = ""
    created: datetime | None = None
    notes: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family: ``signature`` are columns that its rows have all, ``never`` columns that they never have.

    Rows have at least one of ``marks``, if there are any.  A family that is not ``marked`` shares its columns with
    another one: a user must name it.  ``columns`` are those that ``draft_of`` reads; a reader of files needs no others.  ``profile`` is the grading
    profile whose rules the family's own harness follows.
    """

    name: str
    title: str
    signature: frozenset[str]
    never: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    marked: bool = True
    columns: tuple[str, ...]
    profile: str
    draft_of: Callable[[Row], Draft]
