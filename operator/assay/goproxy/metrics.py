"""Prometheus metrics of one gateway. Labels come from fixed lists: never a module, a run or a token."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0)
_MICROSECONDS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2)


class Metrics:
    """Counters of requests, denials, bytes, upstream and caches in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter(
            "requests", "Requests by kind, rule and class of the status.", "kind", "rule", "status"
        )
        self.denials = self._counter("denials", "Requests refused by policy, by rule.", "rule")
        self.sent_bytes = self._counter("sent_bytes", "Bytes of bodies sent, by kind.", "kind")
        self.cache = self._counter("cache_lookups", "Look-ups that ended in memory, on disk or as a miss.", "result")
        self.upstream_faults = self._counter("upstream_faults", "Fetches without a usable answer, by fault.", "fault")
        self.upstream_seconds = Histogram(
            "assay_goproxy_upstream_seconds", "Time of fetches.", ["kind"], buckets=_SECONDS, registry=self.registry
        )
        self.decision_seconds = Histogram(
            "assay_goproxy_decision_seconds",
            "Processor-bound time of parsing and judging one request.",
            buckets=_MICROSECONDS,
            registry=self.registry,
        )
        self.cache_bytes = Gauge("assay_goproxy_cache_bytes", "Bytes on disk.", registry=self.registry)
        self.in_flight = Gauge("assay_goproxy_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.policies = Gauge("assay_goproxy_policies", "Policy records known.", registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"assay_goproxy_{name}", text, labels, registry=self.registry)

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)
