"""Rebalances with cause, phases and duration; storms of them; generations that were skipped or went back."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.cause_words import cause_of_changes, cause_of_reason, member_of_reason
from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import GROUP, OWN_WITNESS, RUN, Tables, ms

__all__ = ["GENERATION_GAPS", "REBALANCES", "STORMS", "STORM_MIN", "STORM_STILL_MS"]

STORM_STILL_MS: Final = 10_000
"""A rebalance belongs to the previous one's storm if the group was settled for less than this before it."""

STORM_MIN: Final = 5
"""The minimum number of rebalances in a storm."""

_COLUMNS: Final = (
    "generation", "cause", "member", "outcome", "started_ns", "join_ms", "sync_ms", "lasted_ms", "members", "by_coordinator", "by_members",
)  # fmt: skip


def rebalances(tables: Tables) -> DataFrame:
    """Return each rebalance once: from the coordinator's trace, or from requests in groups without one.

    `by_coordinator` and `by_members` say which side has its generation; both are false if none was formed. A generation that only members have,
    in a group with a coordinator's trace, has no phases.
    """
    return tables.once("rebalances", _rebalances)


def _rebalances(tables: Tables) -> DataFrame:
    rows, frame = _from_coordinator(tables), _from_members(tables)
    answered = _answered(tables)
    whole = rows.unionByName(frame).join(answered, [*GROUP, "generation"], "left").withColumn("by_members", f.col("answered").isNotNull())
    whole = whole.withColumn("members", f.coalesce("members", "answered"))
    alone = answered.join(tables.transition_groups, list(GROUP)).join(rows.where("generation is not null"), [*GROUP, "generation"], "left_anti")
    nothing = {name: f.lit(None) for name in ("cause", "member", "started_ns", "join_ms", "sync_ms", "lasted_ms")}
    flags = {"members": f.col("answered"), "outcome": f.lit("members alone"), "by_coordinator": f.expr("false"), "by_members": f.expr("true")}
    every = whole.select(*GROUP, *_COLUMNS).unionByName(alone.withColumns({**nothing, **flags}).select(*GROUP, *_COLUMNS))
    return tables.with_client(every)


def _answered(tables: Tables) -> DataFrame:
    """Return the generations in answers to members: in the members' own trace, or in a tap's if there is one."""
    joins = tables.rows.where("kind = 'response' and api = 'JoinGroup' and coalesce(error, 0) = 0 and generation > 0 and `group` is not null")
    mine = joins.join(f.broadcast(tables.subscriptions.select(*RUN, "own_witness")), list(RUN)).where(f"{OWN_WITNESS} = own_witness")
    return mine.groupBy(*GROUP, "generation").agg(f.count_distinct(f.coalesce(f.nullif("member", f.lit("")), "client")).alias("answered"))


def _from_coordinator(tables: Tables) -> DataFrame:
    """Return the rebalances in a coordinator's transitions, each from its beginning to the next one's."""
    course = Window.partitionBy(*GROUP).orderBy("seq")
    begins = (f.col("state_after") == "PreparingRebalance") & f.coalesce(f.col("state_before") != "PreparingRebalance", f.expr("true"))
    numbered = (
        tables.transitions.withColumn("begins", begins).withColumn("number", f.sum(f.col("begins").cast("int")).over(course)).where("number > 0")
    )
    once = numbered.groupBy(*GROUP, "number").agg(
        f.min(f.when(f.col("begins"), f.struct("seq", "at_ns", "generation", "state_before", "detail", "is_logged"))).alias("b"),
        f.min(f.when(f.col("state_after") == "CompletingRebalance", f.struct("seq", "at_ns", "generation", "count"))).alias("c"),
        f.min(f.when(f.col("state_after") == "Stable", f.col("at_ns"))).alias("settled_ns"),
        f.min(f.when(f.col("state_after") == "Empty", f.col("at_ns"))).alias("emptied_ns"),
        f.min(f.when(f.col("state_after") == "Dead", f.col("at_ns"))).alias("moved_ns"),
    )
    in_turn = Window.partitionBy(*GROUP).orderBy("number")
    left = _leaving(tables, once)
    changes = once.withColumn("was_emptied", f.lag(f.col("emptied_ns").isNotNull() & f.col("c").isNull()).over(in_turn)).withColumn(
        "has_next", f.lead("number").over(in_turn).isNotNull()
    )
    is_initial = f.expr("coalesce(b.state_before = 'Empty', was_emptied, number = 1 and coalesce(b.generation, 0) <= 0)")
    outcome = f.expr(
        "CASE WHEN settled_ns IS NOT NULL THEN 'settled' WHEN c IS NULL AND emptied_ns IS NOT NULL THEN 'emptied' WHEN moved_ns IS NOT NULL THEN 'moved' "
        "WHEN has_next THEN 'begun anew' ELSE 'cut off' END"
    )
    own = f.concat_ws(
        "; client reason: ", "b.detail", f.when(~f.contains(f.coalesce("b.detail", f.lit("")), f.lit("; client reason:")), f.col("left.reason"))
    )
    return changes.join(left, [*GROUP, "number"], "left").select(
        *GROUP, f.col("c.generation").alias("generation"), cause_of_reason(own, is_initial=is_initial).alias("cause"),
        f.coalesce(member_of_reason(f.col("b.detail")), "left.member").alias("member"), outcome.alias("outcome"), f.col("b.at_ns").alias("started_ns"),
        ms("c.at_ns - b.at_ns").alias("join_ms"), ms("settled_ns - c.at_ns").alias("sync_ms"),
        ms("coalesce(settled_ns, c.at_ns, emptied_ns, moved_ns) - b.at_ns").alias("lasted_ms"), f.col("c.count").cast("long").alias("members"),
        f.col("c").isNotNull().alias("by_coordinator"),
    )  # fmt: skip


