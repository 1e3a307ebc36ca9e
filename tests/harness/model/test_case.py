"""Judges that are made of functions of the evidence: each with what a case tells it, and wrong arguments refused where the case is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.traces import Story

from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Verdict

LOOKS: list[str] = []


@checker
def beats_of(ev: Evidence, client: str, *, requirement: str = "CLIENT-40") -> Iterator[Finding]:
    """Judge that a client heartbeats."""
    LOOKS.append(client)
    for obs in ev.trace:
        if obs.client == client:
            yield Finding(verdict=Verdict.OK, requirement=requirement, expected="", observed=obs.kind)


def test_a_checker_reads_evidence_with_the_arguments_of_its_case() -> None:
    LOOKS.clear()
    one, other = beats_of("m0"), beats_of("m1", requirement="CLIENT-41")
    assert LOOKS == [], "a judge that is only made looks at nothing"
    story = Story()
    story.beat()
    evidence = Evidence(story.end(5).trace)

    assert {finding.requirement for finding in one(evidence)} == {"CLIENT-40"}
    assert list(other(evidence)) == []
    assert LOOKS == ["m0", "m1"]
    assert list(one(evidence)) == list(one(evidence)), "it may look as often as it is asked"


def test_a_judge_goes_by_the_name_and_the_sentence_of_its_function() -> None:
    judge: Any = beats_of("m0")

    assert (judge.__qualname__, judge.__module__, judge.__doc__) == ("beats_of", __name__, "Judge that a client heartbeats.")


@pytest.mark.parametrize(("args", "options"), [((), {}), (("m0", "m1"), {}), (("m0",), {"after": "now"})])
def test_arguments_that_the_function_does_not_take_are_refused_where_the_judge_is_made(args: tuple[str, ...], options: dict[str, str]) -> None:
    make: Any = beats_of
    with pytest.raises(TypeError, match="beats_of"):
        make(*args, **options)
