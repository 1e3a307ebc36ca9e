"""What a course on Spark's Kafka source came to: its figures, and each expectation with what was seen. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groupproof.chaos.spark.streaming.streaming_reads import Given, QueryRead, asked_by, drivers_of, given_by_coordinator, joins_of, who_read
from groupproof.chaos.spark.streaming.streaming_run import Played
from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.model.verdicts import Verdict

__all__ = ["Check", "Outcome", "outcome_of"]

_BAD = (Verdict.FAILED, Verdict.BROKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An expectation: what it `says`, whether it `holds`, and what was seen."""

    says: str
    holds: bool
    observed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A scenario with all that it came to; `asked` counts requests by who sent them, `given` are the generations, `judged` the verdicts on the group's trace."""

    scenario: Scenario
    queries: tuple[QueryRead, ...]
    given: tuple[Given, ...]
    asked: dict[str, dict[str, int]]
    joins: int
    checks: tuple[Check, ...]
    judged: tuple[CaseResult, ...]
    delivered: dict[str, int]
    seconds: float

    @property
    def holds(self) -> bool:
        return all(each.holds for each in self.checks)

    @property
    def verdict(self) -> Verdict:
        return Verdict.OK if self.holds else Verdict.FAILED

    def to_json(self) -> dict[str, Any]:
        scenario = self.scenario
        return {
            "name": scenario.name, "title": scenario.title, "story": scenario.story, "verdict": self.verdict.value, "seconds": round(self.seconds, 1),
            "path": "deprecated" if scenario.is_deprecated else "default", "fail_on_data_loss": scenario.fails_on_loss,
            "membership_requests": self.joins, "queries": [each.to_json() for each in self.queries], "generations": [each.to_json() for each in self.given],
            "requests": self.asked, "faults": [{"name": name, "delivered": times} for name, times in self.delivered.items()],
            "expects": [{"says": each.says, "holds": each.holds, "observed": each.observed} for each in self.checks],
            "judged": [
                {"case": each.case.id, "verdict": each.ruling.verdict.value, "observed": each.ruling.observed} for each in self.judged
            ],
        }  # fmt: skip


def outcome_of(played: Played, judged: Sequence[CaseResult]) -> Outcome:
    """Return what a course came to; `judged` is what the checkers say of its trace."""
    scenario = played.scenario
    drivers = drivers_of(played.trace, scenario.queries)
    queries = tuple(sorted((who_read(read) for read in played.reads), key=lambda each: each.query))
    given = tuple(given_by_coordinator(played.trace, drivers))
    joins = joins_of(played.trace)
    checks = (
        _joined(scenario, drivers, joins), *_read(scenario, queries), *_split(scenario, given), _failed(scenario, queries),
        *_struck(scenario, played.delivered), *_kept(judged),
    )  # fmt: skip
    return Outcome(
        scenario=scenario, queries=queries, given=given, asked=asked_by(played.trace, drivers), joins=joins, checks=checks, judged=tuple(judged),
        delivered=dict(played.delivered), seconds=played.ended_s,
    )  # fmt: skip


def _joined(scenario: Scenario, drivers: dict[str, str], joins: int) -> Check:
    if not scenario.expects.joins:
        return Check(says="Nobody sends a request of membership.", holds=joins == 0, observed=f"JoinGroup and its like: {joins}.")
    missing = [query for query in scenario.queries if query not in drivers.values()]
    told = ", ".join(f"{query} as {client}" for client, query in drivers.items()) or "nobody"
    return Check(says="The driver of each query joins the group.", holds=not missing, observed=f"Joined: {told}.")


def _read(scenario: Scenario, queries: Sequence[QueryRead]) -> Iterator[Check]:
    if scenario.expects.whole is None:
        return
    told = "; ".join(_told(each) for each in queries)
    if scenario.expects.whole:
        yield Check(says="Each query reads every record, and none again.", holds=all(each.is_whole for each in queries), observed=f"{told}.")
    else:
        yield Check(says="Not every query reads every record once.", holds=not all(each.is_whole for each in queries), observed=f"{told}.")


def _told(each: QueryRead) -> str:
    lost, again = (f", {each.missed} never" if each.missed else ""), (f", {each.twice} rows again" if each.twice else "")
    return f"{each.query} read {each.distinct} of {each.due} records{lost}{again}"


def _split(scenario: Scenario, given: Sequence[Given]) -> Iterator[Check]:
    if scenario.expects.split is None:
        return
    found = [each for each in given if each.is_split]
    told = "; ".join(f"generation {each.generation}: {_parts(each)}" for each in found) or "no generation has two members with partitions"
    yield Check(
        says="The coordinator divides the partitions between the two queries.", holds=bool(found) is scenario.expects.split, observed=f"{told}."
    )


def _parts(given: Given) -> str:
    return ", ".join(f"{query} {' '.join(map(str, parts))}" for query, parts in sorted(given.partitions.items()))


def _failed(scenario: Scenario, queries: Sequence[QueryRead]) -> Check:
    told = "; ".join(f"{each.query}: {each.failed}" for each in queries if each.failed) or "no error"
    if scenario.expects.fails:
        return Check(says="A query ends with an error.", holds=any(each.failed for each in queries), observed=f"{told}.")
    return Check(says="No query ends with an error.", holds=not any(each.failed for each in queries), observed=f"{told}.")


def _struck(scenario: Scenario, delivered: dict[str, int]) -> Iterator[Check]:
    if not delivered:
        return
    told = ", ".join(f"{name} {times} times" for name, times in delivered.items())
    if scenario.expects.joins:
        yield Check(says="Each fault takes effect.", holds=all(delivered.values()), observed=f"{told}.")
    else:
        yield Check(says="Nobody meets the fault.", holds=not any(delivered.values()), observed=f"{told}.")


def _kept(judged: Sequence[CaseResult]) -> Iterator[Check]:
    told = ", ".join(f"{each.case.id} {each.ruling.verdict.value}" for each in judged)
    if judged:
        yield Check(
            says="Members and coordinator keep the rules of the group.", holds=not any(each.ruling.verdict in _BAD for each in judged), observed=f"{told}.",
        )  # fmt: skip
