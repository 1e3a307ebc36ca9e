"""The truth of many groups under churn on a real Apache Kafka, held against what its offsets topic tells of them.

    python -m tests.harness.judging.topic_history.churned_topic RELEASE FOLDER [--groups N] [--members N] [--seed N]

While the groups live, nothing is read but the topic. FOLDER keeps its segments and `deeds.json`; printed is how many rebalances were found, how many causes are right, and how
many of those called certain are wrong; and whether the segments, read afterwards, tell the same as the topic did while it grew.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import trio
from tests.harness.judging.diagnosis.puppet import pass_time
from tests.harness.judging.topic_history.churned_groups import EXTRA, ChurnedGroup, Deed, GroupPlan, deal_deeds
from tests.harness.judging.topic_history.churned_members import SESSION_MS

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.commands.work.topic_watch import TopicWatch, read_files, watch_live
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.logged_groups import LoggedGroup, LoggedRebalance
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.offsets_topic.live_topic import LiveTopic
from groupproof.harness.subjects.offsets_topic.segment_files import segments_in

__all__ = ["Truth", "churn", "hold_against", "logged_generations", "read_again"]

_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000, "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": SESSION_MS, "group.consumer.min.heartbeat.interval.ms": 500, "group.consumer.heartbeat.interval.ms": 3_000,
}  # fmt: skip
_LOGGED: Final = (r"Assignment received from leader \S+ for group (\S+) for generation (\d+)", r"\[GroupId (\S+)\] Bumped group epoch to (\d+)")

_KNOWN_S: Final = 3.0
"""After so long a coordinator has heard of new topics; before, that it does is a rebalance of its own."""


@dataclass(slots=True)
class Truth:
    """What came of it: rebalances that were done and that were found, causes by whether they are right, the wrong ones in words."""

    done: int = 0
    found: int = 0
    causes: Counter[tuple[str, str, bool, bool]] = field(default_factory=Counter)
    restarts: int = 0
    restarts_found: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def right(self) -> int:
        return sum(count for (_, _, _, is_right), count in self.causes.items() if is_right)

    @property
    def certain(self) -> int:
        return sum(count for (_, _, is_certain, _), count in self.causes.items() if is_certain)

    @property
    def certain_and_wrong(self) -> int:
        return sum(count for (_, _, is_certain, is_right), count in self.causes.items() if is_certain and not is_right)

    @property
    def text(self) -> str:
        causes = self.causes.total()
        head = (
            f"{self.found} of {self.done} rebalances found, {self.right} of {causes} causes right ({self.right / max(1, causes):.1%}), "
            f"{self.certain} called certain, {self.certain_and_wrong} of them wrong; {self.restarts_found} of {self.restarts} static restarts found"
        )
        kinds: dict[tuple[str, str], list[int]] = {}
        for (protocol, deed, is_certain, is_right), count in self.causes.items():
            row = kinds.setdefault((protocol, deed), [0, 0, 0])
            row[0] += count
            row[1] += count * is_right
            row[2] += count * is_certain
        rows = [f"  {protocol:9} {deed:20} {row[0]:5} {row[1]:5} right {row[2]:5} certain" for (protocol, deed), row in sorted(kinds.items())]
        return "\n".join([head, *rows, *self.wrong])


def hold_against(deeds: Sequence[Deed], groups: Mapping[str, LoggedGroup], logged: Collection[tuple[str, int]] | None = None) -> Truth:
    """Compare what was done with what the topic tells. `logged` are the generations that the broker's own log names; without it every number between two of a group's is one."""
    truth = Truth()
    for deed in deeds:
        group = groups[deed.group]
        rebalances = {rebalance.generation: rebalance for rebalance in group.rebalances}
        wanted = [number for number in range(deed.before + 1, deed.after + 1) if logged is None or (deed.group, number) in logged]
        truth.done += len(wanted)
        truth.found += sum(number in rebalances for number in wanted)
        truth.wrong += [f"{deed.group} {number}: {deed.name} is not in the topic" for number in wanted if number not in rebalances]
        if deed.name == "static-restart":
            truth.restarts += 1
            truth.restarts_found += any(restart.at_ms >= deed.at_ms and not restart.had_rebalance for restart in group.restarts)
        for place, number in enumerate(number for number in wanted if number in rebalances):
            _count(truth, deed, rebalances[number], _expected(deed, place))
    return truth


def _expected(deed: Deed, place: int) -> Cause | None:
    """Return what began the rebalance, the first of a deed or one that followed from it.

    In a cooperative group a second one hands over what was given up in the first (KIP-429). A coordinator that had not heard of a new group's new topic has one when it does.
    """
    if place and deed.group.startswith("cooperative"):
        return Cause.HANDOVER
    return Cause.PARTITIONS if place and deed.name == "first-member" else deed.cause


def _count(truth: Truth, deed: Deed, rebalance: LoggedRebalance, expected: Cause | None) -> None:
    is_right = rebalance.cause is expected
    truth.causes[deed.group.partition("-")[0], deed.name, rebalance.is_certain, is_right] += 1
    if not is_right:
        sure = "certain" if rebalance.is_certain else "likely"
        truth.wrong.append(
            f"{deed.group} {rebalance.generation}: {deed.name} was {expected}, told {rebalance.cause} ({sure}; also {', '.join(rebalance.also)})"
        )


def logged_generations(folder: Path) -> set[tuple[str, int]]:
    """Return the groups with their generations and epochs that the broker's log names: assignments that a leader brought, and epochs that were bumped."""
    text = "\n".join(path.read_text(errors="replace") for path in folder.glob("broker-*.log"))
    return {(group, int(number)) for pattern in _LOGGED for group, number in re.findall(pattern, text)}


