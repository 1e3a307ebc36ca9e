from __future__ import annotations

from itertools import pairwise

import pytest

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_releases import CONSUMER_DELTAS, NEWEST_CONSUMER_FIELDS
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent, ConsumerState
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.rules.dialect import table_of


def test_deltas_stand_newest_first_and_change_fields_that_are_there() -> None:
    assert all(newer.since > older.since for newer, older in pairwise(CONSUMER_DELTAS))
    assert all(delta.fields.keys() <= NEWEST_CONSUMER_FIELDS.keys() for delta in CONSUMER_DELTAS)


def test_no_field_stays_as_it_is_in_every_release() -> None:
    changed = {name for delta in CONSUMER_DELTAS for name in delta.fields}

    assert changed == NEWEST_CONSUMER_FIELDS.keys()


@pytest.mark.parametrize(("release", "code"), [((4, 0, 0), 113), ((4, 2, 2), 113)])
def test_an_older_epoch_commits_nothing_up_to_4_2(release: tuple[int, ...], code: int) -> None:
    table = table_of(CONSUMER, release, CoordinatorKind.JAVA, beside=(CLASSIC,))
    rows = table.cells[ClassicEvent.OFFSET_COMMIT][ConsumerState.STABLE]

    assert next(row.answer for row in rows if row.name == "epoch-older") == code


def test_4_1_alone_gives_back_one_heartbeat_later() -> None:
    answers = {
        release: table_of(CONSUMER, release, CoordinatorKind.JAVA).fields["own_pending_is_free"]
        for release in ((4, 0, 0), (4, 1, 0), (4, 2, 2), (4, 4, 0))
    }

    assert list(answers.values()) == [1, 0, 1, 1]


@pytest.mark.parametrize(("release", "first"), [((4, 0, 0), "not-coordinator"), ((4, 1, 0), "assignor-unknown"), ((4, 4, 0), "assignor-unknown")])
def test_4_0_alone_looks_for_the_coordinator_before_a_heartbeats_shape(release: tuple[int, ...], first: str) -> None:
    rows = table_of(CONSUMER, release, CoordinatorKind.JAVA).before_group[ConsumerEvent.HEARTBEAT]
    order = [row.name for row in rows if row.name in {"not-coordinator", "assignor-unknown"}]

    assert (order[0], len(order)) == (first, 2)
