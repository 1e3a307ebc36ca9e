from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.model.client_timeouts import REACT_MS, Terms, TermsReader
from groupproof.protocol.vocabulary import Api

WISHED = {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 300, "max_poll_interval_ms": 20_000}


def subscribed(story: Story, *ignored: str) -> Story:
    story.see("event", who="kit", client="m0", body={"name": "command", "command": "subscribe", "fields": WISHED})
    story.see("event", who="shim", client="m0", body={"name": "answer", "id": 1, "ok": True, "ignored": list(ignored)})
    return story


def reader_of(story: Story) -> TermsReader:
    reader = TermsReader()
    for obs in story.trace:
        reader.feed(obs)
    return reader


def terms_of(story: Story) -> Terms:
    return reader_of(story).of("m0")


def test_before_it_joins_a_client_has_its_configured_terms() -> None:
    terms = terms_of(subscribed(Story(), "max_poll_interval_ms"))

    assert (terms.session_ms, terms.rebalance_ms, terms.heartbeat_ms) == (3_000, 20_000, 300)
    assert terms.ignored == {"max_poll_interval_ms"}
    assert terms.subscribed is not None


def test_its_joingroup_says_which_timeouts_it_keeps() -> None:
    story = subscribed(Story(), "session_timeout_ms")
    story.join(session_ms=10_000)

    assert (terms_of(story).session_ms, terms_of(story).rebalance_ms) == (10_000, 30_000)
    assert reader_of(story).session_surplus_ms() == 7_000


def test_a_joingroup_of_version_0_has_the_session_for_its_rebalance_timeout() -> None:
    story = subscribed(Story())
    story.request(Api.JOIN_GROUP, body={"session_timeout_ms": 6_000, "rebalance_timeout_ms": -1})

    assert terms_of(story).rebalance_ms == 6_000


def test_its_heartbeat_interval_is_the_one_that_is_observed() -> None:
    story = subscribed(Story(), "heartbeat_interval_ms").member()
    for ms in (3_000, 6_000, 9_100, 12_000):
        story.at(ms).beat()

    assert terms_of(story).heartbeat_ms == 3_000


@pytest.mark.parametrize("due_ms", [1_000, 6_000, 15_000])
@pytest.mark.parametrize("react_ms", [REACT_MS, 2.5 * REACT_MS])
def test_a_plan_that_waits_until_nothing_is_in_time_does_so_for_a_longer_session_and_a_slower_rhythm_too(due_ms: float, react_ms: float) -> None:
    story = subscribed(Story(), "session_timeout_ms")
    story.see("event", who="kit", body={"name": "rhythm", "react_ms": react_ms})
    story.join(session_ms=30_000)
    reader = reader_of(story)

    # The judge's (`overdue`): what is due is stretched, a ghost's time is added, and the whole may be late by the tolerance.
    assert reader.patience_ms(tolerated_ms(due_ms)) >= tolerated_ms(due_ms * reader.stretch + reader.session_surplus_ms())


def test_a_client_by_the_plans_settings_is_waited_for_as_long_as_the_plan_says() -> None:
    story = subscribed(Story())
    story.join(session_ms=3_000)

    assert reader_of(story).patience_ms(8_000) == 8_000


def test_a_shorter_session_than_the_plans_makes_no_wait_shorter() -> None:
    story = subscribed(Story())
    story.join(session_ms=1_000)

    assert reader_of(story).session_surplus_ms() == 0


def test_a_rhythm_that_was_measured_stretches_what_is_due_and_never_shrinks_it() -> None:
    slow, quick = Story(), Story()
    slow.see("event", who="kit", body={"name": "rhythm", "react_ms": 2.5 * REACT_MS})
    quick.see("event", who="kit", body={"name": "rhythm", "react_ms": 100})

    assert [reader_of(story).stretch for story in (slow, quick, Story())] == [2.5, 1.0, 1.0]
