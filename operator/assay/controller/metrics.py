"""The operator's own measurements; no label names an object."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

RUNS = Counter("assay_runs_total", "Runs with complete evidence.", ["outcome"])
ATTEMPTS_LOST = Counter("assay_attempts_lost_total", "Attempts lost to the infrastructure.", ["reason"])
VERDICTS = Counter("assay_verdicts_total", "Verdicts reached.", ["verdict", "reason"])
GRADES = Counter("assay_grades_total", "Submissions that were graded, or could not be.", ["outcome", "reason"])
ENDINGS = {"TaskValidation": VERDICTS, "AgentEpisode": GRADES}
"""The count of ends of each kind of object."""
PODS_CREATED = Counter("assay_pods_created_total", "Pods made for runs.")
LOG_BYTES = Counter("assay_log_bytes_total", "Bytes of test output recorded.")
QUEUE_DEPTH = Gauge("assay_queue_depth", "Objects that wait for a look.")
QUEUE_OLDEST = Gauge("assay_queue_oldest_seconds", "How long the oldest of them has waited.")
QUEUE_SECONDS = Histogram("assay_queue_wait_seconds", "Wait of an object for a look.")
RECONCILE_SECONDS = Histogram("assay_reconcile_seconds", "Time of one look.", ["result"])
OBJECTS = Gauge("assay_objects", "TaskValidations and AgentEpisodes known.")
PODS_HELD = Gauge("assay_pods_held", "Pods that hold a place.")
CLAIMS_WAITING = Gauge("assay_claims_waiting", "Objects that wait for a place for a pod.")
RESYNC_DIFFERENCES = Counter("assay_resync_differences_total", "Deletions that no watch reported.", ["resource"])
LEADER = Gauge("assay_leader", "1 while this operator holds the Lease.")
ISOLATION_TARGETS = Gauge("assay_isolation_targets", "Addresses that answer the operator and must not answer a run.")
LOOP_LAG = Gauge("assay_loop_lag_seconds", "How late the event loop woke last.")
