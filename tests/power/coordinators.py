"""Runs coordinator cases against a variant of the reference coordinator, side by side, in virtual time; no run can hang."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import trio

from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import Case
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, ClusterSpec, cases_by_cluster, opened
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually

__all__ = ["PROFILE", "judgements", "played"]

PROFILE = "kafka-4.1"
TASK_STEPS_MAX = 2_000_000


def judgements(
    variant: str | Variant | None, cases: Iterable[Case], *, profile: str = PROFILE, seed: int = 1, judged_by: str = ""
) -> dict[str, Judgement]:
    """Return what each case says to the variant, by the case's id. Raise `Stuck`, or the trouble of a case that could not be carried out.

    The broker has the rules of `profile`, and is judged by the same ones or by those of `judged_by`.
    """
    chosen = list(cases)
    plays = played(variant, chosen, seed, profile, judged_by=judged_by)
    return {case.id: judge_script_run(case, plays[case.id].trace) for case in chosen}


def played(
    variant: str | Variant | None,
    cases: Sequence[Case],
    seed: int = 1,
    profile: str = PROFILE,
    *,
    own: Mapping[str, int | str] | None = None,
    judged_by: str = "",
) -> dict[str, Play]:
    """Carry the cases out on a variant, or on the reference as it is, with settings of its `own`; return the plays by the cases' ids. Raise as `judgements`."""
    plays: dict[str, Play] = {}
    subject = ReferenceBrokers(profile=profile, seed=seed, variant=_variant(variant), own=own or {})

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for spec, own in cases_by_cluster(cases).items():
                nursery.start_soon(_play_world, subject, judged_by or profile, spec, own, seed, plays)

    with _quiet():
        run_virtually(main, seed=seed, steps_max=TASK_STEPS_MAX + 20_000 * len(cases))
    return plays


def _variant(variant: str | Variant | None) -> Variant:
    return REFERENCE if variant is None else variant if isinstance(variant, Variant) else variant_named(variant)


async def _play_world(subject: ReferenceBrokers, profile: str, spec: ClusterSpec, cases: Sequence[Case], seed: int, plays: dict[str, Play]) -> None:
    if spec.only is not None:
        await _play_all(BrokerStage(subject=subject, spec=spec, cluster=None, profile=profile, seed=seed, token=""), cases, plays)
        return
    async with opened(subject, spec, cases) as cluster:
        await _play_all(BrokerStage(subject=subject, spec=spec, cluster=cluster, profile=profile, seed=seed, token=""), cases, plays)


async def _play_all(stage: BrokerStage, cases: Sequence[Case], plays: dict[str, Play]) -> None:
    async with trio.open_nursery() as nursery:
        for index, case in enumerate(cases):
            nursery.start_soon(_play, stage, case, f"c{index}", plays)


async def _play(stage: BrokerStage, case: Case, key: str, plays: dict[str, Play]) -> None:
    play = await stage.play(case, key=key)
    if play.trouble is not None:
        raise play.trouble
    plays[case.id] = play


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what variants make the coordinator log out of the tests' output."""
    logger = logging.getLogger("groupproof.coordinator.broker.client_connection")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
