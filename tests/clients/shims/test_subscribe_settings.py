"""The fields of `subscribe`."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.clients.shims.subscribe_settings import NotImplementedHere, Subscribe, WrongField

LEAST: dict[str, Any] = {"bootstrap": "a:1", "group": "g", "topics": ["t"]}


def test_the_least_that_is_needed_gets_the_contracts_defaults() -> None:
    subscribe = Subscribe.of(LEAST)

    assert subscribe.bootstrap == (("a", 1),)
    assert (subscribe.client_id, subscribe.poll_timeout_ms, subscribe.variant, subscribe.ignored) == ("groupproof", 100, None, ())
    assert subscribe.settings.assignors == ("range",)


def test_every_field_of_the_contract_is_honoured() -> None:
    fields = LEAST | {
        "bootstrap": "a:1, [::1]:2", "client_id": "m0", "instance_id": "i0", "protocol": "classic", "assignors": ["roundrobin", "range"],
        "session_timeout_ms": 7000, "heartbeat_interval_ms": 300, "max_poll_interval_ms": 9000, "poll_timeout_ms": 50, "auto_commit": True,
        "auto_commit_interval_ms": 200, "auto_offset_reset": "earliest", "on_revoked": {"sleep_ms": 5, "commit": True},
        "properties": {"metadata.max.age.ms": "500", "client.rack": "r", "groupproof.variant": "leaves-twice"},
    }  # fmt: skip
    subscribe = Subscribe.of(fields)
    settings = subscribe.settings

    assert subscribe.bootstrap == (("a", 1), ("::1", 2))
    assert (subscribe.client_id, subscribe.poll_timeout_ms, subscribe.variant, dict(subscribe.on_revoked)) == (
        "m0", 50, "leaves-twice", {"sleep_ms": 5, "commit": True},
    )  # fmt: skip
    assert (settings.instance_id, settings.assignors, settings.session_timeout_ms, settings.heartbeat_interval_ms) == (
        "i0", ("roundrobin", "range"), 7000, 300,
    )  # fmt: skip
    assert (settings.max_poll_interval_ms, settings.auto_commit, settings.auto_commit_interval_ms) == (9000, True, 200)
    assert (settings.auto_offset_reset, settings.metadata_max_age_ms, settings.rack) == ("earliest", 500, "r")
    assert subscribe.ignored == ()


def test_what_is_not_honoured_is_listed() -> None:
    subscribe = Subscribe.of(LEAST | {"colour": "blue", "properties": {"linger.ms": 5}})

    assert subscribe.ignored == ("colour", "properties.linger.ms")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"group": ""}, "lacks group"),
        ({"bootstrap": "nowhere"}, "host:port"),
        ({"session_timeout_ms": 1}, r"heartbeat\.interval\.ms"),
        ({"auto_offset_reset": "soon"}, "auto_offset_reset"),
        ({"properties": {"retry.backoff.ms": "a while"}}, r"retry\.backoff\.ms"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongField, match=message):
        Subscribe.of(LEAST | fields)


@pytest.mark.parametrize(("fields", "message"), [({"protocol": "share"}, "classic and consumer"), ({"assignors": ["uniform"]}, "cooperative-sticky")])
def test_a_feature_that_is_not_there_is_reported(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(NotImplementedHere, match=message):
        Subscribe.of(LEAST | fields)


def test_fausts_assignor_stands_alone() -> None:
    assert Subscribe.of(LEAST | {"assignors": ["faust"]}).settings.assignors == ("faust",)
    with pytest.raises(NotImplementedHere, match="assignor faust"):
        Subscribe.of(LEAST | {"assignors": ["faust", "range"]})
