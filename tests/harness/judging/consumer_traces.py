"""Drawn histories of consumer groups as the traces of their frames: what a checker sees of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.coordinator.machine.consumer.consumer_histories import History
from tests.traces import Story

from groupproof.protocol.trace import Trace
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["trace_of"]


class _Recorded(History):
    """A history whose frames are written down, each member on a connection of its own."""

    story: Story

    def _ask(self, message: Any) -> Any:
        asked = body_of(message)
        who, rest = request_columns(message.api, asked)
        member = who.pop("member", None) or "admin"
        self.story.at(self.now_ms)
        columns = {**who, **rest, "group": "g", "connection": sum(member.encode())}
        request = self.story.request(message.api, f"c-{member}", member=member, **columns)
        reply = super()._ask(message)
        answer = {"member_epoch": None, **response_columns(message.api, asked, body_of(reply)), "member": member}
        self.story.answer(request, **answer)
        return reply


def trace_of(profile: str, seed: int, steps: int) -> Trace:
    """Return the frames of a drawn history, or where it breaks an invariant of its own, up to there, with one more heartbeat of each member."""
    history = _Recorded(profile, seed)
    history.story = Story()
    try:
        history.run(steps)
    except AssertionError:
        for member in [*history.members.values()]:
            with suppress(AssertionError):
                history._send(member)
    return history.story.trace
