"""What is read of a release is noted while somebody asks for it, and by no other."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile
from groupproof.protocol.rules.noted_reads import NotedFields, note_row, noting
from groupproof.protocol.rules.profiles import base_of, mixed, noted


def test_fields_that_are_read_are_noted_and_others_are_not() -> None:
    fields = NotedFields({"one": 1, "two": 2, "three": 3})
    with noting() as reads:
        assert (fields["one"], fields.get("two", 0), fields.get("four", 4)) == (1, 2, 4)

    assert reads.fields == {"one", "two", "four"}


def test_of_a_cell_the_last_row_that_was_asked_is_noted() -> None:
    with noting() as reads:
        for number in (0, 2, 1):
            note_row("Heartbeat/Stable", number)

    assert reads.rows == {"Heartbeat/Stable": 2}


def test_what_is_read_before_and_behind_is_not_noted() -> None:
    fields = NotedFields({"one": 1})
    with noting() as outer:
        with noting() as reads:
            pass
        assert fields["one"] == 1
    note_row("Heartbeat/Stable", 0)
    assert fields["one"] == 1

    assert (reads.fields, outer.fields, outer.rows) == (set(), {"one"}, {})


@pytest.mark.parametrize("name", ["kafka-4.1", mixed("kafka-4.1", "Heartbeat/CompletingRebalance", "kafka-2.5")])
def test_a_profile_of_which_reads_are_noted_is_the_same_in_all_else(name: str) -> None:
    own, again = profile(name), profile(noted(name))

    assert base_of(again.name) == own.name
    assert again.tables is own.tables
    assert (again.release, again.line, again.api_versions, again.defaults) == (own.release, own.line, own.api_versions, own.defaults)
    assert isinstance(again.fields, NotedFields)
    assert again.fields == own.fields
