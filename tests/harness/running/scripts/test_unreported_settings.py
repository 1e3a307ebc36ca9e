"""Cases against running brokers that list some of Kafka's settings and have other values than Kafka's for the rest, as Redpanda and KoP do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.harness.running.scripts.test_coordinator_stage import case
from tests.harness.subjects.brokers.unlike_brokers import unlike

from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import Case
from groupproof.harness.model.script_builders import join, joined, stable
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.scripts.cluster_pool import cluster_spec_of, opened
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage
from groupproof.harness.subjects.networks.virtual_time import run_virtually

DELAY, LEAST = "group.initial.rebalance.delay.ms", "group.min.session.timeout.ms"
MAX_SESSION, METADATA, MAX_SIZE = "group.max.session.timeout.ms", "offset.metadata.max.bytes", "group.max.size"
UNLISTED = (MAX_SESSION, METADATA, MAX_SIZE)
MOST = 2**31 - 1
EXCLUSIVE = "session-bounds-are-outside"
AT_MAX, ABOVE_MAX, TOO_LONG = "join/classic/session-at-max", "join/classic/session-above-max", "commit/classic/metadata-too-long"


def judged(one: Case, settings: Mapping[str, Any], by_hand: Mapping[str, Any] | None = None, variant: Variant = REFERENCE) -> Judgement:
    """Return the judgement on a case against a broker that does not list the settings `UNLISTED`."""
    found: list[Judgement] = []

    async def main() -> None:
        has = {DELAY: 0, LEAST: 100, **settings}
        async with (
            unlike([has], unlisted=UNLISTED, by_hand=by_hand, variant=variant) as subject,
            opened(subject, cluster_spec_of(one), [one]) as cluster,
        ):
            stage = BrokerStage(subject=subject, spec=cluster_spec_of(one), cluster=cluster, profile="kafka-4.1", seed=1, token="x")
            play = await stage.play(one, key="c")
            assert play.trouble is None
            found.append(judge_script_run(one, play.trace))

    run_virtually(main, seed=1)
    return found[0]


def named(id: str) -> Case:
    return next(one for one in every_case() if one.id == id and one.side == "coordinator")


@pytest.mark.parametrize("id", [AT_MAX, ABOVE_MAX, TOO_LONG])
def test_a_broker_with_kafkas_bounds_is_judged_by_them(id: str) -> None:
    assert judged(named(id), {}).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("id", "name", "value"),
    [(AT_MAX, MAX_SESSION, 300_000), (ABOVE_MAX, MAX_SESSION, 3_600_000), (TOO_LONG, METADATA, 10_000), (TOO_LONG, METADATA, 64)],
)
def test_a_broker_with_another_bound_keeps_the_rules_but_does_not_test_the_case(id: str, name: str, value: int) -> None:
    judgement = judged(named(id), {name: value})

    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason.startswith(f"The broker has {name}={value}, by which the case took another course: ")


@pytest.mark.parametrize(("id", "name"), [(ABOVE_MAX, MAX_SESSION), (TOO_LONG, METADATA)])
def test_a_broker_without_a_bound_lacks_what_the_case_is_about(id: str, name: str) -> None:
    judgement = judged(named(id), {name: MOST})

    assert judgement.verdict is Verdict.UNIMPLEMENTED
    assert judgement.reason == f"It does not have {name}: the broker has no such limit, or none that its answers show."


def test_a_bound_that_is_neither_reported_nor_measured_blames_nobody() -> None:
    judgement = judged(case(*stable("a"), join("b", session_timeout_ms=25_000, wait=True, code=79)), {MAX_SESSION: 20_000})

    assert (judgement.verdict, judgement.reason) == (
        Verdict.INCONCLUSIVE,
        f"The broker does not report {MAX_SESSION}. With {MAX_SESSION}=24999 its answers follow the rules; give its value with --set NAME=VALUE.",
    )


def test_a_group_that_is_full_at_a_size_that_nobody_reports_blames_nobody() -> None:
    crowd = case(*stable("a", "b"), *joined("c"))

    assert judged(crowd, {}).verdict is Verdict.OK
    judgement = judged(crowd, {MAX_SIZE: 2})
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason.startswith(f"The broker does not report {MAX_SIZE}. With {MAX_SIZE}=2 its answers follow the rules; ")


def test_a_case_that_needs_an_unlisted_setting_says_how_to_report_it() -> None:
    limited = case(*map(join, "abcd"), settings={DELAY: 0, LEAST: 100, MAX_SIZE: 3})

    assert judged(limited, {MAX_SIZE: 3}).reason == (
        f"The case needs {MAX_SIZE}=3: the broker lists no such setting; give its value with --set NAME=VALUE."
    )
    assert judged(limited, {MAX_SIZE: 3}, by_hand={MAX_SIZE: 3}).verdict is Verdict.OK


@pytest.mark.parametrize("name", ["metadata-lost", "commit-without-metadata"])
@pytest.mark.slow
def test_a_bug_is_still_found_where_settings_are_unreported(name: str) -> None:
    assert judged(named(TOO_LONG), {METADATA: 10_000}, variant=variant_named(name)).verdict is Verdict.FAILED


def test_a_broker_that_reports_its_bound_and_does_not_keep_it_fails() -> None:
    assert judged(named(AT_MAX), {}, by_hand={MAX_SESSION: 1_800_000}, variant=variant_named(EXCLUSIVE)).verdict is Verdict.FAILED
