"""Small traces made by hand: who said what, when, in the columns that a run's trace has.

A story is told in order; every call appends observations at the story's present, which `at` moves on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict, worst
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["ID", "Story", "Written", "findings", "verdict"]

ID = "m0-1"


def findings(judge: Judge | type[Checker], story: Story) -> list[Finding]:
    asked = folded(judge) if isinstance(judge, type) else judge
    return list(asked(Evidence(story.trace)))


def verdict(judge: Judge | type[Checker], story: Story) -> Verdict:
    """Return the most severe verdict; a judge that finds nothing wrong and says nothing counts as OK."""
    return worst([Verdict.OK, *(finding.verdict for finding in findings(judge, story))])


class Written:
    """A trace written line by line: every call appends an observation at the present, which `at` moves on."""

    def __init__(self) -> None:
        self.trace: list[Observation] = []
        self._now_ms = 0.0
        self._correlation = 0

    def at(self, ms: float) -> Self:
        """Let time pass until `ms` from the start."""
        assert ms >= self._now_ms
        self._now_ms = ms
        return self

    def see(self, kind: str, **columns: Any) -> Observation:
        obs = Observation(seq=len(self.trace), at_ns=round(self._now_ms * 1e6), kind=kind, **columns)
        self.trace.append(obs)
        return obs

    def kit(self, name: str, client: str | None = None, **body: Any) -> Observation:
        return self.see("event", who="kit", client=client, body={"name": name, **body})

    def tell(self, name: str, client: str = "m0", **body: Any) -> Observation:
        """Tell of a shim's event."""
        return self.see("event", who="shim", client=client, body={"name": name, **body})

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.trace)


class Story(Written):
    """Tells of clients of one group; `m0` is meant where no client is named."""

    def request(self, api: Api, client: str = "m0", *, member: str = "", generation: int | None = None, **columns: Any) -> Observation:
        """Tell of a request that is not answered yet; `node` is 0 unless said."""
        self._correlation += 1
        fixed = {"node": 0, "connection": 1, "correlation": self._correlation, "version": 9, "group": "g", "body": {}}
        return self.see("request", api=api.title, client=client, member=member, generation=generation, **{**fixed, **columns})

    def answer(self, request: Observation, *, error: int = 0, **columns: Any) -> Observation:
        same = {name: getattr(request, name) for name in ("api", "client", "member", "generation", "connection", "correlation", "node")}
        return self.see("response", error=error, **{**same, **columns})

    def exchange(self, api: Api, client: str = "m0", *, error: int = 0, **columns: Any) -> Observation:
        """Tell of a request and, at once, its answer; return the request."""
        request = self.request(api, client, **columns)
        self.answer(request, error=error)
        return request

    def join(
        self,
        client: str = "m0",
        *,
        member: str = "",
        gets: str = ID,
        generation: int = 1,
        leader: str | None = None,
        protocol: str = "range",
        members: Mapping[str, Sequence[str]] | None = None,
        owned: Iterable[TopicPartition] = (),
        topics: Sequence[str] = ("t",),
        error: int = 0,
        instance: str | None = None,
        version: int = 9,
        session_ms: int = 3_000,
        **answer: Any,
    ) -> Observation:
        """Tell of a JoinGroup and its answer; `members` are the subscriptions that a leader is told."""
        blob = encode_subscription(Subscription(topics=tuple(topics), owned=tuple(owned), version=1))
        asked = {
            "protocol_type": "consumer",
            "protocols": [{"name": protocol, "metadata": blob}],
            "group_instance_id": instance,
            "session_timeout_ms": session_ms,
            "rebalance_timeout_ms": 30_000,
        }
        request = self.request(Api.JOIN_GROUP, client, member=member, body=asked, instance=instance, version=version)
        listed = [{"member_id": key, "metadata": encode_subscription(Subscription(topics=tuple(wanted)))} for key, wanted in (members or {}).items()]
        body = {
            "member_id": gets,
            "generation_id": generation,
            "leader": gets if leader is None else leader,
            "protocol_name": protocol,
            "members": listed,
        }
        self.answer(request, error=error, member=gets, generation=generation, body={**body, **answer})
        return request

    def sync(
        self,
        client: str = "m0",
        *,
        member: str = ID,
        generation: int = 1,
        assigns: Mapping[str, Iterable[TopicPartition]] | None = None,
        gets: Iterable[TopicPartition] = (),
        error: int = 0,
    ) -> Observation:
        """Tell of a SyncGroup that `assigns` and `gets` partitions."""
        assignments = [
            {"member_id": key, "assignment": encode_assignment(Assignment(partitions=tuple(parts)))} for key, parts in (assigns or {}).items()
        ]
        request = self.request(Api.SYNC_GROUP, client, member=member, generation=generation, body={"assignments": assignments})
        self.answer(request, error=error, partitions=tuple(gets))
        return request

    def beat(self, client: str = "m0", *, member: str = ID, generation: int = 1, error: int = 0, **columns: Any) -> Observation:
        return self.exchange(Api.HEARTBEAT, client, member=member, generation=generation, error=error, **columns)

    def commit(self, *offsets: tuple[str, int, int], client: str = "m0", member: str = ID, generation: int = 1, error: int = 0) -> Observation:
        return self.exchange(Api.OFFSET_COMMIT, client, member=member, generation=generation, offsets=offsets, error=error)

    def leave(self, client: str = "m0", *, member: str = ID, error: int = 0) -> Observation:
        return self.exchange(Api.LEAVE_GROUP, client, member=member, body={"members": [{"member_id": member}]}, error=error)

    def find(self, client: str = "m0", *, error: int = 0, **columns: Any) -> Observation:
        return self.exchange(Api.FIND_COORDINATOR, client, error=error, **{"body": {"coordinator_keys": ("g",)}, **columns})

    def member(self, client: str = "m0", *, member: str = ID, gets: Iterable[TopicPartition] = ()) -> Self:
        """Tell how `client` became the only member, in generation 1."""
        self.join(client, gets=member)
        self.sync(client, member=member, gets=gets)
        return self

    def partitions(self, name: str, *partitions: TopicPartition, client: str = "m0") -> Observation:
        """Tell of a callback: `assigned`, `revoked` or `lost`."""
        return self.tell(f"partitions_{name}", client, partitions=[{"topic": topic, "partition": number} for topic, number in partitions])

    def consume(self, *offsets: tuple[str, int, int, int], client: str = "m0") -> Observation:
        """Tell of records delivered: topic, partition, first and last offset."""
        item = [{"topic": t, "partition": p, "minOffset": first, "maxOffset": last} for t, p, first, last in offsets]
        return self.tell("records_consumed", client, partitions=item, count=1)

    def committed(self, *offsets: tuple[str, int, int], client: str = "m0", success: bool = True) -> Observation:
        item = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in offsets]
        return self.tell("offsets_committed", client, offsets=item, success=success)

    def mark(self, name: str) -> Self:
        self.kit("mark", mark=name)
        return self

    def fault(self, name: str, *stages: str) -> Self:
        """Tell of a fault's receipts; unless said, all three up to delivered."""
        for stage in stages or ("armed", "triggered", "delivered"):
            self.see("fault", fault=name, detail=stage, body={"stage": stage})
        return self

    def end(self, ms: float | None = None) -> Self:
        """End the judged part, at `ms` if that is said."""
        if ms is not None:
            self.at(ms)
        self.kit("end")
        return self
