"""The tables behind the queries: distinct observations, requests with their answers, clients and members, and a group's formed generations.

Times are compared only within one run; the order is that of `seq`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.traces.trace_rows import PLACE
from groupproof.protocol.vocabulary import Api

__all__ = ["GROUP", "MEMBER", "OWN_WITNESS", "RUN", "WITNESS", "Keep", "Tables", "ms", "name_in"]

Keep = Callable[[str, DataFrame], DataFrame]
"""Computes a view once, and returns it without its plan, so that the queries on it neither compute nor plan it again."""

RUN: Final = ("run", "case")
GROUP: Final = (*RUN, "group")
MEMBER: Final = (*GROUP, "client", "release", "member")

WITNESS: Final = "CASE WHEN side = 'tap' THEN 0 WHEN who <> 'member' THEN 1 ELSE 2 END"
"""The recorder of a frame, the best witness first: a tap, the coordinator, the member."""

OWN_WITNESS: Final = "CASE WHEN side = 'tap' THEN 0 WHEN who = 'member' THEN 1 ELSE 2 END"
"""The recorder of a frame, the best witness of what members received first: a tap, the member, the coordinator."""

_ASKED: Final = tuple(
    api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.CONSUMER_GROUP_HEARTBEAT)
)
_SUFFIX: Final = "-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""A member id ends with a hyphen and a UUID; before them is its client id or instance id (JOIN-03)."""


def ms(nanoseconds: str) -> Column:
    """Return a time span in milliseconds, in whole tenths."""
    return f.expr(f"(({nanoseconds}) div 100000) / 10D")


def name_in(body: str = "body") -> Column:
    """Return the name of an event."""
    return f.get_json_object(body, "$.name")


