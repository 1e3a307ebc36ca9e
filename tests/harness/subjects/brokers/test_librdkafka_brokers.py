from __future__ import annotations

from pathlib import Path

import pytest
import trio

from groupproof.clients.registry.install_cache import ProvisionError, default_cache
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.brokers import librdkafka_brokers as module
from groupproof.harness.subjects.brokers.librdkafka_brokers import LibrdkafkaMock
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.protocol.vocabulary import Api


def test_its_releases_are_those_of_the_wheel(tmp_path: Path) -> None:
    mock = LibrdkafkaMock.of("2.10.0", cache=tmp_path, say=print, profile="kafka-4.1")
    assert (mock.name, mock.release, mock.version) == ("librdkafka-mock", "2.10.0", "2.10.0")

    with pytest.raises(WrongUsage, match="'newest' is not a release number"):
        LibrdkafkaMock.of("newest", cache=tmp_path, say=print, profile="kafka-4.1")


def test_a_wheel_that_cannot_be_installed_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ProvisionError("no index")

    monkeypatch.setattr(module, "provision", refuse)

    async def main() -> None:
        async with LibrdkafkaMock.of("", cache=tmp_path, say=print, profile="kafka-4.1").cluster(settings={}, brokers=1, topics={}):
            raise AssertionError("it must not come up")

    with pytest.raises(BrokenEnvironment, match="no index"):
        trio.run(main)


@pytest.mark.network
@pytest.mark.slow
def test_it_coordinates_and_stops_a_broker(tmp_path: Path) -> None:
    async def main() -> None:
        mock = LibrdkafkaMock.of("", cache=default_cache(), say=print, profile="kafka-4.1", logs=tmp_path)
        settings = {"group.initial.rebalance.delay.ms": 0, "group.max.size": 2}
        async with mock.cluster(settings=settings, brokers=2, topics={"t": 4}) as running:
            assert set(running.unmet) == {"group.max.size"}
            assert running.provided_by.startswith("librdkafka 2.")
            async with asking(await running.connect(*running.addresses[0])) as asker:
                answer = await asker.ask(Api.METADATA, {"topics": ({"name": "t"},)}, newest=8)
            assert [broker["node_id"] for broker in answer["brokers"]] == [1, 2]
            assert len(answer["topics"][0]["partitions"]) == 4
            await running.stop(2)
            assert len(running.addresses) == 1

    trio.run(main)
