from __future__ import annotations

import signal
from datetime import UTC, datetime

import pytest
import trio
from tests.coordinator.machine.consumer.written_groups import decoded
from tests.coordinator.machine.written_records import folded
from tests.traces import Story

from groupproof.coordinator.broker.served_cluster import ServingCluster
from groupproof.harness.commands.work import judging_server
from groupproof.harness.commands.work.judging_server import Serve, ServedGroups, summed_up
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.protocol.schemas import validate

CONSUMER_GROUP = folded(decoded("ConsumerGroupMetadata", {"group_id": "g"}, {"epoch": 5}))


def stop(serving: ServingCluster) -> None:
    signal.raise_signal(signal.SIGINT)


def served(story: Story) -> ServedGroups:
    return ServedGroups(results=tuple(judge_live(story.trace)), started=datetime.now(UTC), duration_s=1.0, is_cut=False)


def test_it_serves_until_it_is_interrupted_and_judges_nobody() -> None:
    addresses: list[str] = []

    def on_serving(serving: ServingCluster) -> None:
        addresses.append(serving.bootstrap)
        stop(serving)

    done = Serve(judged=True).run(on_serving)

    assert addresses[0].count("127.0.0.1:") == 2
    assert done.results == ()


@pytest.mark.parametrize(
    ("serve", "trouble"),
    [
        (Serve(settings={"group.min.session.timeout": 1}), WrongUsage),
        (Serve(profile="kafka-0.9"), WrongUsage),
        (Serve(profile="kafka-3.9", stored=CONSUMER_GROUP), WrongUsage),
        (Serve(host="203.0.113.1"), BrokenEnvironment),
    ],
)
def test_what_cannot_be_served_is_reported_with_the_side_at_fault(serve: Serve, trouble: type[Exception]) -> None:
    with pytest.raises(trouble):
        serve.run(stop)


def test_what_is_kept_for_judging_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_server, "OBSERVATIONS_MAX", 0)

    async def connect(address: tuple[str, int]) -> None:
        await (await trio.open_tcp_stream(*address)).aclose()

    def visit(serving: ServingCluster) -> None:
        serving.cluster.recorder.record("event", who="link", body={"name": "connected"})
        stop(serving)

    assert Serve(judged=True).run(visit).is_cut


def test_groups_are_reported_as_cases_of_a_run() -> None:
    story = Story().member()
    story.leave()

    summary = summed_up(served(story), Serve(), ["groupproof", "serve"])

    assert summary.grade == "PASSED"
    assert summary.subject.name == "m0"
    validate("report", summary.to_json("out"))


def test_nobody_is_no_verdict() -> None:
    assert summed_up(served(Story()), Serve(), []).grade == "NO_VERDICT"
