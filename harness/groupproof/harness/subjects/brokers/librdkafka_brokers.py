"""librdkafka's mock cluster as the subject: in a child process, by the library that confluent-kafka's wheel bundles."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import trio

from groupproof.clients.registry.install_cache import ProvisionError, Say
from groupproof.clients.registry.provision import provision
from groupproof.clients.registry.registered_clients import UnknownClient, WrongPairing, resolve
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.program_cluster import SupportedSettings, argument, running_program
from groupproof.harness.subjects.processes.broker_process import Command
from groupproof.harness.subjects.processes.folders import folders

__all__ = ["LibrdkafkaMock"]

_PROGRAM: Final = Path(__file__).parent / "programs" / "librdkafka_mock.py"
_CLIENT: Final = "confluent-kafka"
# It has no minimum session timeout: any requested one is allowed.
_SUPPORTED: Final = SupportedSettings(takes=frozenset({"group.initial.rebalance.delay.ms", "group.min.session.timeout.ms"}), has={})


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrdkafkaMock:
    """The mock cluster of one release of confluent-kafka, which has the number of its librdkafka; node ids count from 1."""

    release: str | None
    cache: Path
    say: Say
    profile: str
    spec: str = "librdkafka-mock"
    logs: Path | None = None
    name: str = "librdkafka-mock"
    is_virtual: bool = False

    @classmethod
    def of(cls, release: str, **more: Any) -> LibrdkafkaMock:
        """Return the mock of a release, "" for the default; raise `WrongUsage` for an invalid release number."""
        try:
            return cls(release=resolve(f"{_CLIENT}@{release}" if release else _CLIENT).release, **more)
        except UnknownClient as error:
            raise WrongUsage(str(error)) from error

    @property
    def version(self) -> str | None:
        return self.release

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Raise `BrokenEnvironment` where the wheel cannot be installed or the cluster does not start."""
        env = await trio.to_thread.run_sync(self._environment)
        supported, unmet = _SUPPORTED.split(settings)
        with folders("librdkafka-mock", cache=self.cache, logs=self.logs) as own:
            argv = (sys.executable, "-S", str(_PROGRAM), argument(brokers=brokers, topics=topics, settings=supported))
            command = Command(title="librdkafka's mock cluster", argv=argv, log=own.logs / "librdkafka-mock.log", env=env, speaks=True)
            async with running_program(command, provided_by="librdkafka", unmet=unmet, first_node=1) as running:
                yield running

    def _environment(self) -> Mapping[str, str]:
        try:
            return provision(resolve(f"{_CLIENT}@{self.release}"), self.cache, self.say).env
        except ProvisionError as error:
            raise BrokenEnvironment(str(error)) from error
        except (UnknownClient, WrongPairing) as error:
            raise WrongUsage(str(error)) from error
