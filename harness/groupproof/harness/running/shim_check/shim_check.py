"""`groupproof shim check`: runs every command of a shim against the reference coordinator and prints each problem as one line.

It is strict where a run is lenient, and it checks only the shim. The client's behaviour on the wire is a matter for `certify`.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import trio

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.coordinator_settings import setting_names
from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.plans.client_stage import COORDINATOR_DEFAULTS
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.running.shim_check.dialogue import ANSWER_S, CheckedShim, MemberDialogue, Stop, WatchedMember, WatchedShim, ending_text
from groupproof.harness.running.shim_check.embedded_exercises import closed_stdin, embedded_kind, life, terminated
from groupproof.harness.running.shim_check.exercise_setup import RECORDS, TOPICS, ExerciseSetup
from groupproof.harness.running.shim_check.member_frames import GROUP_SETTINGS
from groupproof.harness.running.shim_check.shim_exercises import commands, cooperates, end_of_stdin, preferences, refusals, settings, sigterm
from groupproof.harness.subjects.networks.broker_address import bootstrap_of
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.shims.conversation import ShimGone
from groupproof.harness.subjects.shims.shim_memory import RunShim
from groupproof.harness.subjects.shims.shim_process import Program
from groupproof.harness.subjects.subject import CANNOT_RUN, HELLO_S
from groupproof.protocol.trace import Recorder

__all__ = ["Exercise", "ShimCheck"]

Exercise = Callable[[ExerciseSetup, MemberDialogue], Awaitable[None]]

_EXERCISES: Final[tuple[Exercise, ...]] = (commands, refusals, settings, cooperates, preferences, end_of_stdin, sigterm)
_EMBEDDED_EXERCISES: Final[Mapping[Exercise, Exercise]] = {commands: life, end_of_stdin: closed_stdin, sigterm: terminated}
"""The exercises of a Kafka Connect worker or a Kafka Streams application; the others are for consumers."""

_WORDS_MAX: Final = 5


class ShimCheck:
    """One check of one program; `say` gets a line for each completed part and for each problem.

    A `run_shim` function is checked in this process and in virtual time. `theirs` are faults of the client. The coordinator
    plays the release `profile`; `bind` and `advertise` are as in a run.
    """

    def __init__(
        self, program: Program | RunShim, *, say: Callable[[str], None], seed: int = 1, profile: str = "kafka-4.1", bind: str = "127.0.0.1", advertise: str | None = None
    ) -> None:  # fmt: skip
        self.problems: list[str] = []
        self.theirs: list[str] = []
        self._program = program
        self._say = say
        self._seed = seed
        self._draw = random.Random(seed)
        self._groups = itertools.count(1)
        self._is_virtual = not isinstance(program, Program)
        self._network = MemoryNetwork() if self._is_virtual else LoopbackNetwork(bind, advertise)
        self._profile = profile
        self._recorder: Recorder | None = None
        self._is_embedded = False

    def run(self) -> list[str]:
        """Return the problems; raise `BrokenEnvironment` when the program cannot run here at all."""
        try:
            if self._is_virtual:
                run_virtually(self._main, seed=self._seed)
            else:
                trio.run(self._main)
        except ExceptionGroup as error:
            raise trouble_in(error) from error
        return self.problems

    def write_trace(self, folder: Path) -> Path:
        """Write the trace of the dialogue to `folder`, and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "trace.ndjson"
        observations = () if self._recorder is None else self._recorder.trace
        path.write_text("".join(json.dumps(obs.to_json(), ensure_ascii=False) + "\n" for obs in observations), "utf-8")
        return path

    async def _main(self) -> None:
        await self.put_through(_EXERCISES)

    async def put_through(self, exercises: Iterable[Exercise]) -> ExerciseSetup:
        """Run the exercises; stop if the `commands` exercise does not come to its end. Return the setup with the results."""
        recorder = self._recorder = Recorder(clock_from_now())
        async with trio.open_nursery() as nursery:
            of_groups = {name: value for name, value in GROUP_SETTINGS.items() if name in setting_names(self._profile)}
            settings = {**COORDINATOR_DEFAULTS, **of_groups}
            cluster = Cluster(settings=settings, topics=TOPICS, records=RECORDS, recorder=recorder, profile=self._profile)
            await nursery.start(cluster.run)
            async with self._network.opened(cluster) as addresses:
                setup = ExerciseSetup(cluster, self._network, bootstrap_of(addresses), self._is_virtual, self._say, self._problem, self._not_ours)
                for exercise in exercises:
                    if self._is_embedded and exercise not in _EMBEDDED_EXERCISES:
                        continue
                    if not await self._run_exercise(exercise, setup, recorder) and exercise is commands:
                        break
            nursery.cancel_scope.cancel()
        return setup

    async def _run_exercise(self, exercise: Exercise, setup: ExerciseSetup, recorder: Recorder) -> bool:
        """Return whether a part came to its end, with or without problems. The program has ended afterwards."""
        shim, is_through, before = self._shim(), False, len(self.problems)
        since = len(recorder.trace) - 1
        async with trio.open_nursery() as nursery:
            await nursery.start(shim.run)
            dialogue: MemberDialogue | None = None
            try:
                await self._handshake(shim)
                dialogue = MemberDialogue(shim, recorder, self._problem, group=f"g{next(self._groups)}")
                hello = shim.conversation.hello
                self._is_embedded = hello is not None and bool(embedded_kind(hello.capabilities))
                if not self._is_embedded or exercise in _EMBEDDED_EXERCISES:
                    await (_EMBEDDED_EXERCISES[exercise] if self._is_embedded else exercise)(setup, dialogue)
                is_through = True
            except* Stop:
                pass
            nursery.cancel_scope.cancel()
        if len(self.problems) > before:
            self._print_context(shim, [] if dialogue is None else dialogue.excerpt(since))
        return is_through

    def _shim(self) -> CheckedShim:
        if isinstance(self._program, Program):
            return WatchedShim(self._program, self._problem)
        return WatchedMember(self._program, self._network.connect, self._problem, seed=self._seed)

    def _print_context(self, shim: CheckedShim, frames: list[str]) -> None:
        """Print the frames and stderr around the problems."""
        for line in frames:
            self._say(f"  frame: {line}")
        for line in shim.stderr.last(_WORDS_MAX):
            self._say(f"  stderr: {line}")

    def _problem(self, text: str) -> None:
        line = " ".join(text.split())
        if line not in self.problems:
            self.problems.append(line)
            self._say(f"problem: {line}")

    def _not_ours(self, text: str) -> None:
        if text not in self.theirs:
            self.theirs.append(text)
            self._say(f"the client: {text}")

    async def _handshake(self, shim: CheckedShim) -> None:
        conversation = shim.conversation
        try:
            with trio.move_on_after(HELLO_S):
                await conversation.wait_for_hello()
            with trio.move_on_after(ANSWER_S) as patience:
                await conversation.try_made_up_command(self._draw)
            late = f"no hello within {HELLO_S:.0f} s" if conversation.hello is None else f"a made-up command was not answered within {ANSWER_S:.0f} s"
            if not patience.cancelled_caught:
                return
            self._problem(late)
        except BrokenShim as error:
            self._problem(str(error))
        except ShimGone as gone:
            if gone.ending.status == CANNOT_RUN and gone.ending.broken is None:
                last_lines = " | ".join(gone.ending.stderr[-3:])
                raise BrokenEnvironment(f"the shim says that it can't run here (status {CANNOT_RUN}): {last_lines}") from gone
            self._problem(ending_text(gone, "before it had answered a command"))
        raise Stop
