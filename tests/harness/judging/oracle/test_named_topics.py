from __future__ import annotations

import pytest

from groupproof.harness.judging.oracle.named_topics import with_names
from groupproof.protocol.vocabulary import Api

NAMES = {"id-t": "t"}


def test_topics_by_id_are_named_and_those_of_nobody_left_out() -> None:
    topics = ({"topic_id": "id-t", "name": ""}, {"topic_id": "id-x", "name": ""})

    version, body = with_names(Api.OFFSET_COMMIT, 10, {"group_id": "g", "topics": topics}, NAMES)

    assert (version, body) == (9, {"group_id": "g", "topics": ({"topic_id": "id-t", "name": "t"},)})


@pytest.mark.parametrize("topics", [None, ()])
def test_a_fetch_of_everything_stays_one(topics: tuple[()] | None) -> None:
    version, body = with_names(Api.OFFSET_FETCH, 10, {"groups": ({"group_id": "g", "topics": topics},)}, NAMES)

    assert (version, body["groups"]) == (9, ({"group_id": "g", "topics": topics},))


def test_what_names_topics_is_left_as_it_is() -> None:
    body = {"topics": ({"name": "t"},)}

    assert with_names(Api.OFFSET_COMMIT, 9, body, NAMES) == (9, body)
    assert with_names(Api.HEARTBEAT, 10, {}, NAMES) == (10, {})
