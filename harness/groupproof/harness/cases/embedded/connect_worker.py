"""A Kafka Connect worker: the protocols that it offers, its metadata, and its reaction to an assignment."""

from __future__ import annotations

from groupproof.harness.cases.embedded.connect_builders import OFFSET, assigns, connect_case, jobs, joined_workers, synced, worker
from groupproof.harness.judging.case_checkers.embedded.connect_duties import (
    describes_itself,
    follows_up,
    leaves_while_behind,
    names_its_jobs,
    offers,
    says_offset,
    stays_in,
    waits_out_the_delay,
)
from groupproof.harness.judging.case_checkers.reactions import REACT_MS
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import delivered, passing, plan, requested, start, tells_of_a_rebalance
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.connect_protocol import CONFIG_MISMATCH

__all__ = ["CASES"]

_JOIN, _BEAT = Api.JOIN_GROUP, Api.HEARTBEAT
_DELAY_MS = 1_500
_SHORT_MS = 2_000
"""A worker backs off for fractions of its scheduled rebalance delay (DistributedHerder.backoff)."""
_SYNC_MS = 500
_NEWER = 5
_WAIT_MS = 12_000


def _offers(protocol: str, *names: str) -> Case:
    return connect_case(
        f"offers-{protocol}",
        f"A worker with connect.protocol={protocol} offers {', '.join(names)}, each with a blob of its version.",
        ("CONNECT-01", "CONNECT-02"),
        plan(worker(connect_protocol=protocol), joined_workers("m0")),
        offers("m0", *names),
        describes_itself("m0", offset=OFFSET),
    )


def _rejoin() -> list[Step]:
    """Make m0 join again, by heartbeats that are answered with 27."""
    return [*tells_of_a_rebalance(), synced("m0", after="rebalance", go_on=True)]


_OFFERS: tuple[Case, ...] = (
    _offers("sessioned", "sessioned", "compatible", "default"),
    _offers("compatible", "compatible", "default"),
    _offers("eager", "default"),
)

_ASSIGNED: tuple[Case, ...] = (
    connect_case(
        "names-what-it-runs",
        "A worker that joins again names the connectors and tasks that it runs.",
        ("CONNECT-03",),
        plan(worker(), *joined_workers("m0"), *_rejoin(), passing(300)),
        names_its_jobs("m0"),
    ),
    connect_case(
        "follows-a-revocation-up",
        "A worker from which a task is revoked gives it up and joins again at once.",
        ("CONNECT-07", "CONNECT-03"),
        plan(
            worker(),
            *joined_workers("m0"),
            assigns("revoked", revoked=(("t", 0),)),
            *tells_of_a_rebalance(),
            delivered("revoked"),
            requested("m0", _JOIN, after="revoked", within_ms=_WAIT_MS, go_on=True),
            passing(300),
        ),
        follows_up("m0", after="revoked", requirement="CONNECT-07"),
        names_its_jobs("m0"),
    ),
    connect_case(
        "waits-out-the-delay",
        "A worker whose assignment carries a delay joins again when it has passed, and not before.",
        ("CONNECT-09",),
        plan(
            worker(),
            assigns("delayed", assigned=jobs("t"), delay_ms=_DELAY_MS),
            *start("m0"),
            delivered("delayed"),
            requested("m0", _JOIN, after="delayed", within_ms=_WAIT_MS, go_on=True),
            passing(300),
        ),
        waits_out_the_delay("m0", _DELAY_MS, after="delayed"),
    ),
    connect_case(
        "failed-assignment",
        "A worker whose assignment carries an error joins again.",
        ("CONNECT-12",),
        plan(
            worker(),
            assigns("failed", error=CONFIG_MISMATCH),
            *start("m0"),
            delivered("failed"),
            requested("m0", _JOIN, after="failed", within_ms=_WAIT_MS, go_on=True),
            passing(300),
        ),
        follows_up("m0", after="failed", requirement="CONNECT-12"),
    ),
    connect_case(
        "behind-the-leader",
        "A worker that cannot read the configuration as far as its leader leaves the group, and stays out until it can.",
        ("CONNECT-13",),
        plan(
            worker(config_end=OFFSET, worker_sync_timeout_ms=_SYNC_MS, scheduled_rebalance_max_delay_ms=_SHORT_MS),
            *joined_workers("m0"),
            assigns("ahead", offset=_NEWER),
            *tells_of_a_rebalance(),
            delivered("ahead"),
            requested("m0", Api.LEAVE_GROUP, after="ahead", within_ms=_WAIT_MS, go_on=True),
            passing(2_500),
        ),
        leaves_while_behind("m0", after="ahead"),
    ),
    connect_case(
        "catches-up-with-the-leader",
        "A worker that is behind its leader reads the configuration, stays in the group, and says the new offset when it next joins.",
        ("CONNECT-14",),
        plan(
            worker(config_end=_NEWER),
            *joined_workers("m0"),
            assigns("ahead", offset=_NEWER),
            *tells_of_a_rebalance(name="first"),
            delivered("ahead"),
            passing(1_000),
            *_rejoin(),
            passing(300),
        ),
        stays_in("m0", after="ahead", requirement="CONNECT-14"),
        says_offset("m0", _NEWER, after="rebalance", requirement="CONNECT-14"),
    ),
    connect_case(
        "assignment-of-a-later-version",
        "A worker reads an assignment of a later version as one of the newest that it knows.",
        ("CONNECT-16",),
        plan(
            worker(),
            assigns("later", version=3, assigned=jobs("t", tasks=1), trailing=b"\0\0\0\x07"),
            *start("m0"),
            delivered("later"),
            requested("m0", _BEAT, after="later", within_ms=round(REACT_MS), go_on=True),
            *_rejoin(),
            passing(300),
        ),
        names_its_jobs("m0", requirement="CONNECT-16"),
    ),
)

CASES: tuple[Case, ...] = (*_OFFERS, *_ASSIGNED)
