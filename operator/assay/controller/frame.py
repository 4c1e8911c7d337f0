"""kopf without its memory of objects, and ended cleanly.

It copies every object several times to find out what changed, for nobody here.  Only raw events are handled
(``assay.controller.handlers``), so there is no difference to compute and no progress to keep.  Measured: the copies took
0.2 ms for a usual TaskValidation and 0.4 ms for a pod, some ten times a run.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import kopf
from kopf import BodyEssence

STREAM = "infinite_watch"
"""kopf's generator of a watch's events, around which there is no other."""


@contextlib.asynccontextmanager
async def streams_closed() -> AsyncIterator[None]:
    """Close the watches that kopf, ended inside, leaves open: those whose event it was handing on.

    The end of the loop would close each and the block within it at the same time, which fails and is logged as an error.
    """
    hooks = sys.get_asyncgen_hooks()
    streams: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()

    def begun(generator: AsyncGenerator[Any, Any]) -> None:
        if getattr(generator, "__name__", "") == STREAM:
            streams.add(generator)
        if hooks.firstiter:
            hooks.firstiter(generator)

    sys.set_asyncgen_hooks(firstiter=begun)
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(firstiter=hooks.firstiter)
        for stream in tuple(streams):
            await stream.aclose()


class NoDifferences(kopf.DiffBaseStorage):
    """Every object is as the last one: empty."""

    def build(self, **_: Any) -> BodyEssence:
        """Return an essence without anything, instead of a deep copy."""
        return BodyEssence()

    def fetch(self, **_: Any) -> BodyEssence | None:
        """Return that nothing was kept."""
        return None

    def store(self, **_: Any) -> None:
        """Keep nothing."""


class NoProgress(kopf.ProgressStorage):
    """No handler has progress to keep."""

    def fetch(self, **_: Any) -> None:
        """Return that nothing was kept."""

    def store(self, **_: Any) -> None:
        """Keep nothing."""

    def purge(self, **_: Any) -> None:
        """Forget nothing."""

    def touch(self, **_: Any) -> None:
        """Change nothing."""

    def clear(self, *, essence: BodyEssence) -> BodyEssence:
        """Return the essence as it is, without a copy."""
        return essence
