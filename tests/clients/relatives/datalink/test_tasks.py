"""The board of tasks: versions by group."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.datalink.tasks import Board, Configs, Task


def test_each_change_counts_the_version_of_its_group_up_and_of_no_other() -> None:
    board = Board()
    board.add("g", Task(name="a"), Task(name="b"))
    before = board.configs("g")
    board.update("g", "a", cost=3.0)
    board.delete("g", "b")

    assert (before.version, board.configs("g").version, board.configs("h")) == (1, 3, Configs())
    assert dict(board.configs("g").tasks) == {"a": Task(name="a", cost=3.0, revision=2)}
    assert set(before.tasks) == {"a", "b"}, "what was read stays as it was"


def test_nothing_is_added_twice_and_only_what_is_there_is_changed() -> None:
    board = Board()
    board.add("g", Task(name="a"))

    with pytest.raises(ValueError, match="task a already"):
        board.add("g", Task(name="a"))
    with pytest.raises(KeyError):
        board.delete("g", "b")
    with pytest.raises(KeyError):
        board.update("g", "b")
