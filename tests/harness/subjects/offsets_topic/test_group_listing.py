"""What a cluster says of its groups: states from every broker, the session timeout; and one clear error where it says nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker, metadata

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.offsets_topic.group_listing import consumer_session_ms, group_states
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest


def _asked(answer: Callable[[WireRequest], Mapping[str, Any] | None], work: Callable[[ScriptedBroker], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with ScriptedBroker.up(answer) as broker:
            return await work(broker)

    return trio.run(main)


def test_every_broker_lists_its_own_groups() -> None:
    listed = iter([(("a", "Stable"),), (("b", "Empty"), ("old", ""))])

    def answer(request: WireRequest) -> Mapping[str, Any]:
        if request.api is Api.METADATA:
            return metadata(brokers=2)
        return {"error_code": 0, "groups": tuple({"group_id": name, "group_state": state} for name, state in next(listed))}

    assert _asked(answer, lambda broker: group_states(broker.connect, [("h", 9092)])) == {"a": "Stable", "b": "Empty"}


@pytest.mark.parametrize(("configs", "session_ms"), [(({"name": "group.consumer.session.timeout.ms", "value": "7000"},), 7_000), ((), None)])
def test_the_session_timeout_is_the_broker_s_setting(configs: tuple[dict[str, str], ...], session_ms: int | None) -> None:
    def answer(request: WireRequest) -> Mapping[str, Any]:
        if request.api is Api.METADATA:
            return metadata()
        return {"results": ({"error_code": 0, "resource_type": 4, "resource_name": "0", "configs": configs},)}

    assert _asked(answer, lambda broker: consumer_session_ms(broker.connect, ("h", 9092))) == session_ms


def test_a_cluster_that_lists_nothing_is_one_clear_error() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        _asked(lambda _: None, lambda broker: group_states(broker.connect, [("h", 9092)]))
    assert caught.group_contains(BrokenEnvironment, match="the groups of h:9092 can't be listed", depth=None)