class Tables:
    """Views of `raw`: the rows of a trace with `side` (members, coordinator or tap, in the folder of a load), `source_release` and their place.

    `is_repeated` says that some observations are repeated, of which one counts; `keep` stores views for several queries.
    """

    def __init__(self, raw: DataFrame, *, is_repeated: bool, keep: Keep) -> None:
        self.raw, self._is_repeated, self._keep = raw, is_repeated, keep
        self._kept: dict[str, DataFrame] = {}

    def once(self, name: str, made: Callable[[Tables], DataFrame]) -> DataFrame:
        """Return a view for several queries, computed at the first call."""
        if name not in self._kept:
            self._kept[name] = self._keep(name, made(self))
        return self._kept[name]

    @cached_property
    def rows(self) -> DataFrame:
        """Every observation once: the first one with its `seq`."""
        if not self._is_repeated:
            return self.raw
        first = Window.partitionBy("side", *RUN, "seq").orderBy("file", *PLACE)
        return self._keep("rows", self.raw.withColumn("copy", f.row_number().over(first)).where("copy = 1").drop("copy"))

    @cached_property
    def subscriptions(self) -> DataFrame:
        """Each run's best witness of its frames (`witness`: a tap, the coordinator, the members), that for its members, and the clients' release."""
        answers = (f.col("kind") == "response") & f.col("api").isin(*_ASKED) & f.col("group").isNotNull()
        found = self.rows.groupBy(*RUN).agg(
            f.min(f.when(answers, f.expr(WITNESS))).alias("witness"),
            f.min(f.when(answers, f.expr(OWN_WITNESS))).alias("own_witness"),
            f.max("source_release").alias("source_release"),
        )
        return self._keep("subscriptions", found)

    @cached_property
    def frames(self) -> DataFrame:
        """Requests and answers of groups' members, from one witness."""
        asked = self.rows.where(f.col("kind").isin("request", "response") & f.col("api").isin(*_ASKED) & f.col("group").isNotNull())
        best = self.subscriptions.select(*RUN, "witness")
        return asked.join(f.broadcast(best), list(RUN)).where(f"{WITNESS} = witness").drop("witness")

    @cached_property
    def answers(self) -> DataFrame:
        """Each request with its answer, if any; `member` is the id in the answer, `asked_member` the one in the request."""
        request, response = f.col("kind") == "request", f.col("kind") == "response"
        is_join = f.col("api") == Api.JOIN_GROUP.title
        frames = self.frames.where("connection is not null and correlation is not null")
        paired = frames.groupBy(*RUN, "connection", "correlation", "api").agg(
            f.max("group").alias("group"),
            f.max("client").alias("named_client"),
            f.min(f.when(request, f.struct("seq", "at_ns", "member", "generation", f.size("offsets").alias("offsets")))).alias("q"),
            f.min(f.when(response, f.struct("seq", "at_ns", "member", "generation", "error"))).alias("a"),
            f.max(f.when(response & (f.col("api") == Api.SYNC_GROUP.title), f.col("partitions"))).alias("partitions"),
            f.max(f.when(response & is_join, f.get_json_object("body", "$.protocol_name"))).alias("protocol"),
            f.max(f.when(request & (f.col("api") == Api.LEAVE_GROUP.title), f.get_json_object("body", "$.members[0].reason"))).alias("reason"),
        )
        rows = paired.select(
            *GROUP, "api", "connection", "correlation", f.col("named_client").alias("client"),
            f.expr("coalesce(nullif(a.member, ''), nullif(q.member, ''))").alias("member"), f.expr("nullif(q.member, '')").alias("asked_member"),
            f.expr("CASE WHEN api = 'JoinGroup' THEN a.generation ELSE coalesce(q.generation, a.generation) END").alias("generation"),
            f.col("q.seq").alias("asked_seq"), f.col("q.at_ns").alias("asked_ns"), f.col("a.seq").alias("answered_seq"), f.col("a.at_ns").alias("answered_ns"),
            f.expr("CASE WHEN a.seq IS NOT NULL THEN coalesce(a.error, 0) END").alias("error"), f.expr("coalesce(q.offsets, 0)").alias("offsets"),
            "partitions", "protocol", "reason",
        )  # fmt: skip
        return self._keep("answers", self.with_release(rows))

    @cached_property
    def leaves(self) -> DataFrame:
        """Members that left, by their own or another's LeaveGroup."""
        left = self.answers.where("api = 'LeaveGroup' and error = 0 and member is not null and asked_seq is not null")
        return left.select(*GROUP, "member", "reason", "asked_seq", "answered_seq")

    @cached_property
    def joins(self) -> DataFrame:
        """JoinGroups whose answer has a generation."""
        return self._keep("joins", self.answers.where("api = 'JoinGroup' and error = 0 and generation > 0"))

    @cached_property
    def names(self) -> DataFrame:
        """The client of each member id, as far as JoinGroup answers show it."""
        joins = self.answers.where("api = 'JoinGroup' and error in (0, 79) and member is not null and client is not null")
        return self._keep("names", joins.groupBy(*RUN, "member").agg(f.max("client").alias("named")))

    @cached_property
    def groups_of_clients(self) -> DataFrame:
        """The group of a client's requests, for events without a group."""
        return self.answers.where("client is not null").groupBy(*RUN, "client").agg(f.max("group").alias("spoken"))

    @cached_property
    def transitions(self) -> DataFrame:
        moves = self.rows.where("kind = 'transition' and `group` is not null").select(
            *GROUP, "seq", "at_ns", "generation", "state_before", "state_after", "detail", f.get_json_object("body", "$.members").alias("count"),
            f.get_json_object("body", "$.line").isNotNull().alias("is_logged"),
        )  # fmt: skip
        return self._keep("transitions", moves)

    @cached_property
    def transition_groups(self) -> DataFrame:
        """The groups whose coordinator recorded their rebalances."""
        return self.transitions.where("state_after = 'PreparingRebalance'").select(*GROUP).distinct().withColumn("is_told", f.expr("true"))

    @cached_property
    def formed(self) -> DataFrame:
        """Each formed generation, from the coordinator's trace, or else from answers: `seq` and `at_ns` are those of the join phase's end."""
        rows = self.transitions.where("state_after = 'CompletingRebalance'").select(*GROUP, "generation", "seq", "at_ns")
        found = rows.groupBy(*GROUP, "generation").agg(f.min("seq").alias("seq"), f.min("at_ns").alias("at_ns"))
        return found.unionByName(self.member_generations.join(self.transition_groups, list(GROUP), "left_anti"))

    @cached_property
    def member_generations(self) -> DataFrame:
        """Each generation in answers to members, with the first such answer."""
        return self.joins.groupBy(*GROUP, "generation").agg(f.min("answered_seq").alias("seq"), f.min("answered_ns").alias("at_ns"))

    @cached_property
    def releases(self) -> DataFrame:
        """The release of each client: from its shim's hello, or from its own ApiVersions request."""
        hello = (f.col("who") == "kit") & (f.col("kind") == "event") & (name_in() == "hello")
        versions = (f.col("api") == Api.API_VERSIONS.title) & (f.col("kind") == "request") & (f.col("who") != "member")
        release = f.when(hello, _joined("$.client", "$.version")).otherwise(_joined("$.client_software_name", "$.client_software_version"))
        telling = self.rows.where((hello | versions) & f.col("client").isNotNull()).withColumn("said", release).where("said <> ''")
        best = f.max(f.struct(hello.alias("is_hello"), "said"))
        return self._keep(
            "releases", telling.groupBy(*RUN, "client").agg(best.alias("best")).select(*RUN, "client", f.col("best.said").alias("said"))
        )

    def with_release(self, facts: DataFrame) -> DataFrame:
        """Return the facts with the `release` of their `client`: its own, or else that of the run's clients."""
        joined = facts.join(f.broadcast(self.releases), [*RUN, "client"], "left")
        rows = f.broadcast(self.subscriptions.select(*RUN, "source_release"))
        return joined.join(rows, list(RUN), "left").withColumn("release", f.coalesce("said", "source_release")).drop("said", "source_release")

    def with_client(self, facts: DataFrame) -> DataFrame:
        """Return facts of a `member` with its `client` and `release`; without an answer to the member, the client is the beginning of its id."""
        named = facts.join(self.names, [*RUN, "member"], "left")
        client = f.coalesce("named", f.regexp_replace("member", _SUFFIX, ""))
        return self.with_release(named.withColumn("client", client).drop("named"))


def _joined(*paths: str) -> Column:
    return f.trim(f.concat_ws(" ", *(f.get_json_object("body", path) for path in paths)))
