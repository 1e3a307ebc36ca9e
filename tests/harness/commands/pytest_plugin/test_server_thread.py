from __future__ import annotations

import threading

import pytest

from groupproof.harness.commands.pytest_plugin.server_thread import ServerConfig, ServerThread


def test_a_stand_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    server = ServerThread(ServerConfig())
    assert server.call(lambda: server.serving.bootstrap) == server.serving.bootstrap

    server.close()

    assert set(threading.enumerate()) == before
    server.close()


def test_a_wrong_setting_is_raised_where_the_stand_is_made() -> None:
    with pytest.raises(Exception, match=r"group\.max\.sise"):
        ServerThread(ServerConfig(settings={"group.max.sise": 1}))


def test_what_fails_in_the_stands_thread_fails_in_the_tests() -> None:
    server = ServerThread(ServerConfig())

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        server.done(fails, "it")
    server.close()
