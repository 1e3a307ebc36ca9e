"""Spark's SQL, DuckDB's SQL and the one tracker name the same owners of every partition, in groups in which anything may happen."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chaos.spark.analysis.compared import kept, raw_of_sides
from tests.chaos.spark.analysis.oracle import Oracle
from tests.epoch_traces import EpochStory
from tests.traces import Story

from groupproof.chaos.spark.analysis.owner_queries import TWO_OWNERS
from groupproof.chaos.spark.analysis.tables import Tables
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.tracking.member_ledger import Membership
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.trace_columns import write_parquet
from groupproof.protocol.vocabulary import Api, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPS = 120
PARTITIONS = [("t", number) for number in range(4)]
HOLDING = ("group", "client", "topic", "partition", "since_ns", "until_ns")

Holdings = set[tuple[Any, ...]]


class Restless(Story):
    """A group of three clients, each on its own connection; `reporting` are those whose callbacks the trace tells."""

    def __init__(self, name: str, draw: random.Random) -> None:
        super().__init__()
        self.name, self.draw = name, draw
        self.protocol = draw.choice(["range", "cooperative-sticky"])
        self.clients = [f"{name}.m{number}" for number in range(3)]
        self.reporting = {client: draw.choice(["shim", "member"]) for client in self.clients if draw.random() < 0.5}
        self.ids: dict[str, str] = {}
        self.generation = self.lives = 0

    def answer(self, request: Observation, *, error: int = 0, **columns: Any) -> Observation:
        return super().answer(request, error=error, group=request.group, **columns)

    def see(self, kind: str, **columns: Any) -> Observation:
        fixed = {"group": self.name} if kind in ("request", "response") else {}
        connection = {"connection": self.clients.index(columns["client"]) + 1} if fixed else {}
        self._now_ms += self.draw.randint(1, 400)
        return super().see(kind, **{**columns, **fixed, **connection})

    def turn(self) -> None:
        """Let one thing happen, legal or not."""
        client = self.draw.choice(self.clients)
        things = [self.rebalance, self.rebalance, self.refuse, self.depart, self.die, self.call]
        self.draw.choice(things)(client)

    def rebalance(self, _: str) -> None:
        self.generation += 1
        here = [client for client in self.clients if self.draw.random() < 0.8]
        for client in here:
            self.lives += client not in self.ids
            before = self.ids.get(client, "")
            self.ids.setdefault(client, f"{client}-{self.lives}")
            self.join(client, member=before, gets=self.ids[client], generation=self.generation, leader="x", protocol=self.protocol)
        for client in here:
            gets = [partition for partition in PARTITIONS if self.draw.random() < 0.5]
            self.sync(client, member=self.ids[client], generation=self.generation, gets=gets, error=self.draw.choice([0, 0, 0, 27]))
            if client in self.reporting:
                self.callback("assigned", client, gets)

    def refuse(self, client: str) -> None:
        generation = self.generation - self.draw.choice([0, 0, 1])
        api, error = self.draw.choice([Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.SYNC_GROUP, Api.JOIN_GROUP]), self.draw.choice([22, 25, 27, 82])
        if client in self.ids:
            self.exchange(api, client, member=self.ids[client], generation=None if api is Api.JOIN_GROUP else generation, error=error)
            if error in (25, 82):
                del self.ids[client]

    def depart(self, client: str) -> None:
        if client in self.ids and self.draw.random() < 0.7:
            self.leave(client, member=self.ids.pop(client))
        elif client in self.ids:
            self.request(Api.LEAVE_GROUP, client, member=self.ids.pop(client))
            self.kit("kill", client)  # it does not wait for the answer

    def die(self, client: str) -> None:
        if self.reporting.get(client) == "member":
            self.see("event", who="member", client=client, body={"name": self.draw.choice(["died", "failed", "left", "started"])})
        else:
            self.kit(self.draw.choice(["kill", "exit"]), client)
        self.ids.pop(client, None)

    def call(self, client: str) -> None:
        if client in self.reporting:
            self.callback(self.draw.choice(["revoked", "lost"]), client, [partition for partition in PARTITIONS if self.draw.random() < 0.5])

    def callback(self, name: str, client: str, partitions: Iterable[TopicPartition]) -> None:
        listed = [{"topic": topic, "partition": number} for topic, number in partitions]
        self.see("event", who=self.reporting[client], client=client, body={"name": f"partitions_{name}", "partitions": listed})


def restless_groups(seed: int) -> Mapping[str, Trace]:
    stories = {}
    for number in range(GROUPS):
        story = stories[f"g{number}"] = Restless(f"g{number}", random.Random(f"{seed}/{number}"))
        for _ in range(story.draw.randint(3, 25)):
            story.turn()
    return {name: [replace(obs, run=name) for obs in story.trace] for name, story in stories.items()}


def by_tracker(name: str, trace: Trace) -> Holdings:
    """Return who owned what by the tracker: from callbacks where the client has any, until its end or its member's last line."""
    group, begun, found = GroupTracker(), dict[tuple[str, TopicPartition], tuple[int, str]](), []
    reporting = {obs.client for obs in trace if str(obs.body.get("name")) == "partitions_assigned" and obs.body["partitions"]}
    last: dict[str, int] = defaultdict(int)
    owners: dict[str, str] = {}
    anew: set[str] = set()  # who has a new id and no assignment under it: what the client had before is the old id's, for rows are told apart by id
    for obs in trace:
        if obs.client is None:
            continue
        group.follow(obs)
        client, reports = obs.client, obs.client in reporting
        membership = group.members.get(client, Membership())
        member = client if reports else membership.member
        if owners.get(client, "") != member:
            anew.add(client)
        owners[client] = member
        if reports or membership.assignment is not None:
            anew.discard(client)
        if obs.kind != "event" and not reports:
            last[obs.member or ""] = obs.at_ns
        if reports and obs.who in ("shim", "member"):
            last[client] = obs.at_ns
        owned = set(group.hands.now.get(client, ())) if reports else set() if client in anew else group.owned(client)
        before = {partition for owner, partition in begun if owner == client}
        for partition in before - owned:
            since, holder = begun.pop((client, partition))
            found.append((client, partition, since, obs.at_ns if reports else min(obs.at_ns, last[holder])))
        for partition in owned - before:
            begun[client, partition] = obs.at_ns, member
    found += [(client, partition, since, last[holder]) for (client, partition), (since, holder) in begun.items()]
    return {(name, client, *partition, since, until) for client, partition, since, until in found if until > since}