def _leaving(tables: Tables, rows: DataFrame) -> DataFrame:
    """Return the member whose LeaveGroup began a rebalance with a reason that names none: the one under way. A log's order is not that of frames."""
    began = rows.where("not b.is_logged and b.detail like '%LeaveGroup%'").select(*GROUP, "number", f.col("b.seq").alias("seq"))
    under_way = began.join(tables.leaves, list(GROUP)).where("asked_seq < seq and coalesce(answered_seq > seq, true)")
    return under_way.groupBy(*GROUP, "number").agg(f.max(f.struct("asked_seq", "member", "reason")).alias("left"))


def _from_members(tables: Tables) -> DataFrame:
    """Return the rebalances that requests and answers show, in groups without a coordinator's trace."""
    joins = tables.joins.join(tables.transition_groups, list(GROUP), "left_anti")
    in_turn = Window.partitionBy(*GROUP).orderBy("generation")
    formed = joins.groupBy(*GROUP, "generation").agg(
        f.min("asked_ns").alias("started_ns"), f.min("answered_ns").alias("joined_ns"), f.min("answered_seq").alias("joined_seq"),
        f.collect_set("member").alias("ids"),
    )  # fmt: skip
    turned = formed.withColumn("before", f.lag("ids").over(in_turn)).withColumn("has_next", f.lead("generation").over(in_turn).isNotNull())
    came = joins.join(turned.select(*GROUP, "generation", "before"), [*GROUP, "generation"])
    newcomers = came.where("before is null or not array_contains(before, member)")
    first = newcomers.groupBy(*GROUP, "generation").agg(f.min(f.struct("asked_seq", "member")).alias("came"))
    syncs = tables.answers.where("api = 'SyncGroup' and error = 0").groupBy(*GROUP, "generation").agg(f.min("answered_ns").alias("settled_ns"))
    leaves = _leaves(tables)
    keys = [*GROUP, "generation"]
    whole = turned.join(first, keys, "left").join(syncs, keys, "left").join(leaves, keys, "left")
    lost = f.expr("array_except(array_except(before, ids), coalesce(gone, array()))")
    cause = cause_of_changes(
        is_first=f.col("before").isNull(), came_seq=f.col("came.asked_seq"), left_seq=f.col("left.asked_seq"), reason=f.col("left.reason"),
        has_lost=f.size(lost) > 0,
    )  # fmt: skip
    member = f.expr(
        "CASE cause WHEN 'first-member' THEN came.member WHEN 'new-member' THEN came.member WHEN 'heartbeat-timeout' THEN array_min(lost) "
        "WHEN 'client-change-untold' THEN NULL ELSE left.member END"
    )
    return whole.withColumn("lost", lost).withColumn("cause", cause).select(
        *GROUP, "generation", "cause", member.alias("member"),
        f.expr("CASE WHEN settled_ns IS NOT NULL THEN 'settled' WHEN has_next THEN 'begun anew' ELSE 'cut off' END").alias("outcome"), "started_ns",
        ms("joined_ns - started_ns").alias("join_ms"), ms("settled_ns - joined_ns").alias("sync_ms"),
        ms("coalesce(settled_ns, joined_ns) - started_ns").alias("lasted_ms"), f.size("ids").cast("long").alias("members"),
        f.expr("false").alias("by_coordinator"),
    )  # fmt: skip


def _leaves(tables: Tables) -> DataFrame:
    """Return for each generation the members that left before it: the first, and all of them."""
    points = tables.leaves.select(
        *GROUP, f.col("asked_seq").alias("seq"), f.struct("asked_seq", "member", "reason").alias("leave"), f.lit(None).cast("int").alias("to")
    )
    formed = tables.member_generations.select(
        *GROUP, "seq", f.lit(None).cast("struct<asked_seq:bigint,member:string,reason:string>").alias("leave"), f.col("generation").alias("to")
    )
    onward = Window.partitionBy(*GROUP).orderBy("seq").rowsBetween(Window.currentRow, Window.unboundedFollowing)
    placed = points.unionByName(formed).withColumn("generation", f.first("to", ignorenulls=True).over(onward))
    return (
        placed.where("leave is not null and generation is not null")
        .groupBy(*GROUP, "generation")
        .agg(f.min("leave").alias("left"), f.collect_set("leave.member").alias("gone"))
    )


