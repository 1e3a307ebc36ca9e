"""The reference coordinator on ports, until a signal ends it, and the judgement of the groups that connected."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol

import trio

from groupproof.coordinator.broker.rights.authorizer import Denial
from groupproof.coordinator.broker.served_cluster import CannotListen, ServingCluster, serve
from groupproof.coordinator.machine.coordinator_settings import UnknownSetting
from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.judging.summary.grade import grade_of
from groupproof.harness.judging.summary.run_summary import RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.gc_pauses import LONG_LIVED, rare_pauses
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.networks.open_files import open_files_raised
from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.profiles import UnknownProfile
from groupproof.protocol.rules.profiles import profile as profile_named
from groupproof.protocol.trace import Observation, Recorder, Trace

__all__ = ["OBSERVATIONS_MAX", "Serve", "ServedGroups", "WatchReport", "summed_up"]

OBSERVATIONS_MAX: Final = 500_000
"""The maximum number of observations for judging, which bounds memory. Later requests are served but not judged."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGroups:
    """The groups that a server observed; `is_cut` says that some observations were not kept."""

    results: tuple[CaseResult, ...]
    started: datetime
    duration_s: float
    is_cut: bool


@dataclass(slots=True, kw_only=True)
class Serve:
    """The server's configuration; `settings` are Kafka's broker settings by their own names, `topics` maps names to partitions.

    `reading` is one of DataLink's design, for its profiles. `stored` are the groups at the start.
    """

    host: str = "127.0.0.1"
    ports: Sequence[int] = (0, 0)
    advertise: str | None = None
    profile: str = "kafka-4.1"
    reading: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=dict)
    records: int = 0
    denials: Sequence[Denial] = ()
    seed: int = 0
    judged: bool = False
    stored: TopicRecords | None = None
    _trace: Trace = field(default_factory=list)
    _is_cut: bool = False

    def run(self, on_serving: Callable[[ServingCluster], None]) -> ServedGroups:
        """Serve until Ctrl-C or SIGTERM; raise `WrongUsage` for a wrong name and `BrokenEnvironment` for a port that is not free."""
        started, began = datetime.now(UTC), time.monotonic()
        recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), keeps=False, run="serve", seed=self.seed)
        if self.judged:
            recorder.listen(self._keep)
        try:
            if self.stored is not None:
                _check_loadable(self.stored, self.profile)
            with rare_pauses(*LONG_LIVED), open_files_raised(_log.warning):
                trio.run(self._main, recorder, on_serving)
        except (CannotListen, UnknownSetting, UnknownProfile, ExceptionGroup) as error:
            raise _trouble_of(error) from error
        results = judge_live(self._trace) if self.judged else []
        return ServedGroups(results=tuple(results), started=started, duration_s=time.monotonic() - began, is_cut=self._is_cut)

    def _keep(self, obs: Observation) -> None:
        if len(self._trace) < OBSERVATIONS_MAX:
            self._trace.append(obs)
        else:
            self._is_cut = True

    async def _main(self, recorder: Recorder, on_serving: Callable[[ServingCluster], None]) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(mind_signals, nursery.cancel_scope.cancel)
            serving = await nursery.start(partial(self._serve, recorder))
            on_serving(serving)

    async def _serve(self, recorder: Recorder, task_status: trio.TaskStatus[ServingCluster]) -> None:
        await serve(
            host=self.host,
            ports=self.ports,
            profile=self.profile,
            settings=self.settings,
            topics=self.topics,
            records=self.records,
            seed=self.seed,
            recorder=recorder,
            advertise=self.advertise,
            denials=self.denials,
            variant=REFERENCE if self.reading is None else variant_named(self.reading),
            stored=self.stored,
            task_status=task_status,
        )


def _check_loadable(stored: TopicRecords, profile: str) -> None:
    """Raise `WrongUsage` where there are groups of the consumer protocol, but the release does not speak it."""
    groups, dialects = stored.consumer_groups, profile_named(profile).dialects
    if groups and CONSUMER not in dialects:
        raise WrongUsage(
            f"{profile} does not speak the consumer protocol, of which {len(groups)} groups are, {groups[0]} among them; choose another --profile"
        )


class WatchReport(Protocol):
    """The report's facts of a watched server or tap."""

    @property
    def profile(self) -> str: ...

    @property
    def seed(self) -> int: ...


def _trouble_of(error: Exception) -> Exception:
    """Return the error by blame: a busy port or a wrong name is the user's; any other error is the kit's own and stays as it is."""
    if isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        return _trouble_of(error.exceptions[0])
    if isinstance(error, CannotListen):
        return BrokenEnvironment(str(error))
    return WrongUsage(str(error)) if isinstance(error, UnknownSetting | UnknownProfile) else error


def summed_up(served: ServedGroups, serve: WatchReport, command: Sequence[str]) -> RunSummary:
    """Return a served run, whose cases are the observed groups."""
    names = sorted({obs.client for result in served.results for obs in result.plays[0].trace if obs.client is not None})
    summary = RunSummary(
        suite=SuiteInfo(version=release(), profile=serve.profile),
        subject=SubjectInfo(name=", ".join(names) or "nobody", version=None, language=None, capabilities=(), spec="applications"),
        run=RunInfo(
            seed=serve.seed,
            started=served.started.isoformat(timespec="seconds"),
            duration_s=served.duration_s,
            jobs=1,
            command=list(command),
            environment={"python": platform.python_version(), "platform": platform.platform(), "cpus": os.cpu_count() or 1},
        ),
        results=served.results,
        grade="NO_VERDICT",
        selected=[result.case for result in served.results],
    )
    # The catalogue's cases were not run; the grade is about the live groups alone.
    return replace(summary, grade=grade_of(summary.counted, [], "info"))
