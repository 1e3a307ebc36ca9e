"""Long lists in pieces."""

from __future__ import annotations

from groupproof.harness.relatives.zookeeper.shared_reads import PIECE, Pieces
from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, GetEach

NAMES = tuple(f"n{number}" for number in range(2 * PIECE + 3))


def test_a_list_is_cut_at_every_256_names() -> None:
    pieces, operation = Pieces(), GetEach("/p", NAMES)
    cut = [pieces.of(operation, number) for number in range(3)]

    assert [len(piece.names) for piece in cut] == [PIECE, PIECE, 3]
    assert sum((piece.names for piece in cut), ()) == NAMES
    assert [pieces.are_left(operation, read) for read in range(4)] == [True, True, True, False]


def test_readers_of_the_same_list_get_the_same_pieces() -> None:
    pieces = Pieces()

    assert pieces.of(GetEach("/p", NAMES), 1) is pieces.of(GetEach("/p", NAMES), 1)


def test_answers_are_joined_once_and_end_as_the_last_piece_did() -> None:
    pieces = Pieces()
    answers = Answer(Code.OK, values=(b"a", b"b")), Answer(Code.NO_NODE, values=(b"c",))
    joined = pieces.joined(answers)

    assert joined == Answer(Code.NO_NODE, values=(b"a", b"b", b"c"))
    assert pieces.joined(answers) is joined
    assert pieces.joined(answers[:1]) is answers[0]


def test_more_lists_than_are_kept_are_cut_all_the_same() -> None:
    pieces = Pieces()
    lists = [tuple(f"{number}-{name}" for name in range(3)) for number in range(200)]
    answers = [(Answer(Code.OK, values=(b"%d" % number,)), Answer(Code.OK)) for number in range(200)]

    assert [pieces.of(GetEach("/p", names), 0).names for names in lists] == lists
    assert [pieces.joined(answer).values for answer in answers] == [(b"%d" % number,) for number in range(200)]
