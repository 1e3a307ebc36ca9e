"""Kafka's codecs: what a producer compresses is read again, and what is broken is refused by the codec's name."""

from __future__ import annotations

import gzip
import struct

import cramjam
import pytest

from groupproof.protocol.wire.compression import CODECS, CompressionError, compressed, decompressed

PAYLOAD = b"orders payments orders payments " * 40


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_what_a_producer_compresses_is_read_again(codec: int) -> None:
    packed = compressed(codec, PAYLOAD)

    assert decompressed(codec, packed) == PAYLOAD
    assert codec == 0 or len(packed) < len(PAYLOAD) / 2


def test_other_libraries_bytes_are_read() -> None:
    import zstandard

    assert decompressed(1, gzip.compress(PAYLOAD)) == PAYLOAD
    assert decompressed(4, zstandard.ZstdCompressor().compress(PAYLOAD)) == PAYLOAD


def test_snappy_without_xerials_frame_and_in_several_chunks_is_read() -> None:
    """librdkafka and franz-go write no frame, Java writes chunks of 32 KiB."""
    halves = [bytes(cramjam.snappy.compress_raw(part)) for part in (PAYLOAD[:100], PAYLOAD[100:])]
    framed = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(half)) + half for half in halves)

    assert decompressed(2, bytes(cramjam.snappy.compress_raw(PAYLOAD))) == PAYLOAD
    assert decompressed(2, framed) == PAYLOAD


def test_a_frame_of_lz4_with_the_wrong_checksum_of_message_format_v0_is_read_there_and_refused_elsewhere() -> None:
    frame = bytearray(compressed(3, PAYLOAD))
    header = 7 + (8 if frame[4] & 8 else 0)
    frame[header - 1] ^= 0xFF  # KAFKA-3160

    assert decompressed(3, bytes(frame), has_old_frame=True) == PAYLOAD
    with pytest.raises(CompressionError, match="lz4"):
        decompressed(3, bytes(frame))


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_broken_bytes_are_refused_by_the_codecs_name(codec: int) -> None:
    with pytest.raises(CompressionError, match=CODECS[codec]):
        decompressed(codec, compressed(codec, PAYLOAD)[:-9])


def test_a_codec_that_kafka_does_not_have_is_refused() -> None:
    with pytest.raises(CompressionError, match="codec 5"):
        decompressed(5, PAYLOAD)
