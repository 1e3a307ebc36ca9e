from __future__ import annotations

from groupproof.harness.model.forwarded_frame import passing_of
from groupproof.harness.subjects.tap.open_requests import Entry, OpenRequests
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_request


def asked(correlation: int, *, own: bool = False) -> Entry:
    frame = passing_of(write_request(Api.LIST_GROUPS, 0, correlation, "app", {}))
    return Entry(passing=frame, own={"error_code": 15} if own else None)


def test_an_answer_finds_the_oldest_request_of_its_id_until_it_is_settled() -> None:
    ledger = OpenRequests()
    first, second = asked(7), asked(7)
    ledger.ask(first)
    ledger.ask(second)

    assert ledger.found(7) is first
    assert ledger.found(7) is first
    ledger.settled(first)
    assert ledger.found(7) is second
    assert len(ledger) == 1


def test_an_answer_that_nobody_asked_for_finds_nothing() -> None:
    ledger = OpenRequests()
    ledger.ask(asked(7))

    assert ledger.found(8) is None
    assert ledger.found(None) is None


def test_the_answer_of_a_fault_waits_for_those_before_it() -> None:
    ledger = OpenRequests()
    before, own, after = asked(1), asked(2, own=True), asked(3)
    for entry in (before, own, after):
        ledger.ask(entry)

    assert ledger.due() is None
    ledger.settled(before)
    assert ledger.due() is own
    assert ledger.due() is None
    assert ledger.found(3) is after


def test_the_broker_answers_no_request_that_a_fault_answers() -> None:
    ledger = OpenRequests()
    ledger.ask(asked(2, own=True))

    assert ledger.found(2) is None
