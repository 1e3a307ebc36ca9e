"""Runs a script against a running cluster. All observations go into one trace, which the oracle and the judges read afterwards.

The broker gets time to process a request that the script does not wait for: until its answer comes, or until the coordinator has
answered a Heartbeat of an unknown member for the same group that was sent a little later (`settles`). Those Heartbeats are in no trace.

In the trace `who` is `member` for requests and answers, with the frames in `raw` and the exchange's label in `detail`. It is `link` for
connections. It is `kit` for: `ground` (settings, versions, names), `coordinator` (the coordinator of a group), `step`, `settled` (an unanswered
request has been processed), `timeout` (`waiting`), `unanswered` (the connection ended before a due answer), `garbage` (an unreadable answer),
`lost` (the case has failed: long waits are skipped), `unimplemented`, `unmet`, `moved`, `topics` (created or grown), `end`, `closed`.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import trio

from groupproof.harness.judging.oracle.slowness import slowness_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import (
    STEPS_END,
    Ask,
    AwaitAnswer,
    AwaitClose,
    Cut,
    DeleteTopic,
    GrowTopic,
    MoveGroup,
    Pass,
    Raw,
    ReadAgain,
    Script,
    StopReading,
    groups_in,
)  # fmt: skip
from groupproof.harness.model.script_bindings import Memory, Names
from groupproof.harness.running.scripts.script_connection import Exchange, ScriptLink
from groupproof.harness.subjects.brokers.cluster import CannotStop, moves_by_election
from groupproof.harness.subjects.brokers.cluster_map import BrokerAddress, ClusterMap, NoSuchBroker, beat_of_nobody
from groupproof.harness.subjects.brokers.coordinator_election import elect_another
from groupproof.harness.subjects.brokers.topic_admin import has_partitions
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.protocol.trace import Recorder, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["IsLost", "perform"]

SETTLE_S = 0.02
"""The head start of a request over the request that makes sure that it was processed."""

LONG_S = 1.0
"""Waits of at least this are skipped in a case that has already failed."""

PATIENCE = 4
"""Answers may be late by this multiple of the host's worst lateness: several timers may add up."""

PATIENCE_S = 10.0
BARRIER_S = 10.0
STEPS_S = 120.0


IsLost = Callable[[Trace], Awaitable[bool]]
"""Returns whether the trace so far proves a failure."""


class _Stop(Exception):
    """The script cannot go on; the trace contains the reason."""


async def perform(
    script: Script,
    cluster_map: ClusterMap,
    recorder: Recorder,
    *,
    names: Names,
    steps_s: float = STEPS_S,
    is_lost: IsLost | None = None,
    **ground: Any,
) -> None:
    """Run `script` on the cluster of `cluster_map`, which knows its brokers; `ground` is recorded in the trace with the facts that are known here.

    Before a long wait `is_lost` checks the trace so far; the script ends if it returns True.

    Raise `BrokenEnvironment` where the broker is gone, possibly in an exception group; the recorder then has the trace so far. All else is in the
    trace.
    """
    await _Performance(script, cluster_map, recorder, names, is_lost).run(steps_s, ground)


