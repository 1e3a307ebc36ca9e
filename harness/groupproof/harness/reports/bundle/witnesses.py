"""Compares what the traces of a run say about the whole run with its report: the subject's identity and capabilities. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from groupproof.harness.model.common_versions import unspoken
from groupproof.harness.model.prerequisites import needs_of
from groupproof.harness.model.report_paths import case_place
from groupproof.harness.reports.bundle.recomputed_case import RecomputedCase, TraceFacts
from groupproof.protocol.vocabulary import Api, api_named

__all__ = ["contradictions"]


def contradictions(manifest: Mapping[str, Any], report: Mapping[str, Any], recomputed: Mapping[str, RecomputedCase]) -> Iterator[str]:
    """Yield each contradiction by a trace once, with the first case that shows it."""
    facts = [(id, fact) for id, case in sorted(recomputed.items()) for fact in case.facts]
    yield from _twice(facts)
    of_side = _of_client if manifest["subject"]["side"] == "client" else _of_coordinator
    found = ((contradiction, case_place(id)) for id, fact in facts for contradiction in of_side(manifest, report, fact))
    first: dict[str, str] = {}
    for contradiction, place in found:
        first.setdefault(contradiction, place)
    yield from (f"report.json: {contradiction}, by the traces in {place}" for contradiction, place in first.items())
    yield from _contradicted_cases(recomputed)


def _twice(facts: Iterable[tuple[str, TraceFacts]]) -> Iterator[str]:
    """Yield the runs that occur twice. Each run of each case has its own name."""
    where: dict[str, str] = {}
    for id, fact in facts:
        if fact.run in where:
            yield f"{case_place(id)} has the run {fact.run} for a trace, which {case_place(where[fact.run])} has as well"
        where[fact.run] = id


def _of_client(manifest: Mapping[str, Any], report: Mapping[str, Any], fact: TraceFacts) -> Iterator[str]:
    subject = report["subject"]
    for hello in fact.hellos:
        if isinstance(manifest["subject"]["spec"], list):
            yield from _other("subject.name", subject["name"], hello["client"])
        for name in ("version", "language"):
            yield from _other(f"subject.{name}", subject[name], hello[name])
        yield from _other("subject.capabilities", sorted(subject["capabilities"]), hello["capabilities"])


def _of_coordinator(manifest: Mapping[str, Any], report: Mapping[str, Any], fact: TraceFacts) -> Iterator[str]:
    ground = fact.ground
    if ground is None:
        return
    yield from _other("suite.profile", report["suite"]["profile"], ground["profile"])
    for name in ("name", "version"):
        yield from _other(f"subject.{name}", report["subject"][name], ground["subject"][name])
    ranges = sorted((api_named(name), versions) for name, versions in ground["versions"].items())
    yield from _other("subject.capabilities", report["subject"]["capabilities"], [f"{api.title} {low}-{high}" for api, (low, high) in ranges])


def _other(name: str, stated: Any, found: Any) -> Iterator[str]:
    if stated != found:
        yield f"{name} is {_words(stated)}, and {_words(found)}"


def _words(value: Any) -> str:
    return f"{len(value)} of them: {', '.join(map(str, value))}" if isinstance(value, list | tuple) else repr(value)


def _contradicted_cases(recomputed: Mapping[str, RecomputedCase]) -> Iterator[str]:
    """Yield the cases that claim to need more of a broker's versions than it has, where other traces show that it has them."""
    grounds = [fact.ground for case in recomputed.values() for fact in case.facts if fact.ground is not None]
    if not grounds:
        return
    ranges, readable = _ranges(grounds[0])
    for id, value in sorted(recomputed.items()):
        if any(fact.is_unspoken for fact in value.facts) and not unspoken(needs_of(value.case), ranges, readable):
            yield f"{case_place(id)} is said to need versions that the broker does not speak, which by other traces it does"


_Ranges = dict[Api, tuple[int, int]]


def _ranges(ground: Mapping[str, Any]) -> tuple[_Ranges, _Ranges]:
    """Return the versions that a broker offered, and those of them that worked."""
    offered = {api_named(name): _pair(versions) for name, versions in ground["versions"].items()}
    broken = {api_named(name): min(map(int, versions)) - 1 for name, versions in ground.get("unreadable", {}).items()}
    return offered, {api: (low, min(high, broken.get(api, high))) for api, (low, high) in offered.items()}


def _pair(versions: Sequence[int]) -> tuple[int, int]:
    low, high = versions
    return low, high
