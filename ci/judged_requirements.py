"""Which requirements a case judges in a subject: those that a finding speaks of, not those that the case lists. Pure.

A requirement is judged where a judge of the case says anything of it, or a checker of every case of its dialect had something to judge it by, or the oracle
held an answer against its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from groupproof.harness.judging.case_judgement import universal_checkers
from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.requirements import SPEAKS_OF
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_names import as_written
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.plan import Plan
from groupproof.protocol.trace import Observation, Trace

__all__ = ["judged_in", "requirements_judged", "spoken_of", "unjudged"]


def judged_in(case: Case, *traces: Trace) -> frozenset[str]:
    """Return the requirements that judging these runs of the case speaks of."""
    return frozenset().union(*(_of_client(case, trace) if isinstance(case.plan, Plan) else _of_coordinator(case, trace) for trace in traces))


def spoken_of(judgement: Judgement) -> frozenset[str]:
    """Return the requirements that a coordinator's run was judged by; of a client's run its judgement names those alone of which a judge says anything."""
    return frozenset(finding.requirement for finding in judgement.findings)


def unjudged(case: Case, judged: Collection[str]) -> list[str]:
    """Return what the case lists and is not `judged` in its runs."""
    return [requirement for requirement in case.requirements if requirement not in judged]


def _of_client(case: Case, trace: Trace) -> Iterable[str]:
    trace = as_written(trace)
    yield from requirements_judged(trace, universal_checkers(case))
    evidence = Evidence(trace)
    for judge in case.judges:
        try:
            yield from [finding.requirement for finding in judge(evidence)]
        except (NotReached, NotOffered):
            continue


def _of_coordinator(case: Case, trace: Trace) -> Iterable[str]:
    return spoken_of(judge_script_run(case, trace))


def requirements_judged(trace: Iterable[Observation], checkers: Iterable[Callable[[], Checker]]) -> frozenset[str]:
    """Return the requirements of which these checkers had something to judge in a trace."""
    open_yet = {(key, shows) for make in checkers for key, shows in SPEAKS_OF.get(make, {}).items()}
    spoken: set[str] = set()
    for obs in trace:
        matched = {pair for pair in open_yet if pair[1](obs)}
        spoken |= {name for name, _ in matched}
        open_yet -= matched
    return frozenset(spoken)
