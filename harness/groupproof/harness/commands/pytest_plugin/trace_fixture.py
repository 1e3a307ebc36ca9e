"""The trace of the coordinator in a test, with the checkers that judge it, as in `groupproof serve --judge`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, overload

from groupproof.harness.commands.pytest_plugin.argument_names import Since, api_meant, place_meant
from groupproof.harness.commands.pytest_plugin.outcome_text import framed
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.texts.excerpt import excerpt_of
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Observation, Trace, write_trace
from groupproof.protocol.vocabulary import Api

__all__ = ["GroupproofTrace"]

TAIL_MAX: Final = 30


class GroupproofTrace(Sequence[Observation]):
    """The observations so far, in order; it grows. Its `len`, an observation, or a fault that took effect is a place for `since`."""

    def __init__(self, now: Callable[[], Trace]) -> None:
        self._now = now

    def __len__(self) -> int:
        return len(self._now())

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Observation]: ...
    def __getitem__(self, index: int | slice) -> Observation | Sequence[Observation]:
        return list(self._now())[index]

    def __iter__(self) -> Iterator[Observation]:
        return iter(list(self._now()))

    def requests(self, api: str | None = None, *, client: str | None = None, group: str | None = None, since: Since = 0) -> list[Observation]:
        """Return the requests of an API by Kafka's name (`OffsetCommit`), of a client id and a group, since a place in the trace."""
        return self._of("request", api, client, group, since)

    def responses(self, api: str | None = None, *, client: str | None = None, group: str | None = None, since: Since = 0) -> list[Observation]:
        """Return the responses in the same way; `error` is Kafka's error code."""
        return self._of("response", api, client, group, since)

    def _of(self, kind: str, api: str | None, client: str | None, group: str | None, since: Since) -> list[Observation]:
        title = None if api is None else api_meant(api)
        wanted = {"api": title, "client": client, "group": group}
        asked = [(name, want) for name, want in wanted.items() if want is not None]
        return [obs for obs in self[place_meant(since) :] if obs.kind == kind and all(getattr(obs, name) == want for name, want in asked)]

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the group's committed and acknowledged offsets, by topic and partition."""
        evidence = Evidence(list(self))
        offsets: dict[tuple[str, int], int] = {}
        for request in evidence.requests(Api.OFFSET_COMMIT):
            answer = evidence.answer(request)
            if request.group == group and answer is not None and not answer.error:
                offsets |= {(topic, partition): offset for topic, partition, offset in request.offsets}
        return offsets

    def check(self, group: str | None = None, *, goodbye: bool = False) -> None:
        """Raise `AssertionError` with the rule and the frames where a member of the group, or of any group, broke the protocol.

        It also fails if there is nothing to judge. With `goodbye` it fails for a member that ended without a LeaveGroup, too.
        """
        results = judge_live(list(self))
        members = [result for result in results if result.ruling.verdict is not Verdict.UNIMPLEMENTED]
        judged = [result for result in members if group is None or any(obs.group == group for obs in result.plays[0].trace)]
        if not judged:
            raise AssertionError(f"the trace has nothing about {'a group' if group is None else f'group {group!r}'}, so there is nothing to judge")
        for item in judged:
            _check(item, goodbye=goodbye)

    def tail(self, lines: int = TAIL_MAX) -> str:
        """Return the last observations in words, without the routine requests of every consumer."""
        trace = list(self)
        return "\n".join(framed(list(excerpt_of(trace, None).lines)[-lines:])) or "nothing was seen"

    def save(self, path: str | Path) -> None:
        """Write the trace, for `groupproof trace check` and `groupproof trace explain`."""
        Path(path).write_text("".join(f"{line}\n" for line in write_trace(self)), encoding="utf-8")


def _check(result: CaseResult, *, goodbye: bool) -> None:
    ruling, trace = result.ruling, result.plays[0].trace
    if ruling.verdict is Verdict.INCONCLUSIVE:
        raise AssertionError(f"{result.case.title}: no verdict, for {ruling.observed}")
    broken = next((finding for finding in ruling.findings if finding.verdict is Verdict.FAILED), None)
    if broken is not None:
        rule = by_id(broken.requirement)
        frames = [line for line in excerpt_of(trace, broken.seq).lines if broken.seq is None or line.seq <= broken.seq]
        lines = [f"{rule.id}: {broken.observed}", f"  requirement  {rule.id} ({rule.level.value}) {rule.text}", f"  expected     {broken.expected}"]
        raise AssertionError("\n".join([*lines, *framed(frames)]))
    if goodbye and ruling.goodbye is Goodbye.UNCLEAN:
        raise AssertionError(f"unclean goodbye: {ruling.goodbye_reason}")
