from __future__ import annotations

from math import inf

from groupproof.harness.judging.checkers.steady import Steady, SteadyRequests


def requests(*correlations: int) -> SteadyRequests:
    places = [3 * number for number in correlations]
    return SteadyRequests(
        places=places, answer_places=[place + 2 for place in places], seqs=places, answer_seqs=places, at_ms=[float(place) for place in places],
        correlations=list(correlations), burst_ms=inf,
    )  # fmt: skip


MEMBER = Steady(
    client="m0", wire_client="m0", member="m0-1", connection=1, generation=2, asked={"Heartbeat": requests(1, 4), "OffsetCommit": requests(2, 3)},
)  # fmt: skip


def test_what_a_member_asked_is_known_by_its_correlations() -> None:
    assert (MEMBER.lowest, MEMBER.highest, MEMBER.newest_correlations(3)) == (1, 4, [2, 3, 4])
    assert MEMBER.last_place == 14


def test_a_connection_without_requests_has_no_correlation_between_lowest_and_highest() -> None:
    nobody = Steady(client="m0", wire_client="m0", member="m0-1", connection=1, generation=2)

    assert nobody.lowest > nobody.highest


def test_rows_are_those_of_the_frames_that_somebody_listens_to() -> None:
    assert sorted(MEMBER.rows(frozenset({("request", "OffsetCommit"), ("response", "Heartbeat")}))) == [5, 6, 9, 14]
    assert set(MEMBER.frames()) == {(kind, api) for kind in ("request", "response") for api in ("Heartbeat", "OffsetCommit")}
