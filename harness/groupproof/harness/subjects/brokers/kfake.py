"""franz-go's kfake as the subject: a small program around the library, built by Go into the cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import trio

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.toolchains.go_modules import GO
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.program_cluster import SupportedSettings, argument, running_program
from groupproof.harness.subjects.processes.broker_process import Command
from groupproof.harness.subjects.processes.folders import folders

__all__ = ["GO_HINT", "KFAKES_RELEASE", "Kfake", "build_kfake", "pinned"]

GO_HINT: Final = GO.remedy
KFAKES_RELEASE: Final = "kafka-4.2"
"""The release that it is most like: members rejoin at epoch 0 (KAFKA-19233, 4.2), and a new group begins at epoch 1 (2 since 4.3)."""

_SOURCE: Final = Path(__file__).parent / "programs" / "kfake"
_MODULE: Final = "github.com/twmb/franz-go/pkg/kfake"
_BUILD_S: Final = 900
_SUPPORTED: Final = SupportedSettings(
    takes=frozenset({
        "group.max.session.timeout.ms", "group.max.size", "group.min.session.timeout.ms", "offsets.retention.check.interval.ms",
        "offsets.retention.minutes", "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms",
    }),
    has={"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"},
    no_bounds=frozenset({"group.consumer.min.heartbeat.interval.ms", "group.consumer.min.session.timeout.ms"}),
)  # fmt: skip

# Settings whose default differs from Kafka's, by which it is judged.
_KAFKAS: Final = {"group.max.session.timeout.ms": "1800000"}


def pinned() -> str:
    """Return the version of kfake that is built."""
    found = re.search(rf"{re.escape(_MODULE)} (\S+)", (_SOURCE / "go.mod").read_text("utf-8"))
    assert found is not None
    return found[1]


def build_kfake(cache: Path, say: Say) -> Path:
    """Return the program; build it unless it is in the cache. Raise `BrokenEnvironment` without Go, or where the sources cannot be downloaded."""
    files = sorted(_SOURCE.iterdir())
    digest = hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()[:10]

    def build(folder: Path) -> None:
        go = shutil.which("go")
        if go is None:
            raise ProvisionError(f"no go on PATH, which builds kfake: {GO_HINT}")
        say(f"building kfake {pinned()}")
        for file in files:
            shutil.copy(file, folder)
        _build(go, folder)

    try:
        return entry(cache, f"go/kfake-{pinned()}-{digest}", build, say) / "kfake"
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error


def _build(go: str, folder: Path) -> None:
    # The checksums of kfake's dependencies are looked up and kept with the build.
    env = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    try:
        done = subprocess.run(
            [go, "build", "-o", "kfake", "."],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_BUILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProvisionError(f"go build of kfake took longer than {_BUILD_S} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("go: downloading")][-3:]
        raise ProvisionError(f"kfake could not be built: {' | '.join(lines)[:400]}; is the Go module proxy reachable? ({GO_HINT})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kfake:
    """The fake cluster; its brokers have the node ids 0 and up."""

    cache: Path
    say: Say
    profile: str
    spec: str = "kfake"
    logs: Path | None = None
    name: str = "kfake"
    is_virtual: bool = False
    topics_change_all_groups: bool = True  # notifyTopicChange counts up the epoch of every group

    @property
    def release(self) -> str | None:
        return pinned()

    @property
    def version(self) -> str | None:
        return pinned()

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        """Raise `BrokenEnvironment` where it cannot be built or does not start."""
        program = await trio.to_thread.run_sync(build_kfake, self.cache, self.say)
        supported, unmet = _SUPPORTED.split(settings)
        with folders("kfake", cache=self.cache, logs=self.logs) as own:
            argv = (str(program), argument(brokers=brokers, topics=topics, settings={**_KAFKAS, **supported}))
            command = Command(title="kfake", argv=argv, log=own.logs / "kfake.log", speaks=True)
            async with running_program(command, provided_by=f"go (franz-go kfake {pinned()})", unmet=unmet, first_node=0) as running:
                yield running
