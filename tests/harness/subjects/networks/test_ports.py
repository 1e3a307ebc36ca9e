from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.ports import kept_port, reserve_port


def test_reserved_ports_differ_and_can_be_listened_on() -> None:
    ports = [reserve_port() for _ in range(20)]

    assert len(set(ports)) == 20
    with socket.create_server(("127.0.0.1", ports[0])) as server:
        assert server.getsockname()[1] == ports[0]


def test_the_kernel_gives_a_reserved_port_to_nobody() -> None:
    reserved = reserve_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", reserved))


def test_a_kept_port_can_be_listened_on_again_and_again_and_refuses_between() -> None:
    with kept_port() as port:
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as near:
                assert near.getpeername()[1] == port


def test_the_kernel_gives_a_kept_port_to_nobody_while_its_program_is_away() -> None:
    with kept_port() as port, socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))


@pytest.mark.parametrize("keep", [reserve_port, lambda host: kept_port(host).__enter__()])
def test_an_address_that_is_not_ours_is_the_environments_fault(keep: Callable[[str], int]) -> None:
    with pytest.raises(BrokenEnvironment, match=r"no free port on 192\.0\.2\.1"):
        keep("192.0.2.1")
