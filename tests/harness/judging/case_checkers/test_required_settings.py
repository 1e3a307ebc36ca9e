from __future__ import annotations

import pytest
from tests.traces import Story, findings

from groupproof.harness.judging.case_checkers.required_settings import SCALED, insists_on, not_on_the_wire, offers
from groupproof.harness.model.evidence import CaseNotOffered
from groupproof.protocol.vocabulary import Api

FIELDS = {"session_timeout_ms": 1_000, "assignors": ["roundrobin"], "request_timeout_ms": 2_500}


def ignoring(*names: str) -> Story:
    story = Story()
    story.see("event", who="kit", client="m0", body={"name": "command", "command": "subscribe", "fields": FIELDS})
    story.see("event", who="shim", client="m0", body={"name": "answer", "id": 1, "ok": True, "ignored": list(names)})
    return story


@pytest.mark.parametrize("name", FIELDS)
def test_a_case_cannot_be_run_with_a_client_that_ignores_a_setting_that_it_needs(name: str) -> None:
    with pytest.raises(CaseNotOffered, match=f"does not set {name}"):
        findings(insists_on({"m0": {name: FIELDS[name]}}), ignoring(name).end())


def test_it_can_where_the_wire_shows_the_setting_all_the_same() -> None:
    story = ignoring("session_timeout_ms", "assignors")
    story.join(session_ms=1_000, protocol="roundrobin")

    assert findings(insists_on({"m0": {"session_timeout_ms": 1_000, "assignors": ["roundrobin"]}}), story.end()) == []


@pytest.mark.parametrize("meets", [True, False])
def test_a_case_cannot_be_run_with_a_client_whose_assignors_keep_the_others_out(meets: bool) -> None:
    story = ignoring("assignors")
    story.join(protocol="consumer")
    if meets:
        story.exchange(Api.JOIN_GROUP, "a0", error=23)
        with pytest.raises(CaseNotOffered, match="m0 does not offer range, which others in its group have"):
            findings(insists_on({}, {"m0": frozenset({"range"})}), story.end())
    else:
        assert findings(insists_on({}, {"m0": frozenset({"range"})}), story.end()) == []


def test_what_no_request_shows_only_a_shim_can_say() -> None:
    assert not_on_the_wire(["session_timeout_ms", "instance_id", "request_timeout_ms", "auto_commit"]) == {"request_timeout_ms", "auto_commit"}


def test_what_is_ignored_and_not_insisted_on_costs_nothing() -> None:
    assert findings(insists_on({"m0": {"assignors": ["roundrobin"]}}), ignoring("request_timeout_ms").end()) == []
    assert "session_timeout_ms" in SCALED


@pytest.mark.parametrize(("offered", "can_be_had"), [("range", True), ("faust", False)])
def test_a_case_about_an_assignor_cannot_be_run_with_a_client_that_joins_with_others(offered: str, can_be_had: bool) -> None:
    story = ignoring()
    story.join(protocol=offered)

    if can_be_had:
        assert findings(offers("m0", "range"), story.end()) == []
    else:
        with pytest.raises(CaseNotOffered, match="m0 does not offer range"):
            findings(offers("m0", "range"), story.end())