class _Performance:
    def __init__(self, script: Script, cluster_map: ClusterMap, recorder: Recorder, names: Names, is_lost: IsLost | None) -> None:
        self._script = script
        self._where = cluster_map
        self._recorder = recorder
        self._names = names
        self._is_lost = is_lost
        self._memory = Memory(names=names)
        self._numbers = itertools.count(1)
        self._links: dict[str, ScriptLink] = {}
        self._all: list[ScriptLink] = []
        self._exchanges: dict[str, tuple[Exchange, ScriptLink]] = {}
        self._coordinators: dict[str, BrokerAddress] = {}
        self._barriers: dict[int, tuple[Asker, trio.abc.Stream]] = {}
        self._groups: set[str] = set()

    async def run(self, steps_s: float, ground: Mapping[str, Any]) -> None:
        self._note("ground", **self._cluster_facts(), **await self._topic_ids(), **ground)
        async with trio.open_nursery() as self._nursery:
            try:
                with trio.move_on_after(steps_s) as limit:
                    await self._steps()
                if limit.cancelled_caught:
                    self._note("timeout", waiting=f"{STEPS_END}, for {steps_s:.0f} s in all")
                self._note("end")
            finally:
                with trio.CancelScope(shield=True):
                    await self._close()
            self._nursery.cancel_scope.cancel()
        self._note("closed")

    def _cluster_facts(self) -> dict[str, Any]:
        topics = {self._names.topic(name): partitions for name, partitions in self._script.topics.items()}
        versions = {api.title: list(versions) for api, versions in sorted(self._where.ranges.items())}
        unreadable = {api.title: {str(version): why for version, why in value.items()} for api, value in self._where.unreadable.items()}
        nodes = {str(node.node_id): [node.host, node.port] for node in self._where.nodes}
        body = {"brokers": self._script.brokers, "nodes": nodes, "topics": topics, "versions": versions}
        return {**body, **({"unreadable": unreadable} if unreadable else {})}

    async def _topic_ids(self) -> dict[str, Any]:
        """Return the topics' ids and the script's names of the topics, where the script uses topics."""
        if not any(isinstance(step, Ask) and step.api is Api.CONSUMER_GROUP_HEARTBEAT for step in self._script.steps):
            return {}
        titles = {self._names.topic(name): name for name in (*self._script.topics, *self._script.own_topics)}
        ids = await self._where.topic_ids([self._names.topic(name) for name in self._script.topics])
        self._memory.topic_ids |= {name: topic_id for name, (topic_id, _) in ids.items()}
        return {"topic_ids": ids, "topic_titles": titles}

    async def _steps(self) -> None:
        try:
            self._check_versions()
            for index, step in enumerate(self._script.steps):
                self._note("step", step=step.kind, index=index)
                await _DO[type(step)](self, step)
        except _Stop:
            return
        except NoSuchBroker as missing:
            self._note("unmet", setting="brokers", why=str(missing))

    def _check_versions(self) -> None:
        """Stop before the first request if the broker lacks an API or a version that the script uses."""
        for step in self._script.steps:
            if isinstance(step, Ask) and not self._is_left_out(step):
                try:
                    self._where.version(step.api, step.version)
                except NoCommonVersion as why:
                    self._note("unimplemented", why=str(why))
                    raise _Stop from why

    def _is_left_out(self, step: Ask) -> bool:
        return self._where.speaks(step.api) and self._where.version(step.api) < step.since

    async def _close(self) -> None:
        for link in self._all:
            await link.cut()
        for _, stream in self._barriers.values():
            await trio.aclose_forcefully(stream)

    def _note(self, name: str, **body: Any) -> None:
        self._recorder.record("event", who="kit", body={"name": name, **body})

    # Connections

    async def _link(self, name: str, to: str, group: str) -> ScriptLink:
        """Return the connection called `name`; open it if it does not exist or now leads elsewhere."""
        link = self._links.get(name)
        if to == "any" and link is not None and link.is_open:
            return link
        node = await self._node(to, group)
        if link is not None and link.is_open and link.node_id == node.node_id:
            return link
        return await self._opened(name, node)

    async def _node(self, to: str, group: str) -> BrokerAddress:
        if to == "any":
            return self._where.any()
        coordinator = await self._coordinator(group)
        return coordinator if to == "coordinator" else self._where.another_than(coordinator.node_id)

    async def _coordinator(self, group: str) -> BrokerAddress:
        if group not in self._coordinators:
            found = self._coordinators[group] = await self._where.coordinator_of(group)
            self._note("coordinator", group=group, node=found.node_id)
        return self._coordinators[group]

    async def _opened(self, name: str, node: BrokerAddress) -> ScriptLink:
        try:
            stream = await self._where.cluster.connect(node.host, node.port)
        except GONE as refused:
            await self._where.check_alive(node.node_id)
            self._note("unanswered", label=f"a connection for {name}", why=str(refused) or type(refused).__name__)
            raise _Stop from refused
        link = ScriptLink(name, next(self._numbers), node.node_id, stream, self._recorder, on_answer=self._answered)
        self._links[name] = link
        self._all.append(link)
        self._nursery.start_soon(link.read)
        return link

    def _answered(self, exchange: Exchange) -> None:
        if exchange.answer is not None:
            self._memory.answered(exchange.api, exchange.member, exchange.answer)

    # Requests

    async def _ask(self, step: Ask) -> None:
        if self._is_left_out(step):
            return
        group = self._group_of(step.fields)
        await self._know_others(step.fields, group)
        link = await self._link(step.over or step.member, step.to, group)
        await link.until_free()
        exchange = await link.ask(
            member=step.member,
            label=step.label,
            api=step.api,
            version=self._where.version(step.api, step.version),
            body=self._memory.resolved(step.fields),
        )
        self._exchanges[step.label] = (exchange, link)
        if step.wait:
            await self._await(exchange, link, step.within_ms)
        elif step.settles:
            await self._settle(exchange, link)

    async def _know_others(self, fields: Mapping[str, Any], group: str) -> None:
        """Learn the coordinators of the other groups in a request: with several brokers it may be another one (FIND-08)."""
        if len(self._where.nodes) == 1:
            return
        named = [self._names.group(name) for name in groups_in(fields)] + ([""] if fields.get("group_id") == "" else [])
        for other in dict.fromkeys(named):
            if other != group and other not in self._coordinators:
                with suppress(BrokenEnvironment):  # a broker may refuse to look for a group without a name
                    await self._coordinator(other)

    def _group_of(self, fields: Any) -> str:
        """Return the group in a request's first marker: the request goes to its coordinator."""
        name = next(groups_in(fields), "g")
        group = self._names.group(name)
        if group not in self._groups:
            self._groups.add(group)
            self._where.cluster.used([group])
        return group

    async def _await(self, exchange: Exchange, link: ScriptLink, within_ms: int) -> None:
        """Wait for an answer. A missing one is recorded, and counts against the broker only if the broker is still alive."""
        title = exchange.label or exchange.api.title
        await self._until(exchange.done, within_ms + link.throttle_ms)
        if not exchange.done.is_set():
            self._note("timeout", waiting=f"the answer to {title}", label=exchange.label, within_ms=within_ms)
        elif exchange.answer is None:
            self._note("unanswered", label=exchange.label, why=f"the connection ended before the answer to {title}")
        else:
            return
        await self._where.check_alive(link.node_id)

    async def _until(self, done: trio.Event, within_ms: float) -> None:
        """Wait for `done`, at most `within_ms`, longer if the host was late. Stop the script before a long wait if the case has failed already."""
        end = trio.current_time() + within_ms / 1000
        with trio.move_on_at(min(end, trio.current_time() + LONG_S)):
            await done.wait()
        if not done.is_set() and trio.current_time() < end:
            await self._stop_if_lost()
            with trio.move_on_at(end):
                await done.wait()
        if not done.is_set() and (late_ms := slowness_of(self._recorder.trace).allowed_ms("missing", Api.JOIN_GROUP)):
            with trio.move_on_after(min(late_ms * PATIENCE / 1000, PATIENCE_S)):
                await done.wait()

    async def _stop_if_lost(self) -> None:
        if self._is_lost is not None and await self._is_lost(list(self._recorder.trace)):
            self._note("lost")
            raise _Stop

    async def _settle(self, exchange: Exchange, link: ScriptLink) -> None:
        with trio.move_on_after(SETTLE_S):
            await exchange.done.wait()
        group = exchange.columns.get("group")
        if not exchange.done.is_set() and group and link.node_id is not None:
            began = trio.current_time()
            await self._barrier(group, link.node_id)
            answered_ms = round((trio.current_time() - began) * 1000)
            self._note("settled", label=exchange.label, connection=link.number, correlation=exchange.columns["correlation"], answered_ms=answered_ms)

    async def _barrier(self, group: str, node_id: int) -> None:
        """Return when the broker has answered a Heartbeat of an unknown member for `group`; raise `BrokenEnvironment` when the broker is gone."""
        with trio.move_on_after(BARRIER_S):
            try:
                if node_id not in self._barriers:
                    node = self._where.node(node_id)
                    stream = await self._where.cluster.connect(node.host, node.port)
                    self._barriers[node_id] = (self._where.asker(stream), stream)
                await beat_of_nobody(self._barriers[node_id][0], group)
                return
            except GONE:
                if lost := self._barriers.pop(node_id, None):
                    await trio.aclose_forcefully(lost[1])
        await self._where.check_alive(node_id)

    async def _answer_of(self, step: AwaitAnswer) -> None:
        if step.label not in self._exchanges:
            raise ValueError(f"the script waits for {step.label!r}, but it never sent that request")
        exchange, link = self._exchanges[step.label]
        await self._await(exchange, link, step.within_ms)

    # Steps about connections

    async def _pass(self, step: Pass) -> None:
        if step.ms >= LONG_S * 1000:
            await self._stop_if_lost()
        await trio.sleep(step.ms / 1000)

    async def _cut(self, step: Cut) -> None:
        await self._links[step.connection].cut(resets=step.resets)

    async def _raw(self, step: Raw) -> None:
        link = await self._link(step.connection, "coordinator", self._group_of({}))
        await link.send_raw(step.data)

    async def _closed(self, step: AwaitClose) -> None:
        link = self._links[step.connection]
        with trio.move_on_after(step.within_ms / 1000):
            await link.closed.wait()
            return
        self._note("timeout", waiting=f"the broker to close connection {step.connection}", connection=step.connection, within_ms=step.within_ms)
        await self._where.check_alive(link.node_id)

    async def _stop_reading(self, step: StopReading) -> None:
        self._links[step.connection].stop_reading()

    async def _read_again(self, step: ReadAgain) -> None:
        self._links[step.connection].read_again()

    async def _move(self, step: MoveGroup) -> None:
        group = self._names.group(step.group)
        old = await self._coordinator(group)
        with trio.move_on_after(step.within_ms / 1000):
            self._where.another_than(old.node_id)
            if moves_by_election(self._where.cluster):
                await elect_another(self._where.cluster, self._where, group)
            else:
                await self._stop_broker(old.node_id)
            new = await self._where.coordinator_of(group, other_than=old.node_id)
            self._coordinators.clear()
            self._note("moved", group=group, was=old.node_id, to=new.node_id)
            return
        self._note("timeout", waiting=f"another coordinator for {group}", within_ms=step.within_ms)

    async def _stop_broker(self, node_id: int) -> None:
        try:
            await self._where.cluster.stop(node_id)
            self._where.stopped(node_id)
        except CannotStop as why:
            self._note("unmet", setting="a coordinator that can be stopped", why=str(why))
            raise _Stop from why

    async def _change_topic(self, step: GrowTopic | DeleteTopic) -> None:
        name, partitions = self._names.topic(step.topic), 0 if isinstance(step, DeleteTopic) else step.partitions
        with trio.move_on_after(step.within_ms / 1000):
            try:
                await has_partitions(self._where.cluster, name, partitions, is_new=name not in self._memory.topic_ids)
            except BrokenEnvironment as why:
                self._note("unmet", setting="topics that can be made and deleted", why=str(why))
                raise _Stop from why
            topic_id = await self._where.has_heard_of(name, partitions)
            self._memory.topic_ids = {
                **{key: value for key, value in self._memory.topic_ids.items() if key != name},
                **({name: topic_id} if partitions else {}),
            }
            self._note("topics", topics={name: (topic_id, partitions)})
            return
        self._note("timeout", waiting=f"the brokers to report {partitions} partitions of {step.topic}", within_ms=step.within_ms)
        raise _Stop


_DO: dict[type[Any], Callable[[_Performance, Any], Awaitable[None]]] = {
    Ask: _Performance._ask,
    AwaitAnswer: _Performance._answer_of,
    Pass: _Performance._pass,
    Cut: _Performance._cut,
    Raw: _Performance._raw,
    AwaitClose: _Performance._closed,
    StopReading: _Performance._stop_reading,
    ReadAgain: _Performance._read_again,
    MoveGroup: _Performance._move,
    GrowTopic: _Performance._change_topic,
    DeleteTopic: _Performance._change_topic,
}
