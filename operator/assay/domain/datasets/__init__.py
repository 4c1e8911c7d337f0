"""Rows of the public data sets -> tasks: one module a family, every coercion in one place, refusals instead of guesses."""

from assay.domain.datasets.coercions import Row
from assay.domain.datasets.family import Family
from assay.domain.datasets.recipes import Recipe, recipes_of
from assay.domain.datasets.recognition import FAMILIES, family_named, family_of
from assay.domain.datasets.rows import RowTask, inline_task, task_from_row

__all__ = [
    "FAMILIES",
    "Family",
    "Recipe",
    "Row",
    "RowTask",
    "family_named",
    "family_of",
    "inline_task",
    "recipes_of",
    "task_from_row",
]
