from __future__ import annotations

from typing import Any

from groupproof.harness.judging.oracle.altered_configs import ConfigChange, config_changes, configs_before, heard_by
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api


def altered(*changes: tuple[str, str | None], group: str = "g", code: int = 0, kind: int = 32, only_checks: bool = False, seq: int = 0) -> Trace:
    configs = tuple({"name": name, "config_operation": 0 if value is not None else 1, "value": value} for name, value in changes)
    asked: dict[str, Any] = {
        "resources": ({"resource_type": kind, "resource_name": group, "configs": configs},), "validate_only": only_checks,
    }  # fmt: skip
    answered = {"responses": ({"resource_type": kind, "resource_name": group, "error_code": code},)}
    columns: dict[str, Any] = {"who": "member", "api": Api.INCREMENTAL_ALTER_CONFIGS.title, "connection": 1, "correlation": seq}
    return [
        Observation(seq=seq, at_ns=seq * 1_000_000, kind="request", body=asked, **columns),
        Observation(seq=seq + 1, at_ns=(seq + 1) * 1_000_000, kind="response", body=answered, **columns),
    ]


def test_settings_are_added_changed_and_removed() -> None:
    trace = [*altered(("a", "1"), ("b", "2")), *altered(("a", "3"), seq=10), *altered(("b", None), seq=20)]

    assert [change.configs for change in config_changes("g", trace)] == [{"a": "1", "b": "2"}, {"a": "3", "b": "2"}, {"a": "3"}]
    assert [(change.at_ms, change.seq) for change in config_changes("g", trace)] == [(1, 1), (11, 11), (21, 21)]


def test_what_is_refused_only_checked_or_of_others_changes_nothing() -> None:
    trace = [
        *altered(("a", "1"), code=40), *altered(("a", "1"), only_checks=True, seq=10), *altered(("a", "1"), group="h", seq=20),
        *altered(("a", "1"), kind=4, seq=30), altered(("a", "1"), seq=40)[0],
    ]  # fmt: skip

    assert list(config_changes("g", trace)) == []


def test_a_change_is_known_once_it_was_answered() -> None:
    changes = [ConfigChange(5, 2, {"a": "1"}), ConfigChange(9, 4, {})]

    assert list(heard_by(4, 3, changes)) == list(heard_by(6, 1, changes)) == []
    assert [change.at_ms for change in heard_by(6, 3, changes)] == [5]
    assert [change.at_ms for change in changes] == [9]


def test_a_request_finds_the_configs_of_the_last_change_that_was_answered_before_it() -> None:
    trace = [*altered(("a", "1")), *altered(("a", "2"), seq=10), *altered(("a", "3"), seq=20)]

    assert [configs_before(request, "g", trace) for request in (trace[0], trace[2], trace[4])] == [{}, {"a": "1"}, {"a": "2"}]
    assert configs_before(trace[4], "h", trace) == {}
