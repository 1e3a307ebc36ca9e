"""The tap on ports, until a signal ends it: its recording, and the judgement of both sides at the end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

import trio

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.commands.work.judging_server import OBSERVATIONS_MAX, ServedGroups
from groupproof.harness.judging.observed.both_sides import judge_sides
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.networks.broker_address import Address, bootstrap_of
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.open_files import open_files_raised
from groupproof.harness.subjects.networks.secure_connection import Connector
from groupproof.harness.subjects.tap.hub import Hub, TcpDoors
from groupproof.harness.subjects.tap.upstream import UpstreamInfo, meet_upstream
from groupproof.protocol.faults import Fault
from groupproof.protocol.rules.profiles import profiles
from groupproof.protocol.trace import Observation, Recorder, Trace, write_trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import warm

__all__ = ["TRACE", "Tap", "TapResult", "TapServer"]

TRACE: Final = "trace.ndjson"
"""The file in the output folder with all observations of all groups, in their order."""

_WARMED: Final = (Api.API_VERSIONS, Api.METADATA, Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FETCH)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TapServer:
    """A running tap: the addresses for clients, and the upstream behind it."""

    addresses: tuple[Address, ...]
    upstream_info: UpstreamInfo

    @property
    def bootstrap(self) -> str:
        """Return the addresses in the form of `bootstrap.servers`."""
        return bootstrap_of(self.addresses)


@dataclass(frozen=True, slots=True, kw_only=True)
class TapResult:
    """A tap's results: both sides of the groups as a run, the sides of groups that are not judged, and how often each fault took effect."""

    served: ServedGroups
    unjudged: tuple[UnjudgedSide, ...]
    profile: str
    delivered: Mapping[str, int]
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class Tap:
    """The tap's configuration; `profile` is the upstream's release, or None to infer it from its API versions."""

    upstream: Sequence[Address]
    security: Security = field(default_factory=Security)
    host: str = "127.0.0.1"
    port: int = 0
    advertise: str | None = None
    profile: str | None = None
    faults: Sequence[Fault] = ()
    judged: bool = False
    output: Path | None = None
    _trace: Trace = field(default_factory=list)
    _is_cut: bool = False
    _delivered: dict[str, int] = field(default_factory=dict)
    _upstream_info: UpstreamInfo | None = None

    def run(self, on_tapping: Callable[[TapServer], None]) -> TapResult:
        """Tap until Ctrl-C or SIGTERM; raise `WrongUsage`, and `BrokenEnvironment` for a port in use or an upstream that does not answer."""
        started, began = datetime.now(UTC), time.monotonic()
        recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), keeps=False, run="tap")
        recorder.listen(self._keep)
        connector = Connector.of(self.security)
        with _Lines(self.output / TRACE if self.output is not None else None) as lines:
            recorder.listen(lines.write)
            try:
                with open_files_raised(_log.warning):
                    trio.run(self._main, recorder, connector, on_tapping)
            except ExceptionGroup as error:
                raise trouble_in(error) from error
        results, unjudged = judge_sides(self._trace, is_cut=self._is_cut) if self.judged else ([], [])
        served = ServedGroups(results=tuple(results), started=started, duration_s=time.monotonic() - began, is_cut=self._is_cut)
        profile = (
            self._upstream_info.profile if self._upstream_info is not None else self.profile or profiles()[-1]
        )  # it was stopped before the upstream answered
        return TapResult(served=served, unjudged=tuple(unjudged), profile=profile, delivered=self._delivered)

    def _keep(self, obs: Observation) -> None:
        if obs.kind == "fault" and obs.fault is not None:
            self._delivered[obs.fault] = self._delivered.get(obs.fault, 0) + (obs.detail == "delivered")
        if not self.judged:
            return
        if len(self._trace) < OBSERVATIONS_MAX:
            self._trace.append(obs)
        else:
            self._is_cut = True

    async def _main(self, recorder: Recorder, connector: Connector, on_tapping: Callable[[TapServer], None]) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(mind_signals, nursery.cancel_scope.cancel)
            interception = Interception(recorder)
            doors = TcpDoors(nursery=nursery, bind=self.host, advertise=self.advertise, first_port=self.port)
            hub = Hub(recorder=recorder, connect=connector.connect, doors=doors, interception=interception, inquires=self.judged)
            tapping = await self._opened(hub, uses_tls=connector.context is not None)
            for fault in self.faults:
                interception.arm(fault)
            on_tapping(tapping)
            await trio.sleep_forever()

    async def _opened(self, hub: Hub, *, uses_tls: bool) -> TapServer:
        """Query the upstream and open a port for each broker, starting with those that the user named."""
        self._upstream_info = upstream = await meet_upstream(hub.connect, self.upstream, profile=self.profile, uses_tls=uses_tls)
        hub.topics.begin(upstream.topics or {})
        hub.recorder.record("event", who="kit", body=upstream.to_json())
        warm(_WARMED)
        first = [(await hub.route_to(address)).local for address in dict.fromkeys(self.upstream)]
        for named in upstream.brokers:
            await hub.route_to(named.address, named.node)
        return TapServer(addresses=tuple(first), upstream_info=upstream)


class _Lines:
    """Writes the trace to a file, line by line, so that others can follow it; without a path it writes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> _Lines:
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("w", buffering=1, encoding="utf-8", errors="surrogateescape")
            except OSError as error:
                raise BrokenEnvironment(f"can't write {self._path}: {error.strerror or error}; choose another --output") from error
        return self

    def write(self, obs: Observation) -> None:
        if self._file is not None:
            try:
                self._file.writelines(f"{line}\n" for line in write_trace([obs]))
            except OSError as error:
                # Clients are served even if the trace cannot be written.
                _log.error("can't write %s any more: %s", self._path, error.strerror or error)
                self._close()

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()
