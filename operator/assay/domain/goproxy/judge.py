"""The gateway's two judgements: of a request before anything is looked up, of an answer before a byte of it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.domain.gomodules import GoPolicy, Rule, carried_by, origin_key, owner_of
from assay.domain.goproxy.answers import Facts
from assay.domain.goproxy.targets import Kind, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A refusal by policy: the rule, what it rests on (for the log), and the sentence that the agent reads."""

    rule: Rule
    evidence: str

    @property
    def why(self) -> str:
        """Return one honest sentence for whoever asked."""
        return _SENTENCES[self.rule]


_SENTENCES = {
    Rule.OWNED: "this module is the task's own repository; no version of it is served here",
    Rule.FORK_NAME: "this module has the name of the task's own repository; forks of it are not served here",
    Rule.DECLARED: "this module's go.mod declares the path of the task's own module; it is not served here",
    Rule.ORIGIN: "this module comes from the task's own repository; it is not served here",
    Rule.CARRIES: "this module's zip holds a copy of the task's own module; it is not served here",
    Rule.DATA_TILE: "data tiles of the checksum database are not served here",
    Rule.NOT_AFTER: "this version is newer than the task allows; ask for an older one",
    Rule.IDENTITY: "the GOPROXY URL belongs to no run of this pod",
}


def judge_request(policy: GoPolicy, request: Request) -> Denial | None:
    """Stage 1: deny by what is asked for. The version plays no part."""
    if request.kind is Kind.SUMDB_DATA:
        return Denial(rule=Rule.DATA_TILE, evidence=f"tile {request.kind}")
    owner = owner_of(policy, request.module) if request.module else None
    return None if owner is None else Denial(rule=owner.rule, evidence=owner.entry)


def judge_answer(
    policy: GoPolicy, facts: Facts, *, not_after: datetime | None = None, dated: bool = False
) -> Denial | None:
    """Stage 2: deny by what upstream's answer says of its descent.

    ``dated`` says that this kind of answer carries a time; without one it is then denied where a cut-off is set.
    """
    for url in facts.origins:
        if owner_of(policy, origin_key(url)) is not None:
            return Denial(rule=Rule.ORIGIN, evidence=url)
    for module in facts.declared:
        if owner_of(policy, module) is not None:
            return Denial(rule=Rule.DECLARED, evidence=module)
    carried = carried_by(policy, facts.carried)
    if carried is not None:
        return Denial(rule=Rule.CARRIES, evidence=carried)
    if not_after is not None and dated and (facts.time is None or facts.time > not_after):
        return Denial(rule=Rule.NOT_AFTER, evidence=facts.time.isoformat() if facts.time else "no time")
    return None
