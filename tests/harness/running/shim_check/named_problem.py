"""A check of a shim that ends when it has found what it is to find: each pace takes a process, or its time, for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupproof.harness.running.shim_check.exercise_setup import ExerciseSetup
from groupproof.harness.running.shim_check.shim_check import Exercise, ShimCheck
from groupproof.harness.subjects.shims.shim_memory import RunShim
from groupproof.harness.subjects.shims.shim_process import Program

__all__ = ["CheckUntilNamed"]


class CheckUntilNamed(ShimCheck):
    """Goes through no more paces once a problem is named: none takes back what another found."""

    def __init__(self, program: Program | RunShim, problem: str) -> None:
        super().__init__(program, say=lambda _: None)
        self._problem_awaited = problem

    async def put_through(self, paces: Iterable[Exercise]) -> ExerciseSetup:
        return await super().put_through(self._until_named(paces))

    def _until_named(self, paces: Iterable[Exercise]) -> Iterator[Exercise]:
        for exercise in paces:
            if not (self._problem_awaited and any(self._problem_awaited in problem for problem in self.problems)):
                yield exercise
