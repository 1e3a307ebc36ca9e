"""Partitions without an owner, and with two owners; from callbacks, or else from SyncGroup's answers.

The rules are those of the one tracker (`harness.judging.checkers.tracking.group_tracker`), and a test compares both on the same traces. They are SQL
here because a load has hundreds of millions of rows, and Spark would send each to Python. Two things differ, because here the whole trace is known:
rows are separated by member id, because loads share client ids, and a member owns nothing after its last row.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import GROUP, RUN, Tables, ms, name_in
from groupproof.harness.judging.checkers.tracking.ownership_tracker import ENDS, REPORTERS
from groupproof.protocol.vocabulary import COOPERATIVE, MEMBERSHIP_ENDS, Api, ErrorCode

__all__ = ["NO_OWNER", "TWO_OWNERS"]

_PLACE: Final = ("topic", "partition")
_HOLDER: Final = (*GROUP, "client", "member")
_NAMED: Final = "array<struct<topic:string,partition:int>>"
_OUT: Final = tuple(sorted(map(int, MEMBERSHIP_ENDS - {ErrorCode.ILLEGAL_GENERATION})))
_ENDS: Final = tuple(sorted(f"{who} {name}" for who, name in ENDS))
_SAYS: Final = f"""CASE WHEN api = 'SyncGroup' AND error = 0 THEN 'gives' WHEN api = 'JoinGroup' AND error = 0 AND generation > 0 THEN 'grants'
  WHEN (api = 'LeaveGroup' AND error = 0) OR (api = 'JoinGroup' AND error IN {_OUT}) THEN 'ends'
  WHEN api <> 'LeaveGroup' AND error IN {_OUT} THEN 'refuses'
  WHEN api IN ('SyncGroup', 'Heartbeat', 'OffsetCommit') AND error = {int(ErrorCode.ILLEGAL_GENERATION)} THEN 'stale' END"""
"""The effect of an answer on a membership. 22 ends the generation that it names, but only the newest (CLIENT-64). A refusal of an older generation,
such as that of a commit from before a JoinGroup, ends nothing."""


def _holdings(tables: Tables) -> DataFrame:
    """Return the owners of each partition, with begin and end."""
    return tables.once("holdings", _held)


def _held(tables: Tables) -> DataFrame:
    rows = _callbacks(tables)
    reporting = rows.select(*RUN, "client").distinct()
    assigned = _assignments(tables).join(reporting, [*RUN, "client"], "left_anti")
    return rows.unionByName(assigned).where("until_ns > since_ns")


def _stretches(tables: Tables) -> DataFrame:
    """Return the number of owners of each partition from one change to the next, from its first owner to the last owner in its group."""
    return tables.once("stretches", _counted)


def _callbacks(tables: Tables) -> DataFrame:
    """Return the callbacks of applications."""
    own = tables.rows.where("kind = 'event' and client is not null").where(f.col("who").isin(*REPORTERS, "kit")).withColumn("name", name_in())
    named = f.expr(
        f"CASE WHEN size(partitions) > 0 THEN transform(partitions, each -> struct(each.topic, each.partition)) ELSE from_json(get_json_object(body, '$.partitions'), '{_NAMED}') END"
    )
    events = (
        own.join(tables.groups_of_clients, [*RUN, "client"], "left").withColumn("group", f.coalesce("group", "spoken")).where("`group` is not null")
    )
    moves = events.where("who <> 'kit' and name in ('partitions_assigned', 'partitions_revoked', 'partitions_lost')")
    rows = moves.select(
        *GROUP, "client", "member", "seq", "at_ns", f.expr("name = 'partitions_assigned'").alias("holds"), f.explode(named).alias("place")
    )
    points = rows.select(*GROUP, "client", "member", "seq", "at_ns", "holds", "place.topic", "place.partition")
    ends = events.where(f.concat_ws(" ", "who", "name").isin(*_ENDS)).select(*GROUP, "client", "seq", "at_ns")
    ends = ends.unionByName(_eager_assignments(tables, moves)).withColumn("holds", f.expr("false"))
    ended = ends.join(points.where("holds").select(*GROUP, "client", *_PLACE).distinct(), [*GROUP, "client"]).withColumn(
        "member", f.lit(None).cast("string")
    )
    course = Window.partitionBy(*GROUP, "client", *_PLACE).orderBy("seq", "holds")  # a repeated eager assignment ends and begins
    whole = points.unionByName(ended.select(*points.columns)).withColumn("next_ns", f.lead("at_ns").over(course)).where("holds")
    frame = tables.rows.where(f.col("who").isin(*REPORTERS) & f.col("client").isNotNull())
    frame = frame.groupBy(*RUN, "client").agg(f.max("at_ns").alias("seen_ns"))
    until = f.expr("coalesce(next_ns, seen_ns)").alias("until_ns")
    return whole.join(frame, [*RUN, "client"]).select(*_HOLDER, *_PLACE, f.col("at_ns").alias("since_ns"), until)


def _eager_assignments(tables: Tables, moves: DataFrame) -> DataFrame:
    """Return the callbacks that replace all partitions of a client: an eager assignor's (CLIENT-62; KIP-429), not those with epochs (CGT-09)."""
    joins = tables.joins.select(*GROUP, "client", f.col("answered_seq").alias("seq"), "protocol", f.lit(None).cast("long").alias("at_ns"))
    beating = tables.answers.where(f"api = '{Api.CONSUMER_GROUP_HEARTBEAT.title}'").select(*RUN, "client").distinct()
    assigned = (
        moves.join(beating, [*RUN, "client"], "left_anti")
        .where("name = 'partitions_assigned'")
        .select(*GROUP, "client", "seq", f.lit(None).cast("string").alias("protocol"), "at_ns")
    )
    before = Window.partitionBy(*GROUP, "client").orderBy("seq")
    rows = joins.unionByName(assigned).withColumn("protocol", f.last("protocol", ignorenulls=True).over(before))
    return rows.where(f.col("at_ns").isNotNull() & ~f.coalesce(f.col("protocol").isin(*COOPERATIVE), f.expr("false"))).select(
        *GROUP, "client", "seq", "at_ns"
    )


