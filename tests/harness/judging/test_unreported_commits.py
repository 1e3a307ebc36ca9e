"""Which clients a run waits for whose commits nobody is told of."""

from __future__ import annotations

from typing import Any

from groupproof.harness.judging.unreported_commits import unreported
from groupproof.protocol.trace import Observation


def _obs(seq: int, kind: str, client: str = "m0", **columns: Any) -> Observation:
    return Observation(seq=seq, at_ns=seq, kind=kind, who="shim" if kind == "event" else "member", client=client, **columns)


def _request(seq: int) -> Observation:
    return _obs(seq, "request", api="OffsetCommit")


def _response(seq: int, error: int) -> Observation:
    return _obs(seq, "response", api="OffsetCommit", error=error)


def _event(seq: int, name: str = "offsets_committed", **body: Any) -> Observation:
    return _obs(seq, "event", body={"name": name, **body})


UNKNOWN = _event(3, outcome="unknown")


def test_a_refused_commit_of_unknown_outcome_is_waited_for() -> None:
    assert unreported([_request(1), _response(2, 25), UNKNOWN]) == ["m0"]
    assert unreported([UNKNOWN, _request(4), _response(5, 25)]) == ["m0"]


def test_one_that_is_under_way_is_waited_for_whatever_became_of_the_one_before() -> None:
    assert unreported([_request(1), _response(2, 0), UNKNOWN, _request(4)]) == ["m0"]
    assert unreported([UNKNOWN]) == ["m0"]


def test_one_that_was_accepted_is_not() -> None:
    assert unreported([UNKNOWN, _request(4), _response(5, 16), _request(6), _response(7, 0)]) == []


def test_one_whose_application_got_an_error_is_not() -> None:
    assert unreported([UNKNOWN, _request(4), _response(5, 25), _event(6, "error", error="UNKNOWN_MEMBER_ID")]) == []


def test_a_client_that_tells_how_its_commits_went_is_never_waited_for() -> None:
    assert unreported([_request(1), _response(2, 25), _event(3, success=False)]) == []
    assert unreported([UNKNOWN, _request(4), _response(5, 25), _event(6, success=True)]) == []