def joined_up(rows: Iterable[tuple[Any, ...]]) -> Holdings:
    """Return holdings of which none begins where another of its owner ends."""
    found: Holdings = set()
    last: tuple[Any, ...] | None = None
    for row in sorted(rows):
        if last is not None and last[:4] == row[:4] and last[5] == row[4]:
            found.discard(last)
            row = (*last[:5], row[5])
        found.add(row)
        last = row
    return found


@pytest.fixture(scope="module", params=[1, 2])
def restless(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Holdings]:
    groups = restless_groups(request.param)
    path = tmp_path_factory.mktemp("restless") / "restless.parquet"
    write_parquet(path, [obs for trace in groups.values() for obs in trace])
    return path, joined_up(row for name, trace in groups.items() for row in by_tracker(name, trace))


@pytest.mark.slow
@pytest.mark.requirement("CLIENT-62")
def test_the_oracle_names_the_owners_that_the_tracker_names(restless: tuple[Path, Holdings]) -> None:
    path, owners = restless

    found = joined_up(Oracle([(path, "", None)]).rows("hold", HOLDING))

    assert len(owners) > 5 * GROUPS
    assert sorted(found - owners)[:5] == sorted(owners - found)[:5] == []


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("restless", [3], indirect=True)
def test_spark_names_the_owners_that_the_tracker_names(spark: SparkSession, restless: tuple[Path, Holdings]) -> None:
    path, owners = restless
    tables = Tables(kept("raw", raw_of_sides(spark, [(path, "", None)]).drop("raw")), is_repeated=False, keep=kept)
    TWO_OWNERS.facts(tables)

    found = joined_up(tuple(row) for row in tables.once("holdings", lambda _: pytest.fail("not asked for")).select(*HOLDING).collect())

    assert sorted(found - owners)[:5] == sorted(owners - found)[:5] == []


def epoch_groups() -> Mapping[str, Trace]:
    """Return groups of one member with an epoch each, whose application is told of partitions one after the other, and loses some."""
    stories = {}
    for number in range(10):
        draw, story = random.Random(number), EpochStory()
        story.hb(0, f"e{number}", gets=1, gives=(), member=f"id-{number}")
        for turn in range(draw.randint(2, 12)):
            story.at(1_000.0 * (turn + 1))
            story.hb(1, f"e{number}", gets=1, member=f"id-{number}")
            some = [partition for partition in PARTITIONS if draw.random() < 0.5]
            listed = [{"topic": topic, "partition": index} for topic, index in some]
            name = draw.choice(["assigned", "assigned", "revoked", "lost"])
            story.see("event", who="shim", client=f"e{number}", body={"name": f"partitions_{name}", "partitions": listed})
        stories[f"e{number}"] = [replace(obs, run=f"e{number}", group=f"e{number}" if obs.kind != "event" else None) for obs in story.trace]
    return stories


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.requirement("CGT-09")
def test_spark_adds_up_the_callbacks_of_members_with_epochs(spark: SparkSession, tmp_path: Path) -> None:
    groups, path = epoch_groups(), tmp_path / "epochs.parquet"
    write_parquet(path, [obs for trace in groups.values() for obs in trace])
    tables = Tables(kept("raw", raw_of_sides(spark, [(path, "", None)]).drop("raw")), is_repeated=False, keep=kept)
    TWO_OWNERS.facts(tables)
    owners = joined_up(row for name, trace in groups.items() for row in by_tracker(name, trace))

    found = joined_up(tuple(row) for row in tables.once("holdings", lambda _: pytest.fail("not asked for")).select(*HOLDING).collect())

    assert len(owners) > len(groups)
    assert sorted(found - owners)[:5] == sorted(owners - found)[:5] == []
