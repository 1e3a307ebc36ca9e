from __future__ import annotations

import threading

import pytest

from groupproof.harness.commands.pytest_plugin.server_thread import Served, Stand


def test_a_stand_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    stand = Stand(Served())
    assert stand.call(lambda: stand.serving.bootstrap) == stand.serving.bootstrap

    stand.close()

    assert set(threading.enumerate()) == before
    stand.close()


def test_a_wrong_setting_is_raised_where_the_stand_is_made() -> None:
    with pytest.raises(Exception, match=r"group\.max\.sise"):
        Stand(Served(settings={"group.max.sise": 1}))


def test_what_fails_in_the_stands_thread_fails_in_the_tests() -> None:
    stand = Stand(Served())

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        stand.done(fails, "it")
    stand.close()
