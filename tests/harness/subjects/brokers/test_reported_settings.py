from __future__ import annotations

from typing import Any

import pytest
import trio
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker, metadata

from groupproof.harness.subjects.brokers.reported_settings import reported_settings, unmet_among, unmet_by
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest

DELAY = "group.initial.rebalance.delay.ms"


def _describing(code: int = 0, **configs: str | None) -> Any:
    def answer(request: WireRequest) -> Any:
        if request.api is Api.METADATA:
            return metadata(brokers=3)
        entries = tuple({"name": name.replace("_", "."), "value": value} for name, value in configs.items())
        return {"results": ({"error_code": code, "resource_name": "1", "resource_type": 4, "configs": entries},)}

    return answer


def _reported(answer: Any, port: int = 9093, **more: Any) -> tuple[Any, list[WireRequest]]:
    got: list[Any] = []
    asked: list[WireRequest] = []

    async def main() -> None:
        async with ScriptedBroker.up(answer, **more) as broker:
            got.append(await reported_settings(broker.connect, ("h", port)))
            asked.extend(broker.asked)

    trio.run(main)
    return got[0], asked


def test_the_node_at_the_address_is_asked_for_all_its_settings() -> None:
    entry, asked = _reported(_describing(group_min="6000"))

    assert entry == {"group.min": "6000"}
    assert asked[-1].body["resources"] == ({"resource_type": 4, "resource_name": "1", "configuration_keys": None},)


def test_behind_an_address_that_no_broker_advertises_any_is_asked() -> None:
    _, asked = _reported(_describing(), port=1)

    assert asked[-1].body["resources"][0]["resource_name"] == "0"


def test_a_broker_that_refuses_says_why() -> None:
    assert _reported(_describing(29))[0] == "DescribeConfigs answers TOPIC_AUTHORIZATION_FAILED"


def test_a_broker_that_cannot_tell_says_why() -> None:
    assert _reported(_describing(), versions={Api.METADATA: (0, 1)})[0] == "it does not speak DescribeConfigs"


def test_settings_that_hold_are_fulfilled() -> None:
    assert unmet_among({DELAY: 0, "a": True}, {DELAY: "0", "a": "true", "b": "1"}) == {}


def test_a_setting_with_another_value_is_reported_with_both() -> None:
    assert unmet_among({DELAY: 0}, {DELAY: "3000"}) == {DELAY: "the broker has 3000, 0 is needed"}


@pytest.mark.parametrize("by_name", [{}, {DELAY: None}])
def test_a_setting_that_the_broker_does_not_know_is_unmet(by_name: dict[str, str | None]) -> None:
    assert unmet_among({DELAY: 0}, by_name) == {DELAY: "the broker lists no such setting"}


def test_without_reported_settings_no_setting_is_fulfilled() -> None:
    assert unmet_among({DELAY: 0}, "forbidden") == {DELAY: "the broker does not report its settings: forbidden"}


def test_where_nothing_is_asked_no_broker_is() -> None:
    async def refuse(host: str, port: int) -> trio.abc.Stream:
        raise AssertionError(f"{host}:{port} was asked")

    assert trio.run(unmet_by, refuse, ("h", 1), {}) == {}