def churn(release: str, folder: Path, *, groups: int, members: int, seed: int) -> tuple[list[Deed], TopicWatch]:
    """Let everything befall the groups, and return what did and what was read of the topic meanwhile; the segments stay in FOLDER/segments."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    plans = deal_deeds(groups, members, random.Random(seed))
    watch = TopicWatch(history=TopicHistory(consumer_session_ms=SESSION_MS))
    living: list[ChurnedGroup] = []

    async def main() -> None:
        subject = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=folder)
        topics = {plan.topic: plan.partitions for plan in plans} | {EXTRA: 2}
        async with subject.cluster(settings=_SETTINGS, brokers=1, topics=topics) as cluster, trio.open_nursery() as nursery:
            await pass_time(_KNOWN_S)
            await _live(cluster, plans, living, watch, seed)
            _keep(cluster, folder / "segments")
            nursery.cancel_scope.cancel()

    trio.run(main)
    deeds = [deed for group in living for deed in group.deeds]
    (folder / "deeds.json").write_text(json.dumps([asdict(deed) for deed in deeds], indent=1))
    return deeds, watch


async def _live(cluster: RunningCluster, plans: Sequence[GroupPlan], living: list[ChurnedGroup], watch: TopicWatch, seed: int) -> None:
    """Let the groups live while the topic is watched; when they are done, read what there still is."""
    over = trio.Event()
    async with trio.open_nursery() as nursery:
        reader = LiveTopic(cluster.connect, cluster.addresses)
        async with trio.open_nursery() as processes:
            async with trio.open_nursery() as lives:
                for plan in plans:
                    group = ChurnedGroup(
                        plan=plan, cluster=cluster, nursery=processes, draw=random.Random(f"{seed}/{plan.group}"), now_ms=lambda: round(time.time() * 1_000)
                    )  # fmt: skip
                    living.append(group)
                    lives.start_soon(group.live)
                nursery.start_soon(_watched, reader, watch, over)
            processes.cancel_scope.cancel()
        await pass_time(1)
        over.set()


async def _watched(reader: LiveTopic, watch: TopicWatch, over: trio.Event) -> None:
    await watch_live(reader, watch, once=False, on_tick=lambda: not over.is_set() or reader.behind > 0, interval_s=0.5)


def _keep(cluster: RunningCluster, target: Path) -> None:
    """Copy the topic's segments."""
    shutil.rmtree(target, ignore_errors=True)
    for source in segments_in(cluster._layout.brokers[0].data):  # type: ignore[attr-defined]  # the kit's own Kafka: where its log is only it knows
        copied = target / source.parent.name / source.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copied)


def read_again(folder: Path, watch: TopicWatch) -> dict[str, Any]:
    """Read the segments, with the same names of topics; return the groups as JSON."""
    again = TopicWatch(history=TopicHistory(consumer_session_ms=SESSION_MS))
    again.history.name_topics(watch.history.topic_names)
    read_files([folder / "segments"], again)
    return {name: group.to_json() for name, group in again.history.groups.items()}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    deeds, watch = churn(asked.release, asked.folder, groups=asked.groups, members=asked.members, seed=asked.seed)
    print(hold_against(deeds, watch.history.groups, logged_generations(asked.folder)).text)
    live = {name: group.to_json() for name, group in watch.history.groups.items()}
    print("the segments tell the same" if read_again(asked.folder, watch) == live else "the segments tell otherwise")


if __name__ == "__main__":
    _main()
