from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.coordinator.broker.generation_place import generation_at
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.kafka_shapes import VERSIONS
from groupproof.protocol.wire.message_codec import read_request, write_request

texts = st.text(max_size=3) | st.sampled_from(["\0\0\0\1", "g" * 200])
generations = st.integers(-(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize("version", range(VERSIONS[Api.SYNC_GROUP][1] + 1))
@given(client=st.none() | texts, group=texts, member=texts, generation=generations, other=generations)
def test_a_sync_group_with_other_bytes_there_is_of_another_generation_and_the_same_otherwise(
    version: int, client: str | None, group: str, member: str, generation: int, other: int
) -> None:
    payload = write_request(Api.SYNC_GROUP, version, 7, client, {"group_id": group, "member_id": member, "generation_id": generation})
    at = generation_at(payload, Api.SYNC_GROUP, version)
    changed = payload[:at] + other.to_bytes(4, "big", signed=True) + payload[at + 4 :]
    before: Any = read_request(payload, is_for_machine=True).message

    assert read_request(changed, is_for_machine=True).message == replace(before, generation_id=other)


def test_what_a_client_says_in_tagged_fields_of_the_header_is_passed_over() -> None:
    payload = write_request(Api.SYNC_GROUP, 4, 7, "c", {"group_id": "g", "member_id": "m", "generation_id": 5})
    at = generation_at(payload, Api.SYNC_GROUP, 4)
    tagged = payload[:11] + b"\1\0\1x" + payload[12:]

    assert payload[11:12] == b"\0"
    assert generation_at(tagged, Api.SYNC_GROUP, 4) == at + 3