def storms(tables: Tables) -> DataFrame:
    """Return series of at least `STORM_MIN` rebalances in which the group was never settled for `STORM_STILL_MS`."""
    began = rebalances(tables).where("started_ns is not null").withColumn("ended_ns", f.expr("started_ns + bigint(lasted_ms * 1000000)"))
    in_turn = Window.partitionBy(*GROUP).orderBy("started_ns")
    still = f.expr(f"started_ns - lag(ended_ns) OVER (PARTITION BY run, `case`, `group` ORDER BY started_ns) >= {STORM_STILL_MS} * 1000000L")
    apart = began.withColumn("is_anew", f.coalesce(still, f.expr("true")).cast("int")).withColumn("storm", f.sum("is_anew").over(in_turn))
    gathered = apart.groupBy(*GROUP, "storm").agg(
        f.min("started_ns").alias("started_ns"), f.count(f.lit(1)).alias("rebalances"), f.sum("lasted_ms").alias("rebalancing_ms"),
        f.max(f.coalesce("ended_ns", "started_ns")).alias("ended_ns"), f.array_join(f.array_sort(f.collect_set("cause")), ", ").alias("causes"),
    )  # fmt: skip
    return gathered.where(f"rebalances >= {STORM_MIN}").select(
        *GROUP, "started_ns", ms("ended_ns - started_ns").alias("lasted_ms"), "rebalances", "rebalancing_ms", "causes"
    )


def generation_gaps(tables: Tables) -> DataFrame:
    """Return where the next formed generation is not the next number.

    `kind`: emptied (the group was empty in between, which takes a generation), anew (it was created again or loaded), gap or fall, neither of which a
    coordinator ever makes; untold where only members are recorded, which do not see an empty group.
    """
    in_turn = Window.partitionBy(*GROUP).orderBy("seq")
    pairs = tables.formed.withColumn("before", f.lag("generation").over(in_turn)).withColumn("before_seq", f.lag("seq").over(in_turn))
    apart = pairs.where("before is not null and generation <> before + 1")
    moves = tables.transitions.join(apart.select(*GROUP, f.col("seq").alias("until_seq"), "before_seq"), list(GROUP))
    counted = (
        moves.where("seq > before_seq and seq < until_seq")
        .groupBy(*GROUP, f.col("until_seq").alias("seq"))
        .agg(
            f.count_if(f.expr("state_after = 'Empty' and coalesce(state_before, '') <> ''")).alias("emptied"),
            f.count_if(f.expr("state_before is null and state_after in ('Empty', 'Stable', 'CompletingRebalance')")).alias("made"),
        )
    )
    gaps = apart.join(counted, [*GROUP, "seq"], "left").join(tables.transition_groups, list(GROUP), "left").fillna(0, ["emptied", "made"])
    kind = f.expr(
        "CASE WHEN is_told IS NULL THEN 'untold' WHEN made > 0 THEN 'anew' WHEN generation <= before THEN 'fall' "
        "WHEN emptied >= generation - before - 1 THEN 'emptied' ELSE 'gap' END"
    )
    return gaps.select(*GROUP, "at_ns", "before", "generation", f.expr("generation - before - 1").alias("missing"), "emptied", kind.alias("kind"))


REBALANCES: Final = Query(
    name="rebalances", answers="Why each rebalance began, how long its phases took, and whether the coordinator and the members report the same.",
    facts=rebalances, keys=("cause",), worst="lasted_ms_p99", measures=(
        Measure(name="rebalances", kind="count"), Measure(name="formed", kind="count", of="generation"),
        Measure(name="coordinator_only", kind="sum", of="int(by_coordinator and not by_members)"),
        Measure(name="members_only", kind="sum", of="int(outcome = 'members alone')"), Measure(name="lasted_ms_sum", kind="sum", of="lasted_ms"),
        *(Measure(name=f"{phase}_{kind}", kind=kind, of=phase) for phase in ("lasted_ms", "join_ms", "sync_ms") for kind in ("p50", "p99", "max")),
    ),
)  # fmt: skip

STORMS: Final = Query(
    name="storms", answers=f"When a group rebalanced {STORM_MIN} times or more without being settled for {STORM_STILL_MS // 1000} s in between.",
    facts=storms, by=("group",), worst="rebalances", measures=(
        Measure(name="storms", kind="count"), Measure(name="rebalances", kind="sum", of="rebalances"), Measure(name="lasted_ms_sum", kind="sum", of="lasted_ms"),
        Measure(name="lasted_ms_max", kind="max", of="lasted_ms"),
    ),
)  # fmt: skip

GENERATION_GAPS: Final = Query(
    name="generation-gaps", answers="Where the next generation of a group is not the next number, and whether anything explains it.",
    facts=generation_gaps, by=("group",), keys=("kind",), worst="missing",
    measures=(Measure(name="gaps", kind="count"), Measure(name="missing", kind="sum", of="missing"), Measure(name="missing_max", kind="max", of="missing")),
)  # fmt: skip
