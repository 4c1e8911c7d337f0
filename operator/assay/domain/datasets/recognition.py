"""Which family a table is of, by its columns alone; what cannot be told apart is said, never guessed."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType

from assay.domain.datasets.families import (
    exported,
    multi_swe_bench,
    named_columns,
    r2e_gym,
    swe_bench,
    swe_bench_live,
    swe_bench_pro,
    swe_gym,
    swe_rebench,
    swe_rebench_v2,
    swe_smith,
)
from assay.domain.datasets.family import Family
from assay.domain.task import Refusal

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            exported.FAMILY,
            swe_rebench_v2.FAMILY,
            swe_rebench.FAMILY,
            swe_bench_live.FAMILY,
            multi_swe_bench.FAMILY,
            swe_bench_pro.FAMILY,
            r2e_gym.FAMILY,
            swe_smith.FAMILY,
            swe_bench.FAMILY,
            swe_gym.FAMILY,
            named_columns.FAMILY,
            named_columns.NEMOTRON,
        )
    }
)
"""Families by name; in recognition, an earlier one wins."""


def family_named(name: str) -> Family | Refusal:
    """Return the family of a name, or the nearest names."""
    family = FAMILIES.get(name)
    if family:
        return family
    near = ", ".join(difflib.get_close_matches(name, FAMILIES, n=3, cutoff=0.3)) or ", ".join(FAMILIES)
    return Refusal(field="--family", why=f"unknown family {name!r}; nearest: {near}")


def family_of(columns: Collection[str]) -> Family | Refusal:
    """Return the family that a table's columns belong to, or why none can be told."""
    have = frozenset(columns)
    for family in FAMILIES.values():
        if family.marked and _fits(family, have) and (not family.marks or family.marks & have):
            return family
    likely = [family.name for family in FAMILIES.values() if _fits(family, have)]
    if likely:
        return Refusal(field="columns", why=f"fit {' and '.join(likely)}; say which it is with --family")
    nearest = min(FAMILIES.values(), key=lambda family: len(family.signature - have))
    lacking = ", ".join(sorted(nearest.signature - have))
    why = f"are those of no known family; nearest is {nearest.name}, which also has {lacking}"
    return Refusal(field="columns", why=why)


def _fits(family: Family, have: frozenset[str]) -> bool:
    return family.signature <= have and not family.never & have
