from __future__ import annotations

import socket
from functools import partial

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import AlwaysUp

from groupproof.coordinator.broker.sockets import Socket
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks import network as network_module
from groupproof.harness.subjects.networks.network import CALM_S, LoopbackNetwork, MemoryNetwork, Network


class Echo(AlwaysUp):
    """Two brokers that answer each message with their node and the message."""

    nodes = (0, 1)

    def __init__(self) -> None:
        self.advertised: dict[int, tuple[str, int]] = {}
        self.peers: list[str] = []

    def advertise(self, node_id: int, host: str, port: int) -> None:
        self.advertised[node_id] = (host, port)

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        self.peers.append(peer)
        async for data in stream:
            await stream.send_all(b"%d:%s" % (node_id, bytes(data)))


async def said_by(network: Network, address: tuple[str, int]) -> bytes:
    stream = await (await network.entrance("m0")).connect(*address)
    await stream.send_all(b"hi")
    answer = await stream.receive_some(100)
    await stream.aclose()
    return bytes(answer)


@pytest.mark.parametrize("make", [LoopbackNetwork, MemoryNetwork])
def test_each_broker_has_an_address_of_its_own_for_as_long_as_the_network_lasts(make: type[LoopbackNetwork | MemoryNetwork]) -> None:
    async def main() -> None:
        network, brokers = make(), Echo()
        async with network.opened(brokers) as addresses:
            assert list(brokers.advertised.values()) == addresses
            assert [await said_by(network, address) for address in addresses] == [b"0:hi", b"1:hi"]
        with pytest.raises(OSError):  # noqa: PT011  # refused, reset or unreachable: each system says it in its own way
            await network.connect(*addresses[0])

    trio.run(main)


def test_a_port_is_given_to_nobody_else_when_its_network_has_ended() -> None:
    """A client that outlives its case comes to it still."""

    async def main() -> list[tuple[str, int]]:
        async with LoopbackNetwork().opened(Echo()) as addresses:
            return addresses

    for address in trio.run(main):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(address)


def test_a_port_that_an_outgoing_connection_took_meanwhile_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        occupied = other.getsockname()[1]
        monkeypatch.setattr(network_module, "_kept_port", lambda host: occupied)

        async def main() -> None:
            network = LoopbackNetwork()
            async with network.opened(Echo()) as addresses:
                assert occupied not in [port for _, port in addresses]
                assert [await said_by(network, address) for address in addresses] == [b"0:hi", b"1:hi"]

        trio.run(main)


def test_where_no_port_can_be_kept_the_kernel_chooses_one() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")

    async def main() -> None:
        network = LoopbackNetwork("::1")
        async with network.opened(Echo()) as addresses:
            assert [await said_by(network, address) for address in addresses] == [b"0:hi", b"1:hi"]

    trio.run(main)


def test_two_networks_at_once_never_meet() -> None:
    async def main() -> None:
        one, other = LoopbackNetwork(), LoopbackNetwork()
        async with one.opened(Echo()) as first, other.opened(Echo()) as second:
            assert not set(first) & set(second)

    trio.run(main)


def test_peers_are_named_by_their_address() -> None:
    async def main() -> None:
        network, brokers = LoopbackNetwork(), Echo()
        async with network.opened(brokers) as addresses:
            await said_by(network, addresses[0])
        assert brokers.peers[0].startswith("127.0.0.1:")

    trio.run(main)


def test_clients_get_the_advertised_host() -> None:
    async def main() -> None:
        brokers = Echo()
        async with LoopbackNetwork(advertise="kit.example").opened(brokers) as addresses:
            assert [host for host, _ in addresses] == ["kit.example"] * 2

    trio.run(main)


def test_a_port_in_use_is_the_environments_fault_and_says_which() -> None:
    async def main() -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            with pytest.raises(ExceptionGroup) as error:
                async with LoopbackNetwork(first_port=port).opened(Echo()):
                    pass
        (trouble,) = error.value.exceptions
        assert isinstance(trouble, BrokenEnvironment)
        assert f"can't listen on 127.0.0.1:{port}" in str(trouble)

    trio.run(main)


def test_in_memory_time_can_be_virtual() -> None:
    async def main() -> None:
        network = MemoryNetwork()
        async with network.opened(Echo()) as addresses:
            await trio.sleep(300)
            assert await said_by(network, addresses[1]) == b"1:hi"
        with pytest.raises(ConnectionRefusedError, match="nobody listens on nowhere:1"):
            await network.connect("nowhere", 1)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_during_a_flood_requests_are_read_slowly() -> None:
    async def main() -> None:
        network = LoopbackNetwork()
        async with network.opened(Echo()) as addresses:
            network.is_flooded = lambda: True
            began = trio.current_time()
            assert await said_by(network, addresses[0]) == b"0:hi"
            assert trio.current_time() - began >= CALM_S

    trio.run(main)


class Counted(AlwaysUp):
    """A broker that takes what comes where it is read, and notes when."""

    nodes = (0,)

    def __init__(self) -> None:
        self.takes: list[float] = []

    def advertise(self, node_id: int, host: str, port: int) -> None:
        pass

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        assert isinstance(stream, Socket)
        await stream.left(partial(self._echo, stream))

    def _echo(self, stream: Socket, data: bytes) -> bool | None:
        self.takes.append(trio.current_time())
        assert stream.send_now(data) == b""
        return None if data else True


def test_a_connection_is_read_where_it_is_waited_for_and_slowly_from_the_flood_on() -> None:
    async def main() -> None:
        network, brokers = LoopbackNetwork(), Counted()
        network.is_flooded = lambda: len(brokers.takes) >= 2
        async with network.opened(brokers) as addresses:
            ours = await network.connect(*addresses[0])
            for _ in range(4):
                await ours.send_all(b"hi")
                assert await ours.receive_some(2) == b"hi"
            await ours.aclose()
        _, second, third, fourth = brokers.takes[:4]
        assert third - second >= CALM_S
        assert fourth - third >= CALM_S

    trio.run(main)


class Mortal(Echo):
    """One that is killed and started again."""

    def __init__(self) -> None:
        super().__init__()
        self.is_there = True
        self.turn = trio.Event()

    def is_up(self, node_id: int) -> bool:
        return self.is_there or node_id == 1

    async def turned(self, node_id: int) -> None:
        await self.turn.wait()

    def becomes(self, *, there: bool) -> None:
        self.is_there = there
        self.turn.set()
        self.turn = trio.Event()


@pytest.mark.parametrize("network", [MemoryNetwork(), LoopbackNetwork()], ids=["memory", "loopback"])
def test_a_broker_that_is_down_refuses_and_is_back_at_its_port(network: MemoryNetwork | LoopbackNetwork) -> None:
    async def main() -> None:
        brokers = Mortal()
        async with network.opened(brokers) as (address, other):
            stream = await network.connect(*address)
            await stream.send_all(b"a")
            assert await stream.receive_some() == b"0:a"
            brokers.becomes(there=False)
            await trio.testing.wait_all_tasks_blocked(0.01)
            with pytest.raises(OSError, match=r"nobody listens|all attempts"):
                await network.connect(*address)
            await (await network.connect(*other)).aclose()
            brokers.becomes(there=True)
            await trio.testing.wait_all_tasks_blocked(0.01)
            again = await network.connect(*address)
            await again.send_all(b"b")
            assert await again.receive_some() == b"0:b"
            for item in (stream, again):
                await item.aclose()

    trio.run(main)
