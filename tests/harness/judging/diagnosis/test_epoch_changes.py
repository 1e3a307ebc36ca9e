"""Groups of the consumer protocol: what a real 4.1.0 logged and what was seen on its wire (`provoked_consumers.py`), and what is told of either."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.harness.judging.diagnosis.provoked_consumers import provoke
from tests.harness.judging.diagnosis.recordings import by_group, causes, explained, recorded
from tests.project import ROOT

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.rebalances import CLASSIC, CONSUMER, Rebalance
from groupproof.harness.model.script_bindings import GROUP_PREFIX
from groupproof.harness.reports.pictures.rebalance_picture import picture_of
from groupproof.harness.reports.texts.advice import advice_for
from groupproof.harness.reports.texts.rebalance_text import epoch_ms_of, explanation_to_json, tell
from groupproof.harness.running.importing.broker_log import read_broker_log
from groupproof.harness.running.importing.import_files import import_files
from groupproof.harness.running.importing.imported_event import merged
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

RELEASE = "4.1.0-consumer"
FIRST, NEW, BACK = Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.RETURNED
EXPECTED = {
    "kip848-joined": [FIRST, NEW],
    "kip848-closed": [FIRST, NEW, Cause.LEFT],
    "kip848-session": [FIRST, NEW, Cause.HEARTBEAT_TIMEOUT, BACK],
    "kip848-poll": [FIRST, NEW, Cause.POLL_INTERVAL, BACK],
    "kip848-slow": [FIRST, NEW, Cause.REVOCATION_TIMEOUT, BACK],
    "kip848-subscription": [FIRST, NEW, Cause.SUBSCRIPTION],
    "kip848-grown": [FIRST, Cause.PARTITIONS],
    "kip848-static": [FIRST, NEW],
}
"""What raised each epoch; a static member that is back within its session raises none."""

GUIDE = (ROOT / "docs/explain.md").read_text()


@pytest.mark.parametrize("source", ["info", "wire"])
def test_each_epoch_is_explained_by_its_cause(source: str) -> None:
    assert causes(explained(RELEASE, source)) == EXPECTED


def test_log_and_wire_count_the_same_epochs() -> None:
    logged, pairs = (
        [
            (rebalance.group, rebalance.generation)
            for rebalance in sorted(explained(RELEASE, source), key=lambda rebalance: (rebalance.group, rebalance.number))
        ]
        for source in ("info", "wire")
    )

    assert logged == pairs
    assert {rebalance.protocol for rebalance in explained(RELEASE, "info")} == {CONSUMER}
    assert {rebalance.protocol for rebalance in explained("4.1.0", "info")} == {CLASSIC}


def test_how_sure_each_is_depends_on_what_is_there() -> None:
    log, wire = by_group(explained(RELEASE, "info")), by_group(explained(RELEASE, "wire"))

    assert [rebalance.certainty for rebalance in log["kip848-session"]] == [Certainty.TOLD] * 4
    assert (log["kip848-subscription"][2].certainty, log["kip848-subscription"][2].also) == (Certainty.INFERRED, (Cause.PARTITIONS,))
    assert (wire["kip848-subscription"][2].certainty, wire["kip848-subscription"][2].also) == (Certainty.SEEN, ())
    assert log["kip848-poll"][2].also == wire["kip848-poll"][2].also == (Cause.CLOSED,)
    assert log["kip848-closed"][2].also == (Cause.POLL_INTERVAL, Cause.CLOSED)


def test_heartbeats_alone_tell_when_every_member_was_there() -> None:
    log, wire = explained(RELEASE, "info"), by_group(explained(RELEASE, "wire"))

    assert {(rebalance.synced_ms, rebalance.ended) for rebalance in log} == {(None, "a broker's log does not say")}
    assert [rebalance.sync_ms is not None for rebalance in wire["kip848-slow"]] == [True, False, True, True]
    assert wire["kip848-slow"][1].ended == "the next epoch overtook it"
    assert [awaited_member.member for awaited_member in wire["kip848-session"][3].awaited_to_sync] == ["session-a"]
    assert set(wire["kip848-joined"][1].members) == {"joined-a", "joined-b"}


def test_it_is_said_in_the_words_of_the_protocol_and_so_in_the_guide() -> None:
    (slow, grown) = (by_group(explained(RELEASE, "wire"))[group] for group in ("kip848-slow", "kip848-grown"))
    text = "\n".join(tell(slow[2], epoch_ms_of(recorded(RELEASE, "wire"))))

    assert "group kip848-slow of the consumer protocol, rebalance 3: epoch 2 → 3" in text
    assert text in GUIDE
    assert grown[1].words == "the partitions of a subscribed topic changed"
    assert {advice.id for advice in advice_for(slow[2])} == {"TUNE-04", "TUNE-06"}
    assert "TUNE-08" not in {advice.id for advice in advice_for(slow[0])}
    document = explanation_to_json(slow)["rebalances"][2]
    assert (document["protocol"], document["cause"], document["generation"]) == ("consumer", "revocation-timeout", 3)
    assert picture_of("kip848-slow", recorded(RELEASE, "wire"), slow).startswith("<svg")


# Made up: what did not happen there


def beat(at_s: float, member: str, epoch: int, entry: int | None = None, error: int = 0, **more: Any) -> Trace:
    """Return a heartbeat with its answer."""
    at, body = round(at_s * 1e9), {"group_id": "g", "member_id": member, "member_epoch": epoch, "rebalance_timeout_ms": 60_000, **more}
    columns: dict[str, Any] = {"run": "r", "client": member, "connection": 1, "correlation": at, "api": Api.CONSUMER_GROUP_HEARTBEAT.title, "node": 0}
    answer = {"member_id": member, "member_epoch": epoch if entry is None else entry, "heartbeat_interval_ms": 500}
    return [
        Observation(seq=0, at_ns=at, kind="request", who="coordinator", body=body, **columns),
        Observation(seq=0, at_ns=at + 1_000_000, kind="response", who="coordinator", error=error, body=answer, **columns),
    ]


def diagnosed(*beats: Trace) -> list[Rebalance]:
    return rebalances_of([obs for beat in beats for obs in beat])


def test_the_last_member_leaves_an_empty_group() -> None:
    found = diagnosed(beat(1, "a", 0, 1), beat(2, "a", 1), beat(3, "a", -1, -1), beat(9, "a", 0, 3))

    assert [(rebalance.cause, rebalance.is_emptied) for rebalance in found] == [(FIRST, False), (Cause.POLL_INTERVAL, True), (BACK, False)]
    assert "over at once: the group is empty" in "\n".join(tell(found[1]))


def test_a_static_member_that_leaves_for_a_while_raises_no_epoch() -> None:
    found = diagnosed(beat(1, "a", 0, 1), beat(2, "b", 0, 2), beat(2.4, "a", 1, 2), beat(3, "b", -2, -2), beat(3.2, "a", 2, 2))

    assert [rebalance.cause for rebalance in found] == [FIRST, NEW]


def test_a_fenced_member_that_had_nothing_to_give_up_was_silent() -> None:
    found = diagnosed(beat(1, "a", 0, 1), beat(2, "b", 0, 2), beat(2.2, "a", 1, 2), beat(9, "b", 2, error=110), beat(9.1, "a", 2, 3))

    assert (found[-1].cause, found[-1].member) == (Cause.HEARTBEAT_TIMEOUT, "b")


def test_what_no_heartbeat_explains_is_the_partitions() -> None:
    found = diagnosed(beat(1, "a", 0, 1, subscribed_topic_names=("t",)), beat(1.5, "a", 1, subscribed_topic_names=("t",)), beat(2, "a", 1, 2))

    assert [(rebalance.cause, rebalance.also) for rebalance in found] == [(FIRST, ()), (Cause.PARTITIONS, ())]


def test_an_older_release_logs_what_members_subscribe_to() -> None:
    at = "[2025-01-01 00:00:0{},000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] [GroupId g] {} (x.y.GroupMetadataManager)"
    log = (
        "Static member m with instance id i joins the consumer group using the consumer protocol.", "Bumped group epoch to 1.",
        "Member m updated its subscribed topics to: [t, u].", "Bumped group epoch to 2.",
        "Computed a new target assignment for epoch 2 with 'uniform' assignor in 1ms: {}.", "Static member m with instance id i left the consumer group.",
        "Bumped group epoch to 3.",
    )  # fmt: skip
    found = rebalances_of(merged([read_broker_log(at.format(second, line) for second, line in enumerate(log))], run="log"))

    assert [rebalance.cause for rebalance in found] == [FIRST, Cause.SUBSCRIPTION, Cause.LEFT]
    assert [rebalance.join_ms for rebalance in found] == [None, 2_000.0, None]
    assert "assignment not reported" in "\n".join(tell(found[0]))


@pytest.mark.soak
@pytest.mark.network
@pytest.mark.java
@pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka")
def test_what_is_provoked_again_is_explained_by_its_cause(tmp_path: Path) -> None:
    logs, trace = provoke(tmp_path, [])
    # The kit's own groups came first: it waits until the brokers assign the topics.
    logged = [rebalance for rebalance in rebalances_of(import_files(logs)) if not rebalance.group.startswith(GROUP_PREFIX)]

    assert causes(logged) == EXPECTED
    assert causes(rebalances_of(trace)) == EXPECTED
