"""Commits: their number in each generation, and those of former members; and the answer and response time of every request."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import GROUP, MEMBER, Tables, ms
from groupproof.protocol.vocabulary import MEMBERSHIP_ENDS

__all__ = ["COMMITS", "REQUESTS", "ZOMBIES"]


def zombies(tables: Tables) -> DataFrame:
    """Return commits of a generation that was over when they were sent, and commits refused for their generation or member.

    `newest` is the group's newest generation in JoinGroup answers so far; `outcome` is accepted, refused or unanswered. An accepted commit of an
    older generation overwrites the new owner's.
    """
    commits = tables.answers.where("api = 'OffsetCommit' and generation >= 0").select(
        *MEMBER, "generation", f.col("asked_seq").alias("seq"), "asked_ns", "error", "offsets", f.lit(None).cast("int").alias("formed")
    )
    nothing = {name: f.lit(None) for name in ("client", "release", "member", "asked_ns", "error", "offsets")}
    formed = tables.member_generations.select(*GROUP, "generation", "seq").withColumns(nothing).withColumn("formed", f.col("generation"))
    so_far = Window.partitionBy(*GROUP).orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    generations = commits.unionByName(formed.select(*commits.columns)).withColumn("newest", f.max("formed").over(so_far)).where("formed is null")
    fenced = ", ".join(str(int(code)) for code in sorted(MEMBERSHIP_ENDS))
    stale = generations.where(f"generation < newest or error in ({fenced})")
    outcome = f.expr("CASE WHEN error IS NULL THEN 'unanswered' WHEN error = 0 THEN 'accepted' ELSE 'refused' END")
    return stale.select(*MEMBER, "generation", "newest", "asked_ns", "error", "offsets", outcome.alias("outcome"))


def commits(tables: Tables) -> DataFrame:
    """Return each member's number of commits in each generation; a generation without any has one row without a member."""
    asked = tables.answers.where("api = 'OffsetCommit' and generation > 0").groupBy(*MEMBER, "generation").agg(
        f.count(f.lit(1)).alias("commits"), f.count_if(f.expr("error = 0")).alias("accepted"), f.count_if(f.expr("error <> 0")).alias("refused"),
        f.sum("offsets").alias("offsets"),
    )  # fmt: skip
    without = tables.formed.select(*GROUP, "generation").join(asked, [*GROUP, "generation"], "left_anti")
    zero = {name: f.lit(0).cast("long") for name in ("commits", "accepted", "refused", "offsets")}
    nobody = {name: f.lit(None).cast("string") for name in ("client", "release", "member")}
    return asked.unionByName(without.withColumns({**nobody, **zero}).select(*asked.columns))


def requests(tables: Tables) -> DataFrame:
    """Return each request of a member with its answer's error and response time; parked requests are answered when the group continues."""
    return tables.answers.where("asked_seq is not null").select(*MEMBER, "api", "error", ms("answered_ns - asked_ns").alias("answer_ms"))


ZOMBIES: Final = Query(
    name="zombie-commits", answers="Commits of members that the group had gone on without: refused, as it should be, or accepted.", facts=zombies,
    keys=("outcome",), worst="commits", measures=(Measure(name="commits", kind="count"), Measure(name="offsets", kind="sum", of="offsets")),
)  # fmt: skip

COMMITS: Final = Query(
    name="commits-per-rebalance", answers="How many commits come between one rebalance and the next.", facts=commits, worst="commits", measures=(
        Measure(name="generations", kind="distinct", of="struct(run, `case`, `group`, generation)"), Measure(name="commits", kind="sum", of="commits"), Measure(name="accepted", kind="sum", of="accepted"),
        Measure(name="refused", kind="sum", of="refused"), Measure(name="offsets", kind="sum", of="offsets"),
    ),
)  # fmt: skip

REQUESTS: Final = Query(
    name="requests", answers="What members asked, what they were answered, and how soon.", facts=requests, keys=("api", "error"), worst="requests",
    by=("group", "client", "release"), is_kept=False, measures=(
        Measure(name="requests", kind="count"), *(Measure(name=f"answer_ms_{kind}", kind=kind, of="answer_ms") for kind in ("mean", "p50", "p99", "max")),
    ),
)  # fmt: skip
