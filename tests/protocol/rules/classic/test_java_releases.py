"""What the coordinator in Java did otherwise while it was an option."""

from __future__ import annotations

from groupproof.protocol.rules import ClassicEvent, Form, profile, rows
from groupproof.protocol.rules.classic.java_releases import JAVA_DELTAS
from groupproof.protocol.rules.classic.releases import OPTIONAL, line_of
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.rules.release_contrast import contrast


def test_every_delta_is_of_the_coordinator_in_java_alone_and_of_a_release_with_both() -> None:
    assert all(delta.line is CoordinatorKind.JAVA and (3, 7) < delta.since <= (4, 0) for delta in JAVA_DELTAS)


def test_the_option_is_of_the_other_line_than_its_releases_default() -> None:
    assert {(line_of(name), line_of(default)) for name, default in OPTIONAL.items()} == {(CoordinatorKind.JAVA, CoordinatorKind.SCALA)}


def test_they_leave_no_trace_in_the_default_profiles() -> None:
    new = {Form.STORED_OFFSETS_DELETED}

    assert {name for name in ("kafka-3.7", "kafka-3.9-new", "kafka-4.0") for _, _, row in rows(name) if row.answer in new} == set()
    assert {row.answer for _, _, row in rows("kafka-3.7-new")} >= new


def test_what_scala_alone_had_is_not_in_the_new_coordinator() -> None:
    new, old, newest = profile("kafka-3.7-new"), profile("kafka-3.7"), profile("kafka-4.0")

    assert new.api_versions == old.api_versions
    assert new.table.cells[ClassicEvent.LEAVE_GROUP] == newest.table.cells[ClassicEvent.LEAVE_GROUP] != old.table.cells[ClassicEvent.LEAVE_GROUP]
    assert contrast(new, old).behaviour
    assert not contrast(new, old).versions
