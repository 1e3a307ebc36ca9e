"""Members: expired sessions, late joins, and the regularity of heartbeats."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import GROUP, MEMBER, Tables, ms, name_in

__all__ = ["EXPIRIES", "HEARTBEATS", "JOINERS", "LEAVES_SILENTLY"]

LEAVES_SILENTLY: Final = r"^SessionEnd/.*/(session-ends|newcomer-waited-too-long)$"
"""The table's rows in which a session timer removes a member."""

_OF_MEMBER: Final = [*GROUP, "member"]


def expiries(tables: Tables) -> DataFrame:
    """Return the members that were removed for their silence, with its length.

    `known_by`: timer (of the reference), log (of a broker), missing (neither: the next generation lacks the member, which had not left).
    """
    rows = tables.rows.where("`group` is not null and (member is not null or kind = 'timer')")
    timers = rows.where((f.col("kind") == "timer") & f.col("rule").rlike(LEAVES_SILENTLY)).withColumn("known_by", f.lit("timer"))
    logged = rows.where((f.col("kind") == "event") & (f.col("who") == "coordinator") & name_in().isin("expired", "consumer-expired"))
    expired = timers.unionByName(logged.withColumn("known_by", f.lit("log"))).select(*_OF_MEMBER, "seq", "at_ns", "known_by")
    every = expired.unionByName(_missing(tables))
    last = _last_heard(tables, every.where("known_by <> 'log'"))
    silent = every.join(last, [*_OF_MEMBER, "seq"], "left").withColumn("silent_ms", ms("at_ns - heard_ns"))
    return tables.with_client(silent.select(*_OF_MEMBER, "at_ns", "known_by", "silent_ms"))


def _missing(tables: Tables) -> DataFrame:
    """Return the members that the next generation lacks without a LeaveGroup, in groups without a coordinator's trace."""
    in_turn = Window.partitionBy(*GROUP).orderBy("generation")
    rows = tables.joins.join(tables.transition_groups, list(GROUP), "left_anti")
    formed = rows.groupBy(*GROUP, "generation").agg(
        f.min("answered_seq").alias("seq"),
        f.min("answered_ns").alias("at_ns"),
        f.collect_set("member").alias("ids"),
        f.max("asked_seq").alias("last_seq"),
    )
    turned = (
        formed.withColumn("before", f.lag("ids").over(in_turn)).withColumn("since_seq", f.lag("last_seq").over(in_turn)).where("before is not null")
    )
    gone = turned.select(*GROUP, "seq", "at_ns", "since_seq", f.explode(f.array_except("before", "ids")).alias("member"))
    left = tables.answers.where("api = 'LeaveGroup' and error = 0").select(*_OF_MEMBER, f.col("asked_seq").alias("left_seq"))
    back = gone.join(left, _OF_MEMBER, "left")
    silent = (
        back.groupBy(*_OF_MEMBER, "seq", "at_ns", "since_seq").agg(f.max("left_seq").alias("left_seq")).where("left_seq is null or left_seq > seq")
    )
    return silent.select(*_OF_MEMBER, "seq", "at_ns", f.lit("missing").alias("known_by"))


def _last_heard(tables: Tables, of: DataFrame) -> DataFrame:
    asked = tables.answers.where("asked_member is not null").select(
        *GROUP, f.col("asked_member").alias("member"), "asked_seq", "asked_ns", "answered_seq", "answered_ns"
    )
    heard = f.max(f.expr("greatest(asked_ns, CASE WHEN answered_seq < seq THEN answered_ns ELSE asked_ns END)"))
    return of.join(asked, _OF_MEMBER).where("asked_seq < seq").groupBy(*_OF_MEMBER, "seq").agg(heard.alias("heard_ns"))


def joiners(tables: Tables) -> DataFrame:
    """Return each member of each generation: its delay after the first join (`after_ms`), its wait (`held_ms`), and whether it was the last."""
    whole = Window.partitionBy(*GROUP, "generation")
    joins = tables.joins.withColumn("first_ns", f.min("asked_ns").over(whole)).withColumn("last_ns", f.max("asked_ns").over(whole))
    count = f.count(f.lit(1)).over(whole)
    return joins.withColumn("others", count).select(
        *MEMBER, "generation", "asked_ns", ms("asked_ns - first_ns").alias("after_ms"), ms("answered_ns - asked_ns").alias("held_ms"),
        f.expr("others > 1 and asked_ns = last_ns").alias("is_last"),
    )  # fmt: skip


def heartbeats(tables: Tables) -> DataFrame:
    """Return the whole milliseconds between successive heartbeats of a member within a generation."""
    beats = tables.frames.where("api = 'Heartbeat' and kind = 'request' and member is not null").select(
        *GROUP, "client", "member", "generation", "seq", "at_ns"
    )
    in_turn = Window.partitionBy(*_OF_MEMBER).orderBy("seq")
    rows = beats.withColumn("before_ns", f.lag("at_ns").over(in_turn)).withColumn("before", f.lag("generation").over(in_turn))
    between = rows.where("before_ns is not null and generation <=> before")
    return tables.with_release(between.select(*GROUP, "client", "member", f.expr("(at_ns - before_ns) div 1000000").alias("interval_ms")))


EXPIRIES: Final = Query(
    name="session-expiries", answers="Whose session ended, and how long each had been silent.", facts=expiries, keys=("known_by",), worst="expiries",
    measures=(
        Measure(name="expiries", kind="count"), Measure(name="silent_ms_p50", kind="p50", of="silent_ms"), Measure(name="silent_ms_max", kind="max", of="silent_ms"),
    ),
)  # fmt: skip

JOINERS: Final = Query(
    name="slowest-joiners", answers="Who keeps a rebalance waiting: how long after the first each member came to join, and who was last.", facts=joiners,
    worst="after_ms_max", measures=(
        Measure(name="joins", kind="count"), Measure(name="last", kind="sum", of="int(is_last)"),
        *(Measure(name=f"after_ms_{kind}", kind=kind, of="after_ms") for kind in ("p50", "p99", "max")),
        *(Measure(name=f"held_ms_{kind}", kind=kind, of="held_ms") for kind in ("p50", "p99", "max")),
    ),
)  # fmt: skip

HEARTBEATS: Final = Query(
    name="heartbeat-jitter", answers="How evenly heartbeats come: the time from one to the next, and how much it spreads.", facts=heartbeats, is_kept=False,
    worst="interval_ms_max", measures=(
        Measure(name="intervals", kind="count"), Measure(name="interval_ms_mean", kind="mean", of="interval_ms"),
        Measure(name="interval_ms_spread", kind="spread", of="interval_ms"),
        *(Measure(name=f"interval_ms_{kind}", kind=kind, of="interval_ms") for kind in ("p50", "p99", "max")),
    ),
)  # fmt: skip
