"""The incidents as data: settings that can be, and a source for each."""

from __future__ import annotations

from groupproof.harness.simulation.rehearsal.exercises import ACTS
from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS
from groupproof.harness.simulation.rehearsal.rehearsed_settings import settings_of


def test_there_are_a_dozen_each_with_its_source_and_its_remedy() -> None:
    assert len(INCIDENTS) >= 12
    for incident in INCIDENTS.values():
        assert incident.url.startswith(("https://", "../findings/"))
        assert bool(incident.sign) is not bool(incident.unseen), "watch names its problem, or the page says what the topic cannot show"
        assert incident.remedy.settings or incident.remedy.steps or incident.remedy.is_mended


def test_settings_are_kafkas_with_the_remedy_too_and_every_step_is_an_act() -> None:
    for incident in INCIDENTS.values():
        settings = settings_of({**incident.settings, **incident.remedy.settings}, incident.profile)
        assert all(settings.current(name) for name in incident.remedy.settings)
        assert {step.act for step in (*incident.steps, *(incident.remedy.steps or ()))} <= ACTS.keys()


def test_a_planted_behaviour_is_of_those_that_are_named() -> None:
    incident = INCIDENTS["leader-rejoins-for-ever"]

    assert incident.policy_of("m3") is None
    policy = incident.policy_of("m0")
    assert policy is not None
    assert policy.subscriptions_unread == "newer"
