"""A Kafka Connect worker as the leader of its group: m0 starts first and leads, a0 is a reference worker."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.embedded.connect_builders import OFFSET, connect_case, jobs, joined_workers, synced, worker
from groupproof.harness.judging.case_checkers.embedded.connect_assignments import (
    agrees_on,
    answers_mismatch,
    assigns_everything,
    assigns_once,
    keeps_lost_jobs_back,
    leaves_others_alone,
    revokes,
    revokes_first,
)
from groupproof.harness.judging.case_checkers.embedded.connect_duties import says_offset
from groupproof.harness.judging.case_checkers.reactions import REACT_MS
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member
from groupproof.harness.model.plan_builders import close, command, mark, passing, plan, start, tells_of_a_rebalance

__all__ = ["CASES"]

_MAX_DELAY_MS = 3_000
_AFTER_DELAY_MS = round(_MAX_DELAY_MS + REACT_MS)
_WAIT_MS = 16_000
_NEWER = 5
_REPLY_MS = round(REACT_MS) + 1_000


def _peer(**settings: Any) -> Member:
    """Return a reference worker beside the subject."""
    return worker("a0", kind="reference", **settings)


def _agrees(protocol: str, name: str) -> Case:
    return connect_case(
        f"agrees-on-{name}",
        f"A leader whose group has a worker with connect.protocol={protocol} assigns in the version that both know.",
        ("CONNECT-04", "CONNECT-05"),
        plan(
            worker(),
            _peer(connect_protocol=protocol),
            mark("first"),
            *start("m0"),
            synced("m0", after="first"),
            mark("second"),
            *start("a0"),
            synced("a0", after="second"),
            passing(1_500),
        ),
        agrees_on("m0", name, after="second"),
        assigns_once("m0"),
    )


_AGREEMENT: tuple[Case, ...] = (_agrees("eager", "default"), _agrees("compatible", "compatible"))

_DEALING: tuple[Case, ...] = (
    connect_case(
        "assigns-everything-once",
        "A leader gives each connector and each task to one worker.",
        ("CONNECT-05", "CONNECT-04"),
        plan(worker(connectors=("t", "u")), *joined_workers("m0"), passing(_REPLY_MS), topics={"t": 1, "u": 1}),
        agrees_on("m0", "sessioned"),
        assigns_once("m0"),
        assigns_everything("m0", *jobs("t", "u"), after="start-m0"),
    ),
    connect_case(
        "revokes-before-it-assigns",
        "A leader takes what is to move to a new worker in one generation, and gives it in the next.",
        ("CONNECT-06", "CONNECT-05"),
        plan(worker(), _peer(), *joined_workers("m0", "a0"), passing(_REPLY_MS)),
        revokes_first("m0", after="start-a0"),
        assigns_once("m0"),
        assigns_everything("m0", *jobs("t"), after="start-a0"),
    ),
    connect_case(
        "new-connector",
        "A leader that reads of a new connector joins again with the new offset and assigns it.",
        ("CONNECT-15", "CONNECT-05"),
        plan(
            worker(),
            *joined_workers("m0"),
            mark("changed"),
            command("m0", "resubscribe", topics=["t", "u"]),
            synced("m0", after="changed", go_on=True),
            passing(_REPLY_MS),
            topics={"t": 1, "u": 1},
        ),
        says_offset("m0", OFFSET + 1, after="changed", requirement="CONNECT-15"),
        assigns_everything("m0", *jobs("t", "u"), after="changed", requirement="CONNECT-15"),
        assigns_once("m0"),
    ),
    connect_case(
        "deleted-connector",
        "A leader that reads that a connector was deleted revokes it and its tasks.",
        ("CONNECT-15",),
        plan(
            worker(connectors=("t", "u")),
            *joined_workers("m0"),
            mark("changed"),
            command("m0", "resubscribe", topics=["t"]),
            synced("m0", after="changed", go_on=True),
            passing(_REPLY_MS),
            topics={"t": 1, "u": 1},
        ),
        says_offset("m0", OFFSET + 1, after="changed", requirement="CONNECT-15"),
        revokes("m0", *jobs("u"), after="changed"),
    ),
    connect_case(
        "leader-behind",
        "A leader that cannot read the configuration as far as another worker assigns nothing and says why.",
        ("CONNECT-11",),
        plan(
            worker(config_end=OFFSET, worker_sync_timeout_ms=500, scheduled_rebalance_max_delay_ms=2_000),
            _peer(config_offset=_NEWER),
            mark("first"),
            *start("m0"),
            synced("m0", after="first"),
            mark("second"),
            *start("a0"),
            synced("a0", after="second"),
            passing(300),
        ),
        answers_mismatch("m0", _NEWER, after="second"),
    ),
)

_LOSS: tuple[Case, ...] = (
    connect_case(
        "waits-for-a-lost-worker",
        "A leader gives what a worker ran that left to nobody before the scheduled rebalance delay has passed, and then to who is there.",
        ("CONNECT-08", "CONNECT-10"),
        plan(
            worker(scheduled_rebalance_max_delay_ms=_MAX_DELAY_MS),
            _peer(),
            *joined_workers("m0", "a0"),
            mark("left"),
            close("a0"),
            synced("m0", after="left", count=2, within_ms=_WAIT_MS, go_on=True),
            passing(_REPLY_MS),
        ),
        keeps_lost_jobs_back("m0", _MAX_DELAY_MS, after="left"),
        assigns_everything("m0", *jobs("t"), after="left", requirement="CONNECT-10", within_ms=_AFTER_DELAY_MS),
    ),
    connect_case(
        "delay-counts-down",
        "Another rebalance within the scheduled rebalance delay does not prolong it.",
        ("CONNECT-08",),
        plan(
            worker(scheduled_rebalance_max_delay_ms=_MAX_DELAY_MS),
            _peer(),
            *joined_workers("m0", "a0"),
            mark("left"),
            close("a0"),
            synced("m0", after="left"),
            passing(1_200),
            *tells_of_a_rebalance(),
            synced("m0", after="rebalance"),
            passing(300),
        ),
        keeps_lost_jobs_back("m0", _MAX_DELAY_MS, after="left", counts_down=True),
    ),
    connect_case(
        "worker-returns",
        "A worker that comes back within the delay gets what was lost when it has passed, and the others keep what they run.",
        ("CONNECT-10", "CONNECT-08"),
        plan(
            worker(scheduled_rebalance_max_delay_ms=_MAX_DELAY_MS),
            _peer(),
            *joined_workers("m0", "a0"),
            mark("left"),
            close("a0"),
            synced("m0", after="left"),
            *start("a0"),
            synced("m0", after="left", count=3, within_ms=_WAIT_MS, go_on=True),
            passing(_REPLY_MS),
        ),
        keeps_lost_jobs_back("m0", _MAX_DELAY_MS, after="left"),
        assigns_everything("m0", *jobs("t"), after="left", requirement="CONNECT-10", within_ms=_AFTER_DELAY_MS),
        leaves_others_alone("m0", after="left"),
    ),
)

CASES: tuple[Case, ...] = (*_AGREEMENT, *_DEALING, *_LOSS)