def _assignments(tables: Tables) -> DataFrame:
    """Return the SyncGroup assignments of members without callbacks in the trace."""
    answers = tables.answers.where("member is not null")
    asked = answers.where("api = 'JoinGroup' and asked_member is not null").select(
        *GROUP, f.col("asked_member").alias("member"), f.col("asked_seq").alias("seq"), f.col("asked_ns").alias("at_ns"), f.lit("rejoins").alias("what"),
        *(f.lit(None).alias(name) for name in ("generation", "protocol", "partitions")),
    )  # fmt: skip
    answered = answers.select(
        *GROUP, "member", f.col("answered_seq").alias("seq"), f.col("answered_ns").alias("at_ns"), f.expr(_SAYS).alias("what"), "generation", "protocol",
        "partitions",
    )  # fmt: skip
    course = Window.partitionBy(*GROUP, "member").orderBy("seq")
    newest = {
        name: f.last(f.expr(f"CASE WHEN what = 'grants' THEN {name} END"), ignorenulls=True).over(course) for name in ("protocol", "generation")
    }
    marks = answered.unionByName(asked).where("what is not null and seq is not null")
    marks = marks.withColumns({f"newest_{name}": column for name, column in newest.items()})
    is_eager = ~f.coalesce(f.col("newest_protocol").isin(*COOPERATIVE), f.expr("false"))
    is_past = f.expr("coalesce(generation >= 0 and generation < newest_generation, false)")
    is_out = f.expr("what in ('gives', 'ends') or (what = 'stale' and generation = newest_generation)") | ((f.col("what") == "refuses") & ~is_past)
    ends = is_out | ((f.col("what") == "rejoins") & is_eager)
    whole = marks.where(ends).withColumn("next_ns", f.lead("at_ns").over(course)).where("what = 'gives' and size(partitions) > 0")
    rows = answers.groupBy(*GROUP, "member").agg(f.max(f.greatest("asked_ns", "answered_ns")).alias("seen_ns"), f.max("client").alias("client"))
    held = whole.join(rows, [*GROUP, "member"]).withColumn("place", f.explode("partitions"))
    return held.select(
        *_HOLDER, "place.topic", "place.partition", f.col("at_ns").alias("since_ns"), f.expr("coalesce(next_ns, seen_ns)").alias("until_ns")
    )


def _counted(tables: Tables) -> DataFrame:
    held = _holdings(tables)
    begins = held.select(*GROUP, *_PLACE, f.col("since_ns").alias("at_ns"), f.lit(1).alias("step"))
    ends = held.select(*GROUP, *_PLACE, f.col("until_ns").alias("at_ns"), f.lit(-1).alias("step"))
    steps = begins.unionByName(ends).groupBy(*GROUP, *_PLACE, "at_ns").agg(f.sum("step").alias("step"))
    course = Window.partitionBy(*GROUP, *_PLACE).orderBy("at_ns")
    over = held.groupBy(*GROUP).agg(f.max("until_ns").alias("over_ns"))
    owned = steps.withColumn("owners", f.sum("step").over(course)).withColumn("next_ns", f.lead("at_ns").over(course)).join(over, list(GROUP))
    return owned.select(*GROUP, *_PLACE, "owners", f.col("at_ns").alias("since_ns"), f.expr("coalesce(next_ns, over_ns)").alias("until_ns")).where(
        "until_ns > since_ns"
    )


def without_owner(tables: Tables) -> DataFrame:
    """Return the times in which a partition that had an owner has none, while other members of the group own some or return."""
    return _stretches(tables).where("owners = 0").select(*GROUP, *_PLACE, "since_ns", ms("until_ns - since_ns").alias("unowned_ms"))


def two_owners(tables: Tables) -> DataFrame:
    """Return each member that shared a partition, for each time with several owners; `share_ms` of its owners adds up to that time."""
    shared = _stretches(tables).where("owners > 1").withColumnsRenamed({"since_ns": "from_ns", "until_ns": "to_ns"})
    held = _holdings(tables).join(f.broadcast(shared), [*GROUP, *_PLACE]).where("since_ns <= from_ns and until_ns >= to_ns")
    rows = held.select(
        *_HOLDER, *_PLACE, "owners", f.col("from_ns").alias("since_ns"), ms("to_ns - from_ns").alias("shared_ms"),
        f.expr("((to_ns - from_ns) div 100000) / 10D / owners").alias("share_ms"),
    )  # fmt: skip
    return tables.with_release(rows)


NO_OWNER: Final = Query(
    name="without-owner", answers="How long partitions that had an owner before had none.", facts=without_owner, by=("group",), worst="unowned_ms_sum", measures=(
        Measure(name="stretches", kind="count"), Measure(name="unowned_ms_sum", kind="sum", of="unowned_ms"),
        *(Measure(name=f"unowned_ms_{kind}", kind=kind, of="unowned_ms") for kind in ("p50", "p99", "max")),
    ),
)  # fmt: skip

TWO_OWNERS: Final = Query(
    name="two-owners", answers="How long two members, or more, held a partition at once, and which.", facts=two_owners, worst="share_ms_sum", measures=(
        Measure(name="holders", kind="count"), Measure(name="share_ms_sum", kind="sum", of="share_ms"), Measure(name="shared_ms_max", kind="max", of="shared_ms"),
    ),
)  # fmt: skip
