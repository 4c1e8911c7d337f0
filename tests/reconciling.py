"""A reconciler over a server that is not there: it makes no pods, unless a test says with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.controller.cache import Cache
from assay.controller.events import Recorder
from assay.controller.queue import WorkQueue
from assay.controller.reconcile import Reconciler
from assay.controller.slots import Slots
from assay.store.artifacts import Store


def make_reconciler(
    server: Any,
    lines: Mapping[str, Any],
    *,
    cache: Cache,
    store: Store,
    queue: WorkQueue[str] | None = None,
    slots: Slots | None = None,
    infra_retries: int = 1,
) -> Reconciler:
    """Return a reconciler with these collaborators; without ``slots`` there is no place for a pod."""
    return Reconciler(
        client=server,
        cache=cache,
        queue=WorkQueue[str]() if queue is None else queue,
        slots=Slots(0) if slots is None else slots,
        store=store,
        recorder=Recorder(server),
        lines=lines,
        template={},
        scripts={},
        infra_retries=infra_retries,
    )
