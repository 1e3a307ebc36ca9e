"""`groupproof shim check`: a shim is put through every command in front of the reference coordinator, and each problem is one line.

It is strict where a run is lenient, and it checks the shim alone: what the client does right or wrong on the wire is for `certify`.
"""

from __future__ import annotations

import itertools
import random
import signal
from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from groupproof.coordinator.cluster import Cluster
from groupproof.harness.actor import subscription_of
from groupproof.harness.candidates import company
from groupproof.harness.claims import broken_claims
from groupproof.harness.contract_lines import Answer
from groupproof.harness.conversation import Ending, ShimGone
from groupproof.harness.network import LoopbackNetwork, bootstrap_of
from groupproof.harness.plan import Member
from groupproof.harness.play import COORDINATOR_DEFAULTS
from groupproof.harness.runner import trouble_in
from groupproof.harness.shim_process import Program
from groupproof.harness.shim_talk import ANSWER_S, EVENT_S, Stop, Talk, WatchedShim, told
from groupproof.harness.subjects import CANNOT_RUN, HELLO_S
from groupproof.harness.troubles import BrokenEnvironment, BrokenShim
from groupproof.protocol.trace import Recorder

__all__ = ["ShimCheck"]

END_S: Final = 10.0
RECORDS: Final = 20

_TOPICS: Final = {"t": 4, "u": 1}
_EVERY: Final = [["t", partition] for partition in range(_TOPICS["t"])]


