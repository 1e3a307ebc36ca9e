"""The result of a scenario of Spark's Kafka source: its figures, and each expectation with its observation. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groupproof.chaos.spark.streaming.streaming_reads import (
    GenerationAssignment,
    QueryRead,
    asked_by,
    drivers_of,
    given_by_coordinator,
    joins_of,
    who_read,
)
from groupproof.chaos.spark.streaming.streaming_run import StreamingResult
from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.model.verdicts import Verdict

__all__ = ["Check", "ScenarioOutcome", "outcome_of"]

_BAD = (Verdict.FAILED, Verdict.BROKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An expectation: its sentence `says`, whether it `holds`, and the observation."""

    says: str
    holds: bool
    observed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOutcome:
    """A scenario's results; `asked` counts requests by sender, `assignments` are by generation, `judged` are the verdicts on the trace."""

    scenario: Scenario
    queries: tuple[QueryRead, ...]
    assignments: tuple[GenerationAssignment, ...]
    asked: dict[str, dict[str, int]]
    joins: int
    checks: tuple[Check, ...]
    judged: tuple[CaseResult, ...]
    delivered: dict[str, int]
    seconds: float

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        return Verdict.OK if self.holds else Verdict.FAILED

    def to_json(self) -> dict[str, Any]:
        scenario = self.scenario
        return {
            "name": scenario.name, "title": scenario.title, "story": scenario.story, "verdict": self.verdict.value, "seconds": round(self.seconds, 1),
            "path": "deprecated" if scenario.is_deprecated else "default", "fail_on_data_loss": scenario.fails_on_loss,
            "membership_requests": self.joins, "queries": [query.to_json() for query in self.queries], "generations": [assignment.to_json() for assignment in self.assignments],
            "requests": self.asked, "faults": [{"name": name, "delivered": times} for name, times in self.delivered.items()],
            "expects": [{"says": check.says, "holds": check.holds, "observed": check.observed} for check in self.checks],
            "judged": [
                {"case": result.case.id, "verdict": result.ruling.verdict.value, "observed": result.ruling.observed} for result in self.judged
            ],
        }  # fmt: skip


def outcome_of(result: StreamingResult, judged: Sequence[CaseResult]) -> ScenarioOutcome:
    """Return the outcome of a course; `judged` are the checkers' results on its trace."""
    scenario = result.scenario
    drivers = drivers_of(result.trace, scenario.queries)
    queries = tuple(sorted((who_read(read) for read in result.reads), key=lambda query_read: query_read.query))
    assignments = tuple(given_by_coordinator(result.trace, drivers))
    joins = joins_of(result.trace)
    checks = (
        _joined(scenario, drivers, joins), *_read(scenario, queries), *_split(scenario, assignments), _failed(scenario, queries),
        *_fault_checks(scenario, result.delivered), *_generation_checks(judged),
    )  # fmt: skip
    return ScenarioOutcome(
        scenario=scenario, queries=queries, assignments=assignments, asked=asked_by(result.trace, drivers), joins=joins, checks=checks, judged=tuple(judged),
        delivered=dict(result.delivered), seconds=result.ended_s,
    )  # fmt: skip


def _joined(scenario: Scenario, drivers: dict[str, str], joins: int) -> Check:
    if not scenario.expects.joins:
        return Check(says="Nobody sends a request of membership.", holds=joins == 0, observed=f"JoinGroup and its like: {joins}.")
    missing = [query for query in scenario.queries if query not in drivers.values()]
    text = ", ".join(f"{query} as {client}" for client, query in drivers.items()) or "nobody"
    return Check(says="The driver of each query joins the group.", holds=not missing, observed=f"Joined: {text}.")


def _read(scenario: Scenario, queries: Sequence[QueryRead]) -> Iterator[Check]:
    if scenario.expects.whole is None:
        return
    text = "; ".join(_reads_text(query) for query in queries)
    if scenario.expects.whole:
        yield Check(says="Each query reads every record, and none again.", holds=all(query.is_whole for query in queries), observed=f"{text}.")
    else:
        yield Check(says="Not every query reads every record once.", holds=not all(query.is_whole for query in queries), observed=f"{text}.")


def _reads_text(query_read: QueryRead) -> str:
    lost, again = (f", {query_read.missed} never" if query_read.missed else ""), (f", {query_read.twice} rows again" if query_read.twice else "")
    return f"{query_read.query} read {query_read.distinct} of {query_read.due} records{lost}{again}"


def _split(scenario: Scenario, assignments: Sequence[GenerationAssignment]) -> Iterator[Check]:
    if scenario.expects.split is None:
        return
    found = [assignment for assignment in assignments if assignment.is_split]
    text = (
        "; ".join(f"generation {assignment.generation}: {_parts(assignment)}" for assignment in found)
        or "no generation has two members with partitions"
    )
    yield Check(
        says="The coordinator divides the partitions between the two queries.", holds=bool(found) is scenario.expects.split, observed=f"{text}."
    )


def _parts(assignment: GenerationAssignment) -> str:
    return ", ".join(f"{query} {' '.join(map(str, parts))}" for query, parts in sorted(assignment.partitions.items()))


def _failed(scenario: Scenario, queries: Sequence[QueryRead]) -> Check:
    text = "; ".join(f"{query.query}: {query.failed}" for query in queries if query.failed) or "no error"
    if scenario.expects.fails:
        return Check(says="A query ends with an error.", holds=any(query.failed for query in queries), observed=f"{text}.")
    return Check(says="No query ends with an error.", holds=not any(query.failed for query in queries), observed=f"{text}.")


def _fault_checks(scenario: Scenario, delivered: dict[str, int]) -> Iterator[Check]:
    if not delivered:
        return
    text = ", ".join(f"{name} {times} times" for name, times in delivered.items())
    if scenario.expects.joins:
        yield Check(says="Each fault takes effect.", holds=all(delivered.values()), observed=f"{text}.")
    else:
        yield Check(says="Nobody meets the fault.", holds=not any(delivered.values()), observed=f"{text}.")


def _generation_checks(judged: Sequence[CaseResult]) -> Iterator[Check]:
    text = ", ".join(f"{result.case.id} {result.ruling.verdict.value}" for result in judged)
    if judged:
        yield Check(
            says="Members and coordinator keep the rules of the group.", holds=not any(result.ruling.verdict in _BAD for result in judged), observed=f"{text}.",
        )  # fmt: skip
