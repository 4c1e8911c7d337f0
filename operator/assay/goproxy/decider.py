"""The gateway's pipeline: identify, parse, judge the request, fetch, judge the answer. Decides all, sends nothing."""

from __future__ import annotations

import hashlib
import time
from contextlib import AsyncExitStack
from dataclasses import replace

from assay.domain.gomodules import Rule
from assay.domain.goproxy.judge import Denial, judge_answer, judge_request
from assay.domain.goproxy.records import RunRecord
from assay.domain.goproxy.targets import (
    Kind,
    ModuleRequest,
    Refusal,
    Request,
    SumdbRequest,
    method_refusal,
    parse_target,
    split_token,
)
from assay.goproxy.cache import Missing, Stored
from assay.goproxy.decisions import Decision
from assay.goproxy.library import Library
from assay.goproxy.metrics import Metrics
from assay.goproxy.policies import PolicySource
from assay.goproxy.runs import Account, ExhaustedError, Ledger
from assay.goproxy.settings import Settings
from assay.goproxy.upstream import UpstreamFaultError

_DATED = frozenset({Kind.INFO, Kind.LATEST})
_UNIDENTIFIED = Denial(rule=Rule.IDENTITY, evidence="")


class Decider:
    """Turns method, raw target and peer address into a Decision."""

    def __init__(
        self, settings: Settings, policies: PolicySource, library: Library, ledger: Ledger, metrics: Metrics
    ) -> None:
        self._settings, self._policies, self._library = settings, policies, library
        self._ledger, self._metrics = ledger, metrics

    async def decide(self, method: str, raw_target: str, peer: str, stack: AsyncExitStack) -> Decision:
        """Return the decision; the run's place, entered on the stack, is held until the caller has sent the answer."""
        wrong_method = method_refusal(method)
        if wrong_method is not None:
            return Decision(status=wrong_method.status, why=wrong_method.why, close=True)
        split = split_token(raw_target)
        if isinstance(split, Refusal):
            rule = Rule.IDENTITY if split.status == 403 else ""
            return Decision(status=split.status, why=split.why, rule=rule, close=split.status == 400)
        token, rest = split
        record = await self._policies.find(hashlib.sha256(token.encode()).hexdigest())
        if record is None or not self._is_peer(record, peer):
            evidence = "unknown token" if record is None else f"token of {record.run}"
            return Decision(status=403, why=_UNIDENTIFIED.why, rule=Rule.IDENTITY, evidence=evidence)
        account = self._ledger.account(record.run)
        try:
            await stack.enter_async_context(self._ledger.slot(account))
        except ExhaustedError as error:
            return Decision(status=429, why=str(error), record=record)
        return await self._decide_for(record, rest, account)

    def _is_peer(self, record: RunRecord, peer: str) -> bool:
        return peer in record.addresses or not self._settings.require_peer_match

    async def _decide_for(self, record: RunRecord, rest: str, account: Account) -> Decision:
        """Parse and judge what an identified run asks for."""
        start = time.perf_counter()
        request = parse_target(rest)
        if isinstance(request, Refusal):
            return Decision(status=request.status, why=request.why, record=record, close=request.status == 400)
        denial = judge_request(record.policy, request)
        self._metrics.decision_seconds.observe(time.perf_counter() - start)
        if denial is None:
            decision = await self._answer(record, request)
        else:
            decision = _denied(denial)
        if decision.rule:
            account.deny(decision.rule)
        return replace(decision, record=record, request=request)

    async def _answer(self, record: RunRecord, request: Request) -> Decision:
        try:
            if isinstance(request, SumdbRequest):
                return await self._sumdb_answer(record, request)
            return await self._module_answer(record, request)
        except UpstreamFaultError as fault:
            return Decision(status=fault.status, why=fault.why, evidence=fault.word)

    async def _module_answer(self, record: RunRecord, request: ModuleRequest) -> Decision:
        if request.kind is Kind.ZIP:
            objection = await self._objection(record, request.module, request.version)
            if objection is not None:
                return objection
        return await self._judged(record, request)

    async def _objection(self, record: RunRecord, module: str, version: str) -> Decision | None:
        """Judge info and mod of a version whose zip or checksum is wanted; None where both would be served."""
        for kind in (Kind.INFO, Kind.MOD):
            decision = await self._judged(record, ModuleRequest(kind=kind, module=module, version=version))
            if decision.status != 200:
                return decision
        return None

    async def _judged(self, record: RunRecord, request: Request) -> Decision:
        """Fetch and judge one file (stage 2)."""
        found = await self._library.fetch(request)
        if isinstance(found, Missing):
            return Decision(status=found.status, why="upstream has no such module or version")
        start = time.perf_counter()
        denial = judge_answer(record.policy, found.facts, not_after=record.not_after, dated=request.kind in _DATED)
        self._metrics.decision_seconds.observe(time.perf_counter() - start)
        return _denied(denial) if denial is not None else Decision(status=200, stored=found)

    async def _sumdb_answer(self, record: RunRecord, request: SumdbRequest) -> Decision:
        """Answer ``supported`` here; a lookup only for what the run may have (upstream would go and fetch the rest)."""
        if request.database not in self._settings.databases:
            return Decision(status=404, why="this checksum database is not served here")
        if request.kind is Kind.SUMDB_SUPPORTED:
            return Decision(status=200, body=b"ok\n")
        if request.kind is Kind.SUMDB_LOOKUP:
            objection = await self._objection(record, request.module, request.version)
            if objection is not None:
                return objection
        return await self._judged(record, request)

    async def again(self, record: RunRecord, request: Request) -> Stored | None:
        """Fetch and judge a file anew whose place on disk was given up between decision and sending."""
        self._library.forget(request)
        return (await self._answer(record, request)).stored


def _denied(denial: Denial) -> Decision:
    return Decision(status=403, why=denial.why, rule=denial.rule, evidence=denial.evidence)