class ShimCheck:
    """One check of one program; `say` gets a line for each part that was gone through, and for each problem."""

    def __init__(self, program: Program, *, say: Callable[[str], None], seed: int = 1) -> None:
        self.problems: list[str] = []
        self._program = program
        self._say = say
        self._draw = random.Random(seed)
        self._groups = itertools.count(1)
        self._bootstrap = ""
        self._network = LoopbackNetwork()

    def run(self) -> list[str]:
        """Return the problems; raise `BrokenEnvironment` when the program can't run here at all."""
        try:
            trio.run(self._main)
        except ExceptionGroup as error:
            raise trouble_in(error) from error
        return self.problems

    async def _main(self) -> None:
        recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        async with trio.open_nursery() as nursery:
            cluster = Cluster(settings=COORDINATOR_DEFAULTS, topics=_TOPICS, records=RECORDS, recorder=recorder)
            await nursery.start(cluster.run)
            async with self._network.opened(cluster) as addresses:
                self._bootstrap = bootstrap_of(addresses)
                for part in (self._commands, self._end_of_stdin, self._sigterm):
                    if not await self._went_through(part, recorder):
                        break
            nursery.cancel_scope.cancel()

    async def _went_through(self, part: Callable[[Talk], Awaitable[None]], recorder: Recorder) -> bool:
        """Tell whether a part came to its end, with or without problems; what the program left in its group is gone afterwards."""
        shim, is_through = WatchedShim(self._program, self._problem), False
        async with trio.open_nursery() as nursery:
            await nursery.start(shim.run)
            try:
                await self._greeted(shim)
                await part(Talk(shim, recorder, self._problem, group=f"g{next(self._groups)}"))
                is_through = True
            except Stop:
                pass
            nursery.cancel_scope.cancel()
        return is_through

    def _problem(self, text: str) -> None:
        line = " ".join(text.split())
        if line not in self.problems:
            self.problems.append(line)
            self._say(f"problem: {line}")

    def _expect(self, otherwise: str, *, holds: bool) -> None:
        if not holds:
            self._problem(otherwise)

    async def _greeted(self, shim: WatchedShim) -> None:
        conversation = shim.conversation
        try:
            with trio.move_on_after(HELLO_S):
                await conversation.greeted()
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
                said = " | ".join(gone.ending.stderr[-3:])
                raise BrokenEnvironment(f"the shim says that it can't run here (status {CANNOT_RUN}): {said}") from gone
            self._problem(told(gone, "before it had answered a command"))
        raise Stop

    # The first process goes through every command.

    async def _commands(self, talk: Talk) -> None:
        hello = talk.shim.conversation.hello
        assert hello is not None
        self._say(f"tried: hello of {hello.client} {hello.version} ({hello.language}): {', '.join(sorted(hello.capabilities))}")
        await self._subscribes(talk)
        await self._tells(talk)
        await self._commits(talk)
        if talk.can("pause"):
            await talk.ask_well("pause")
            await talk.ask_well("resume")
            self._say("tried: pause and resume")
        await self._rebalances(talk)
        if talk.can("resubscribe"):
            await self._resubscribes(talk)
        await self._closes(talk)

    async def _subscribes(self, talk: Talk) -> None:
        await talk.ask("assignment")  # of a member that is not there yet: any answer will do, but there must be one
        await talk.subscribe(self._bootstrap, topics=["t"], made_up_field=1)
        self._expect("the answer to subscribe does not list made_up_field, which nobody knows, among ignored", holds="made_up_field" in talk.ignored)
        for name in ("partitions_assigned", "records_consumed"):
            talk.require(f"no {name} within {EVENT_S:.0f} s of subscribe", holds=await talk.event(name, since=talk.began) is not None)
        await talk.consumed(RECORDS * _TOPICS["t"])
        self._claims(talk)
        self._say("tried: subscribe and what it asks for, held against the wire; records")

    def _claims(self, talk: Talk) -> None:
        for claim in broken_claims(talk.trace):
            self._problem(f"a claim does not hold: {claim}")

    async def _tells(self, talk: Talk) -> None:
        answer = await talk.ask_well("assignment")
        mine = sorted([each["topic"], each["partition"]] for each in answer.body.get("partitions", ()))
        self._expect(f"assignment answers {mine}, assigned was {_EVERY}", holds=mine == _EVERY)
        for command, partitions in (("position", None), ("position", _EVERY[:1]), ("committed", None), ("committed", _EVERY[:2])):
            answer = await (talk.ask_well(command) if partitions is None else talk.ask_well(command, partitions=partitions))
            wanted = _EVERY if partitions is None else partitions
            about = sorted([topic, partition] for topic, partition, _ in answer.body.get("offsets", ()))
            self._expect(f"{command} answers for {about}, asked was {wanted}", holds=not answer.ok or about == wanted)
        self._say("tried: assignment, position, committed")

    async def _commits(self, talk: Talk) -> None:
        for mode, capability, offset in (("sync", "commit", 3), ("async", "commit-async", 5)):
            if not talk.can(capability):
                continue
            since, offsets = talk.now, [["t", 0, offset], ["t", 1, offset + 1]]
            await talk.ask_well("commit", mode=mode, offsets=offsets)
            answered = talk.answered(since)
            event = await talk.event("offsets_committed", since=since)
            self._expect(f"commit ({mode}) was not followed by offsets_committed within {EVENT_S:.0f} s", holds=event is not None)
            if mode == "sync" and event is not None:
                self._expect("the answer to commit (sync) came before the offsets_committed that it caused", holds=event.seq < answered)
            stored = sorted(map(list, (await talk.ask_well("committed", partitions=_EVERY[:2])).body.get("offsets", ())))
            self._expect(f"after commit ({mode}) of {offsets} committed answers {stored}", holds=stored == offsets)
            self._say(f"tried: commit ({mode})")

    async def _rebalances(self, talk: Talk) -> None:
        """Let the reference join the group and leave it: the callbacks must be told."""
        since = talk.now
        async with company(is_virtual=False).member("a0", _Deaf(), self._network, alone=True, seed=1) as other:
            fields = {**subscription_of(Member(name="a0"), self._bootstrap), "group": talk.group}
            await other.ask("subscribe", fields)
            if talk.can("on-revoked"):
                revoked = await talk.event("partitions_revoked", since=since)
                self._expect(f"no partitions_revoked within {EVENT_S:.0f} s of a rebalance; hello declares on-revoked", holds=revoked is not None)
            assigned = await talk.event("partitions_assigned", since=since)
            self._expect(f"no partitions_assigned within {EVENT_S:.0f} s of a rebalance", holds=assigned is not None)
            since = talk.now
            await other.ask("close", {})
            again = await talk.event("partitions_assigned", since=since)
            self._expect(f"no partitions_assigned within {EVENT_S:.0f} s of another member's leaving", holds=again is not None)
        self._say("tried: rebalances and their callbacks")

    async def _resubscribes(self, talk: Talk) -> None:
        since = talk.now
        await talk.ask_well("resubscribe", topics=["u"])
        assigned = await talk.event("partitions_assigned", since=since, where=lambda seen: ("u", 0) in seen.partitions)
        self._expect(f"no partitions_assigned of the new topic within {EVENT_S:.0f} s of resubscribe", holds=assigned is not None)
        self._say("tried: resubscribe")

    async def _closes(self, talk: Talk) -> None:
        since, conversation = talk.now, talk.shim.conversation
        await talk.ask_well("close", within_s=END_S)
        answered = talk.answered(since)
        done = await talk.event("shutdown_complete", since=since)
        self._expect("close was not followed by shutdown_complete", holds=done is not None)
        if done is not None:
            self._expect("the answer to close came before shutdown_complete", holds=done.seq < answered)
        if conversation.multi:
            await talk.ask_well("exit", within_s=END_S)
        await self._ends(talk, "exit" if conversation.multi else "close")
        for problem in talk.shim.strict.unfinished():
            self._problem(problem)
        self._say(f"tried: close{' and exit' if conversation.multi else ''}")

    # Two more processes end in other ways.

    async def _end_of_stdin(self, talk: Talk) -> None:
        """Say nothing more to a member, which is a static one where the shim declares that."""
        await talk.subscribe(self._bootstrap, topics=["t"], **({"instance_id": "i0"} if talk.can("static") else {}))
        await talk.event("partitions_assigned", since=talk.began)
        self._claims(talk)
        await talk.shim.close_stdin()
        await self._ends(talk, "the end of stdin")
        self._say("tried: end of stdin")

    async def _sigterm(self, talk: Talk) -> None:
        await talk.subscribe(self._bootstrap, topics=["t"])
        await talk.event("partitions_assigned", since=talk.began)
        talk.shim.signal(signal.SIGTERM)
        await self._ends(talk, "SIGTERM")
        self._say("tried: SIGTERM")

    async def _ends(self, talk: Talk, why: str) -> None:
        """After `close` and `exit` a process ends well; stdin's end and SIGTERM mean close, whatever the status."""
        with trio.move_on_after(END_S):
            await talk.shim.ended.wait()
        ending = talk.shim.conversation.ending
        if ending is None:
            self._problem(f"the process did not end within {END_S:.0f} s of {why}")
        elif why in ("close", "exit") and ending.status != 0:
            self._problem(f"after {why} the process {ending}; it should end with status 0")
        elif why not in ("close", "exit"):
            done = await talk.event("shutdown_complete", since=talk.began, within_s=0)
            self._expect(f"the process ended after {why} without shutdown_complete: it did not close", holds=done is not None)


class _Deaf:
    """Listens to the reference member; what it says is not what is checked."""

    def on_event(self, body: dict[str, Any]) -> None:
        """Do nothing."""

    def on_answer(self, answer: Answer) -> None:
        """Do nothing."""

    def on_end(self, ending: Ending) -> None:
        """Do nothing."""
