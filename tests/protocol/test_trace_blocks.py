from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.judging.checkers.stories import busy_group

from groupproof.protocol.trace import Observation, Offsets, write_trace
from groupproof.protocol.trace_blocks import NO_CORRELATION, NoBlocks, RowShape, TraceBlock, blocks_of_lines
from groupproof.protocol.trace_column_blocks import blocks_of_batches
from groupproof.protocol.trace_columns import to_batch

Blocks = Callable[[Sequence[Observation]], Iterator[TraceBlock]]


def of_lines(trace: Sequence[Observation]) -> Iterator[TraceBlock]:
    return blocks_of_lines([b"".join(f"{line}\n".encode() for line in write_trace(trace))])


def of_columns(trace: Sequence[Observation]) -> Iterator[TraceBlock]:
    return blocks_of_batches([to_batch(trace)])


def offsets_of(block: TraceBlock, places: Sequence[int]) -> list[Offsets]:
    """Return the offsets of these rows as observations have them."""
    found: list[Offsets] = [()] * len(places)
    offsets = block.offsets(np.array(places, np.int64))
    for row, partition, offset in zip(offsets.row.tolist(), offsets.partition.tolist(), offsets.offset.tolist(), strict=True):
        found[row] = (*found[row], (*offsets.partitions[partition], offset))
    return found


BOTH = pytest.mark.parametrize("blocks", [of_lines, of_columns])
CLASSIC = frozenset({"group_instance_id", "members", "protocols"})
EVERY = replace(
    Observation(seq=3, at_ns=1 << 55, kind="request", run="007", case="a/b/c", who="tap", node=2, connection=5, client="m0", api="OffsetCommit", group="g"),
    member="m0-1", instance="i", generation=4, member_epoch=6, error=27, correlation=9, offsets=(("t", 0, 1), ("u", 2, 3)), body={"a": b"\x00"},
)  # fmt: skip


@BOTH
def test_a_block_has_every_row_as_the_observation_has_it(blocks: Blocks) -> None:
    trace = [replace(obs, seq=seq) for seq, obs in enumerate([*busy_group(), EVERY, replace(EVERY, who="somebody", kind="thing", api="Mine")])]
    (block,) = blocks(trace)

    assert [block.shapes[place] for place in block.shape] == [RowShape(*(getattr(obs, name) for name in RowShape._fields)) for obs in trace]
    assert block.seq.tolist() == [obs.seq for obs in trace]
    assert block.at_ns.tolist() == [obs.at_ns for obs in trace]
    assert block.correlation.tolist() == [NO_CORRELATION if obs.correlation is None else obs.correlation for obs in trace]
    assert len(set(block.shapes)) == len(block.shapes)


@BOTH
def test_rows_are_made_observations_again_where_somebody_asks(blocks: Blocks) -> None:
    trace = list(blocks_rows := [*busy_group(), EVERY])
    (block,) = blocks(trace)
    places = np.array([0, 2, len(trace) - 1])

    assert block.observations(places) == list(next(iter([[blocks_rows[place] for place in places]])))
    assert offsets_of(block, places.tolist()) == [trace[place].offsets for place in places]
    assert block.observations(places[:0]) == []


@BOTH
def test_offsets_are_those_of_the_rows_that_are_asked_for_in_their_order(blocks: Blocks) -> None:
    named: list[Offsets] = [(("t", 0, 5),), (), (("u", -1, 7), ("t", (1 << 31) - 1, -1)), (("t", 0, 5), ("t", 0, 6)), (("t", -(1 << 31), 1 << 40),)]
    (block,) = blocks([replace(EVERY, seq=seq, offsets=offsets) for seq, offsets in enumerate(named)])

    assert offsets_of(block, range(len(named))) == named
    assert offsets_of(block, [3, 1, 2]) == [named[3], named[1], named[2]]
    assert offsets_of(block, []) == []
    assert len(set(block.offsets(np.arange(len(named))).partitions)) == len(block.offsets(np.arange(len(named))).partitions) == 4


@BOTH
@pytest.mark.parametrize(
    ("body", "instance", "is_bare"),
    [
        ({}, None, True),
        ({"group_instance_id": None, "topics": []}, None, True),
        ({"group_instance_id": "i"}, None, False),
        ({"group_instance_id": "i"}, "i", True),
        ({"members": [{"group_instance_id": "i"}]}, "i", False),
        ({"protocols": [{"name": "range"}]}, None, False),
    ],
)
def test_a_body_with_an_instance_id_or_members_is_distinguished_from_a_bare_one(
    blocks: Blocks, body: dict[str, object], instance: str | None, is_bare: bool
) -> None:
    bare = Observation(seq=0, at_ns=0, kind="request", body={"group_instance_id": None})
    (block,) = blocks([bare, replace(bare, seq=1, body=body, instance=instance), bare])

    assert block.are_bare(np.array([0, 1, 2]), CLASSIC).tolist() == [True, is_bare, True]


@BOTH
def test_a_heartbeat_with_an_epoch_is_bare_where_its_fields_are_null_and_names_partitions_where_its_column_does(blocks: Blocks) -> None:
    same: dict[str, object] = {"topic_partitions": None, "rack_id": None, "members": []}
    beat = Observation(seq=0, at_ns=0, kind="request", body=same)
    rows = [beat, replace(beat, seq=1, body={**same, "topic_partitions": []}), replace(beat, seq=2, partitions=(("t", 0),))]
    (block,) = blocks(rows)
    places = np.array([2, 1, 0])

    assert block.are_bare(places, {"topic_partitions", "rack_id"}).tolist() == [True, False, True]
    assert block.name_partitions(places).tolist() == [True, False, False]


def test_lines_come_in_blocks_of_as_many_pieces_as_are_long_enough() -> None:
    text = [f"{line}\n".encode() for line in write_trace(busy_group())]
    found = list(blocks_of_lines(text, block_bytes=2_000))

    assert [obs for block in found for obs in block.observations(np.arange(len(block.seq)))] == busy_group()
    assert 1 < len(found) < len(text)
    assert [offsets_of(block, range(len(block.seq))) for block in found] == [
        [obs.offsets for obs in block.observations(np.arange(len(block.seq)))] for block in found
    ]


def test_a_body_whose_keys_are_written_in_another_way_is_not_bare() -> None:
    key = b'{"seq":0,"at_ns":0,"kind":"request","body":{"group\\u005finstance_id":"i"}}\n'
    (block,) = blocks_of_lines([key])

    assert block.are_bare(np.array([0]), CLASSIC).tolist() == [False]


@pytest.mark.parametrize(
    "text", [b"\n", b'{"seq":0,"at_ns":0}\n', b'{"seq":0,"at_ns":0,"kind":"event"}\r\n', b'{"seq":"0","at_ns":0,"kind":"event"}\n', b'{"seq":99999999999999999999,"at_ns":0,"kind":"event"}\n', b'{"seq":0,"at_ns":0,"kind":"event","offsets":[["t",0,99999999999999999999]]}\n']
)  # fmt: skip
def test_what_rows_may_understand_and_blocks_do_not_is_left_to_rows(text: bytes) -> None:
    with pytest.raises(NoBlocks):
        list(blocks_of_lines([text]))
