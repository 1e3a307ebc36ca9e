"""Structs as Kafka printed them until 2.6 are read whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.harness.running.importing.structs import parse_struct


def test_values_lists_and_structs_within_are_read_and_the_end_is_reported() -> None:
    text = "{group_id=g,member_id=,topics=[{topic=t,partitions=[{partition=0,offset=7}]},{topic=u,partitions=[]}],n=-1},response:{}"
    fields, end = parse_struct(text)

    assert fields == {
        "group_id": "g", "member_id": "", "n": "-1", "topics": [{"topic": "t", "partitions": [{"partition": "0", "offset": "7"}]}, {"topic": "u", "partitions": []}],
    }  # fmt: skip
    assert text[end:] == ",response:{}"


def test_a_buffer_with_brackets_is_one_value() -> None:
    fields, _ = parse_struct("{a=java.nio.HeapByteBuffer[pos=0 lim=13 cap=13],b=[1,2]}")

    assert fields == {"a": "java.nio.HeapByteBuffer[pos=0 lim=13 cap=13]", "b": ["1", "2"]}


@pytest.mark.parametrize("text", ["", "x", "{a=1", "{a=[1,2", "{a=Buffer[pos"])
def test_what_is_cut_off_is_no_struct(text: str) -> None:
    with pytest.raises(ValueError, match="struct"):
        parse_struct(text)


@given(st.text(alphabet="{}[]=,ab ", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    try:
        _, end = parse_struct("{" + text)
    except ValueError:
        return
    assert 0 < end <= len(text) + 1
