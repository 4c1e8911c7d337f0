"""What an episode's sandbox may not reach, put together of what its task and what the episode itself say.

The two only add to each other: whatever either of them refuses is refused, and of two cut-offs the earlier one counts.
There is no policy for tasks that have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.api import v1alpha1 as api
from assay.domain.gomodules import GoPolicy
from assay.domain.goproxy.records import time_of
from assay.domain.status_size import bytes_of
from assay.domain.task import Refusal

FIELD = "spec.goPolicy"
MAX_POLICY_BYTES = 13 * 1024
"""Most bytes of a policy in JSON: an episode's status, where the module gateway reads it, holds it whole."""


def policy_of_episode(spec: api.AgentEpisodeSpec, tasks: api.GoPolicy | None) -> api.GoPolicy | Refusal | None:
    """Return the policy of an episode, ``tasks`` being its validation's; None where it has no way to the module gateway.

    Refused: an episode that has a way there, and nothing that is refused to it.
    """
    if spec.network != "GoProxy":
        return None
    given = [policy for policy in (tasks, spec.go_policy) if policy]
    owned = _all_of(policy.owned for policy in given)
    fork_names = _all_of(policy.fork_names for policy in given)
    try:
        not_after = min((policy.not_after for policy in given if policy.not_after), key=time_of, default="")
    except ValueError as error:
        return Refusal(field=f"{FIELD}.notAfter", why=str(error))
    if (most := max(len(owned), len(fork_names))) > api.MAX_MODULE_PATHS:
        return Refusal(
            field=FIELD, why=f"has {most} entries together with the validation's: {api.MAX_MODULE_PATHS} fit"
        )
    if not GoPolicy(owned=frozenset(owned)).bases:
        nor = f", nor does that of TaskValidation {spec.validation}" if spec.validation else ""
        why = f"names none of the task's own modules{nor}; GoProxy is not opened without"
        return Refusal(field=f"{FIELD}.owned", why=why)
    policy = api.GoPolicy(
        owned=owned, fork_names=fork_names, nested_elsewhere=_exceptions_of(given), not_after=not_after
    )
    if (size := bytes_of(policy)) > MAX_POLICY_BYTES:
        why = f"has {size} bytes together with the validation's: {MAX_POLICY_BYTES} fit into an episode's status"
        return Refusal(field=FIELD, why=why)
    return policy


def _all_of(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({entry for each in lists for entry in each}))


def _exceptions_of(given: Sequence[api.GoPolicy]) -> tuple[str, ...]:
    """Return the exceptions that stand: those that each policy makes that refuses paths."""
    made = [set(policy.nested_elsewhere) for policy in given if policy.owned or policy.fork_names]
    return tuple(sorted(set.intersection(*made))) if made else ()
