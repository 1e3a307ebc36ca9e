"""Apache Kafka by its official Docker image, or one built here that is configured alike: one container a node, on the host's loopback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.install_cache import Say
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout, rendered
from groupproof.harness.subjects.brokers.slow_disk import control_of, prepared
from groupproof.harness.subjects.processes.broker_process import Command
from groupproof.harness.subjects.processes.folders import Folders
from groupproof.harness.subjects.processes.images import contained, has_image, sweep

__all__ = ["Image", "provision_docker"]

# Where the image looks for a configuration given by its user, and where it runs as a user of its own and may write.
_CONFIGURED = "/mnt/shared/config"
_DATA = "/tmp/kraft-logs"
_OWN = "groupproof/"
_CLUSTER_ID = "Z3JvdXBwcm9vZi1ydW4tMQ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that is here."""

    name: str
    slowing: Path | None = None

    @property
    def provided_by(self) -> str:
        return f"docker ({self.name})"

    def zookeeper(self, port: int, folders: Folders) -> Command:
        """Raise `BrokenEnvironment`: no release that has an image is run with ZooKeeper."""
        raise BrokenEnvironment(f"{self.name} is run without ZooKeeper")

    def node(self, layout: Layout, node: KafkaNode, folders: Folders) -> Command:
        """Write the node's configuration and return how to run its container; the image formats the storage itself."""
        config = folders.data / f"config-{node.node_id}"
        config.mkdir()
        (config / "server.properties").write_text(rendered({**layout.properties(node), "log.dirs": _DATA}), "utf-8")
        # The user of the image is another than this one.
        config.chmod(0o755)
        folders.data.chmod(0o755)
        argv = contained(
            f"{folders.data.name}-{node.node_id}", [self.name], remove=[config],
            options=[
                "--volume", f"{config}:{_CONFIGURED}:ro", "--env", f"CLUSTER_ID={_CLUSTER_ID}", "--env", "KAFKA_HEAP_OPTS=-Xmx512m",
                *self._slowing(control_of(folders, node.node_id)),
            ],
        )  # fmt: skip
        return Command(title=node.title, argv=argv, log=folders.logs / f"{node.title.replace(' ', '-')}.log")

    def _slowing(self, control: Path) -> Iterator[str]:
        """Yield the options for the node's disk to be slowed. The library is of this machine, as the image is that was built here: others can't load it."""
        if self.slowing is None or not self.name.startswith(_OWN):
            return
        for name, value in prepared(self.slowing, control, _DATA).items():
            yield from ("--env", f"{name}={value}")
        yield from ("--volume", f"{self.slowing}:{self.slowing}:ro", "--volume", f"{control}:{control}:ro")


def provision_docker(release: str, say: Say, *, pulls: bool) -> Image | None:
    """Return the official image of `release`, pulled where `pulls` allows it, else the one that was built here; None where there is neither.

    The latter is taken only where a pull was tried: where jars are at hand, they are quicker.
    """
    official, own = releases().image.format(release=release), releases().own_image.format(release=release)
    found = official if has_image(official, say, pulls=pulls) else own if pulls and has_image(own, say, pulls=False) else None
    if found is None:
        return None
    sweep(say)
    return Image(name=found)
