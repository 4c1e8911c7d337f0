"""ModuleCacheHoldsTask: the task's own Go module lies in a module cache, a vendor tree or a GOPATH of the image."""

from __future__ import annotations

from assay.api.v1alpha1 import Check
from assay.domain.rules.facts import Facts
from assay.domain.rules.finding import Finding, counted, named
from assay.domain.rules.inspected import inspection_in, unfinished, unseen
from assay.domain.verdict import Reason


def module_cache(facts: Facts) -> Finding | None:
    """Condemn a task whose image holds a copy of its own module, by the rule that the module gateway uses."""
    if Check.MODULE_CACHE not in facts.task.checks:
        return None
    found = inspection_in(facts)
    if found is None:
        return unfinished(facts, Reason.MODULE_CACHE_HOLDS_TASK)
    held = found.own_copies(facts.task.repo)
    if not held:
        return unseen(found, {"cached", "gopath", "built", "testzip"}, Reason.MODULE_CACHE_HOLDS_TASK)
    places = [f"{copy.module}@{copy.version or 'unknown'} in {copy.place}" for copy in held]
    return Finding(
        reason=Reason.MODULE_CACHE_HOLDS_TASK,
        message=f"the image holds {counted(len(places), 'copy' if len(places) == 1 else 'copie')} of the task's own module: {named(places)}",
    )
