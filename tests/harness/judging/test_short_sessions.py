from __future__ import annotations

from typing import Any

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.short_sessions import late_rejoin, refused_session
from groupproof.protocol.vocabulary import Api

SLOW = "m0 joins 2000 ms after it is given its id, when the short session of 1500 ms that the case asks for is over"


def joining(*, session_ms: int = 1_500, pause_ms: int = 2_000, member: str = ID) -> Story:
    """Tell of a JoinGroup that is answered with an id, and of the next one after a pause."""
    story, body = Story(), {"session_timeout_ms": session_ms}
    first = story.request(Api.JOIN_GROUP, body=body)
    story.see("response", api=first.api, client="m0", member=ID, error=79, connection=1, correlation=first.correlation, body={"member_id": ID})
    story.at(pause_ms).request(Api.JOIN_GROUP, member=member, body=body)
    return story


def test_a_client_that_joins_with_its_id_after_a_short_session_is_too_slow_for_the_case() -> None:
    assert late_rejoin(joining().trace) == SLOW


@pytest.mark.parametrize("how", [{"pause_ms": 1_400}, {"session_ms": 6_000, "pause_ms": 7_000}, {"member": ""}])
def test_a_member_that_is_in_time_or_too_slow_for_any_session_or_never_comes_with_its_id_is_judged(how: dict[str, Any]) -> None:
    assert late_rejoin(joining(**how).trace) == ""


def test_what_the_machine_lost_is_no_pause_of_the_client() -> None:
    story = joining()
    story.kit("lag", lag_ms=900.0, source="loop")

    assert late_rejoin(story.trace) == ""


def refusing(*, ignored: tuple[str, ...] = ("heartbeat_interval_ms",), session_ms: int = 3_000) -> Story:
    """Tell of a shim whose plain `subscribe` ignored these fields, and of one with a session of its case."""
    story = Story()
    story.kit("rhythm", react_ms=8_000, ignored=list(ignored))
    story.kit("command", "m0", command="subscribe", fields={"session_timeout_ms": session_ms})
    return story


def test_a_client_with_an_interval_of_its_own_may_refuse_a_session_that_is_shorter() -> None:
    assert refused_session(refusing().trace, "m0") == (
        "m0 keeps a heartbeat interval of its own, and refuses the short session of 3000 ms that the case asks for"
    )


@pytest.mark.parametrize("how", [{"ignored": ()}, {"ignored": ("poll_timeout_ms",)}, {"session_ms": 6_000}])
def test_no_other_refusal_has_that_excuse(how: dict[str, Any]) -> None:
    assert refused_session(refusing(**how).trace, "m0") == ""


def test_a_refusal_before_a_plain_subscribe_succeeded_has_no_excuse() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={"session_timeout_ms": 3_000})

    assert refused_session(story.trace, "m0") == ""
