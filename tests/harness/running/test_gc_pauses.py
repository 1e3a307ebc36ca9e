from __future__ import annotations

import gc

import pytest

from groupproof.harness.running.gc_pauses import rare_pauses, set_aside, short_pauses


class Cycle:
    """Garbage that only a collection can find."""

    def __init__(self) -> None:
        self.me = self


def test_what_is_alive_is_set_aside_for_as_long_as_the_run_lasts() -> None:
    with short_pauses():
        kept = {id(cycle): cycle for cycle in (Cycle() for _ in range(5_000))}
        assert kept.keys() <= {id(get_value) for get_value in gc.get_objects()}
        set_aside()

        assert not kept.keys() & {id(get_value) for get_value in gc.get_objects()}

    assert gc.get_freeze_count() == 0


def test_the_collector_is_itself_again_after_a_failure() -> None:
    with pytest.raises(RuntimeError), short_pauses():
        raise RuntimeError

    assert gc.get_freeze_count() == 0


@pytest.mark.slow
def test_garbage_that_was_set_aside_is_found_in_the_end() -> None:
    with short_pauses():
        Cycle()
        set_aside()

    gc.collect()

    assert not any(isinstance(get_value, Cycle) for get_value in gc.get_objects())


def test_collections_are_rare_for_a_while_and_then_as_often_as_before() -> None:
    before = gc.get_threshold()
    entry = []

    def failing() -> None:
        with rare_pauses(123_456, 7, 8):
            entry.append(gc.get_threshold())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert entry == [(123_456, 7, 8)]
    assert gc.get_threshold() == before
