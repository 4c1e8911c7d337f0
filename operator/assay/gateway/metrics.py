"""Prometheus metrics of one gateway. Labels come from fixed lists: never a session, a task or a key."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0)


class Metrics:
    """Counters of requests and tool calls in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests by route and status.", "route", "status")
        self.calls = self._counter(
            "tool_calls", "Answered tool calls, by tool and by what came of them.", "tool", "end"
        )
        self.resumed = self._counter("resumed_calls", "Calls that were asked for again by their task_id.")
        self.sandbox_faults = self._counter("sandbox_faults", "Requests to sandboxes that were lost.")
        self.call_seconds = Histogram(
            "assay_gateway_tool_call_seconds",
            "Time from a call's request to its result.",
            ["tool"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.streams = self._gauge("streams_open", "Calls whose stream is open.")
        self.episodes = self._gauge("episodes", "Episodes known.")
        self.tasks = self._gauge("tasks", "Tasks that can be chosen.")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"assay_gateway_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"assay_gateway_{name}", text, registry=self.registry)

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)
