"""What bugs planted on the wire of KIP-848's protocol do to an answer; that cases catch them is shown in tests/power."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.coordinator.planted.consumer_answer_bugs import BUGS_OF_CONSUMER_ANSWERS
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest

BY_NAME = {bug.name: bug for bug in BUGS_OF_CONSUMER_ANSWERS}


def changed(name: str, api: Api, version: int, body: dict[str, Any]) -> dict[str, Any] | None:
    arrived = IncomingRequest(wire=WireRequest(api=api, version=version, correlation=7, client_id="c", body={}), columns={"node": 1})
    return BY_NAME[name].line.says(arrived, body)


@pytest.mark.parametrize(
    ("name", "code", "instead"), [("configs-accepted", 40, 0), ("configs-accepted", 0, 0), ("configs-refused", 0, 40), ("configs-refused", 42, 42)]
)
def test_settings_are_reported_as_accepted_or_refused(name: str, code: int, instead: int) -> None:
    answer = changed(name, Api.INCREMENTAL_ALTER_CONFIGS, 1, {"responses": ({"error_code": code},)})

    assert answer == {"responses": ({"error_code": instead},)}


def test_settings_are_reported_like_others() -> None:
    body = {"results": ({"error_code": 0, "configs": ({"name": "x", "value": "5"},)},)}

    assert changed("configs-told-otherwise", Api.DESCRIBE_CONFIGS, 4, body) == {
        "results": ({"error_code": 0, "configs": ({"name": "x", "value": "51"},)},)
    }


def test_only_the_version_by_topic_id_is_answered_wrongly() -> None:
    topics = ({"topic_id": "i", "partitions": ({"partition_index": 0, "committed_offset": 5, "error_code": 100},)},)
    fetched, committed = {"groups": ({"group_id": "g", "topics": topics},)}, {"topics": topics}

    for name, api, body in (("unknown-ids-fetched", Api.OFFSET_FETCH, fetched), ("unknown-ids-committed", Api.OFFSET_COMMIT, committed)):
        assert "'error_code': 0" in str(changed(name, api, 10, body))
        assert changed(name, api, 9, body) == body
    assert "'committed_offset': 6" in str(changed("wrong/OffsetFetch-v10", Api.OFFSET_FETCH, 10, fetched))
