"""Which tasks clients can choose from: the Valid TaskValidations, by environment and split, in the data set's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.domain.manifests import LABEL_DATASET
from assay.domain.ors.requests import Listing, Problem

ROW_ANNOTATION = "assay.dev/row"
_SPLIT_OF = {"train": "train", "eval": "test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntry:
    """A task that can be chosen.  ``row`` orders a data set's tasks, those without one come last by name.

    ``owns_modules``: whether it says which of Go's modules are its own, without which no episode of it gets others.
    """

    name: str
    environments: tuple[str, ...]
    split: str
    row: float
    owns_modules: bool


def entry_of(
    validation: Mapping[str, Any], *, selections: Mapping[str, Mapping[str, str]], default: str
) -> TaskEntry | None:
    """Return the entry of a TaskValidation's JSON; None for one that is not Valid or in no environment.

    ``selections`` are environments by name with the labels that their tasks carry; without any, each value of the data
    set's label is an environment, and ``default`` is the one of tasks without it.
    """
    metadata, spec, status = validation["metadata"], validation.get("spec") or {}, validation.get("status") or {}
    if status.get("verdict") != "Valid" or metadata.get("deletionTimestamp"):
        return None
    labels = metadata.get("labels") or {}
    if selections:
        names = [name for name, wanted in selections.items() if wanted.items() <= labels.items()]
    else:
        names = [environment_of(validation, default)]
    if not names:
        return None
    return TaskEntry(
        name=metadata["name"],
        environments=tuple(name.lower() for name in names),
        split=split_of(spec),
        row=_row(metadata.get("annotations") or {}),
        owns_modules=bool((spec.get("goPolicy") or {}).get("owned")),
    )


def environment_of(validation: Mapping[str, Any], default: str) -> str:
    """Return the environment of a task where none are selected by labels: its data set, else ``default``."""
    return (validation["metadata"].get("labels") or {}).get(LABEL_DATASET) or default


def split_of(spec: Mapping[str, Any]) -> str:
    """Return the protocol's word for the side of a TaskValidation's spec; a task without one is for training."""
    return _SPLIT_OF.get(spec.get("split") or "", "train")


def in_order(entries: Iterable[TaskEntry], *, environment: str, split: str) -> tuple[str, ...]:
    """Return the names of a split's tasks in their order."""
    chosen = [entry for entry in entries if environment in entry.environments and entry.split == split]
    return tuple(entry.name for entry in sorted(chosen, key=lambda entry: (entry.row, entry.name)))


def environments_of(entries: Iterable[TaskEntry], *, selections: Iterable[str], default: str) -> tuple[str, ...]:
    """Return the environments' names, the default one first."""
    names = {name.lower() for name in selections} or {name for entry in entries for name in entry.environments}
    return tuple(sorted(names | {default.lower()}, key=lambda name: (name != default.lower(), name)))


def part_of(names: tuple[str, ...], listing: Listing) -> list[dict[str, str]]:
    """Return a part of a split as task objects."""
    return [{"task": name} for name in names[listing.start : listing.stop]]


def at_index(names: tuple[str, ...], index: int) -> str | Problem:
    """Return the task at an index; negative ones count from the end."""
    if not -len(names) <= index < len(names):
        return Problem(status=400, detail=f"Invalid index: the split has {len(names)} tasks")
    return names[index]


def _row(annotations: Mapping[str, str]) -> float:
    try:
        row = float(annotations[ROW_ANNOTATION])
    except (KeyError, ValueError):
        return float("inf")
    return row if row == row else float("inf")  # noqa: PLR0124 - not a number is no order
