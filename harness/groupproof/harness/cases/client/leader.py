"""A leader of other clients' members: subscriptions of each version, a fair assignment, and owners that revoke first."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import case
from groupproof.harness.judging.case_checkers.leader_assignment import assigns_everything
from groupproof.harness.judging.case_checkers.leader_duties import hands_over_in_two_steps, leaves_nobody_out, or_left, syncs_as_leader
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member
from groupproof.harness.model.plan_builders import joined, mark, passing, plan, reference_peer, stable, start, subject

__all__ = ["CASES"]

_TOPICS = {"t": 4}
_SETTLES_MS = 9_000


def _peer(variant: str | None = None, **settings: Any) -> Member:
    """Return a reference member of the subject's group, with another client's subscription."""
    properties = {} if variant is None else {"groupproof.variant": variant}
    return reference_peer("z0", properties={**properties, **settings.pop("properties", {})}, **settings)


def _leading(name: str, title: str, peer: Member) -> Case:
    return case(
        f"assignor/{name}",
        title,
        ("CLIENT-36", "CLIENT-12", "ASSIGN-10", "ASSIGN-09"),
        plan(
            subject("m0"),
            peer,
            *joined("m0"),
            mark("newcomer"),
            *start("z0"),
            stable("m0", "z0", after="newcomer", within_ms=_SETTLES_MS, go_on=True),
            passing(2_000),
            topics=_TOPICS,
        ),
        syncs_as_leader("m0", members=2, after="newcomer"),
        *(
            or_left("m0", 2, judge, after="newcomer")
            for judge in (
                leaves_nobody_out("m0", members=2, partitions=_TOPICS["t"], after="newcomer"),
                assigns_everything("m0", _TOPICS, after="newcomer", requirement="ASSIGN-10"),
                assigns_everything("m0", _TOPICS, after="newcomer", requirement="ASSIGN-09"),
            )
        ),
    )


# Kafka's ConsumerProtocol: "The current implementation assumes that future versions will not break compatibility. When it encounters a newer version,
# it parses it using the current format. This basically means that new versions cannot remove or reorder any of the existing fields." New fields stand
# at the end. A leader that refuses them sends no SyncGroup (CLIENT-36), and its whole group has no partition: sarama refuses unread bytes.
CASES: tuple[Case, ...] = (
    _leading("peer-of-version-0", "A leader assigns for a member whose subscription names topics and no more.", _peer("subscription-v0")),
    _leading("peer-of-version-1", "A leader assigns for a member whose subscription names what it owns (KIP-429) as well.", _peer("subscription-v1")),
    _leading(
        "peer-of-version-3",
        "A leader assigns for a member whose subscription names its generation (KIP-792) and its rack (KIP-881) as well.",
        _peer(properties={"client.rack": "r1"}),
    ),
    _leading(
        "peer-of-the-future", "A leader assigns for a member whose subscription is newer than any it knows.", _peer("subscription-of-the-future")
    ),
    _leading("peer-with-user-data", "A leader assigns for a member whose subscription carries user data.", _peer("subscription-with-user-data")),
    case(
        "cooperative/leader-of-two",
        "A cooperative leader gives a partition to another member only after its owner has handed it back.",
        ("ASSIGN-09", "CLIENT-36"),
        plan(
            subject("m0", assignors=["cooperative-sticky"]),
            reference_peer("z0", assignors=["cooperative-sticky"]),
            *joined("m0"),
            mark("newcomer"),
            *start("z0"),
            stable("m0", "z0", after="newcomer", within_ms=_SETTLES_MS, go_on=True),
            passing(3_000),
            topics=_TOPICS,
        ),
        syncs_as_leader("m0", members=2, after="newcomer"),
        hands_over_in_two_steps("m0"),
    ),
)
