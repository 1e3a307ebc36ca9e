"""The dialogue with the checked shim: sends one command at a time, waits for events, and reports each breach of the contract as a problem."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, Final, NoReturn, Protocol

import trio

from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import Actor, subscription_of
from groupproof.harness.running.shim_check.member_frames import frames_of
from groupproof.harness.subjects.shims.contract_lines import Answer
from groupproof.harness.subjects.shims.conversation import Conversation, ShimGone
from groupproof.harness.subjects.shims.shim_memory import Connect, InProcessShim, RunShim
from groupproof.harness.subjects.shims.shim_process import Program, ShimProcess
from groupproof.harness.subjects.shims.stderr_log import StderrLog
from groupproof.harness.subjects.shims.strict_lines import StrictLines
from groupproof.protocol.trace import Observation, Recorder, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named

__all__ = ["ANSWER_S", "EVENT_S", "SUBSCRIBE_S", "CheckedShim", "MemberDialogue", "Stop", "WatchedMember", "WatchedShim", "ending_text"]

SUBSCRIBE_S: Final = 30.0
ANSWER_S: Final = 10.0
EXCERPT_MAX: Final = 8
EVENT_S: Final = 15.0

_NEEDS: Final = {"pause": "pause", "resume": "pause", "resubscribe": "resubscribe"}
_INSTEAD: Final = {"subscribe": "; a field that the client cannot have, such as an assignor, can be left untaken, and is then ignored"}

_LOOK_S: Final = 0.05
_DULL: Final = frozenset({Api.FETCH.title, Api.METADATA.title, Api.API_VERSIONS.title, Api.LIST_OFFSETS.title})

Tell = Callable[[str], None]
Wanted = Callable[[Observation], bool]


class Stop(Exception):
    """The rest of this part cannot be checked; the reason has been reported."""


class CheckedShim(Protocol):
    """A shim under check: a program, or a member in this process."""

    strict: StrictLines
    conversation: Conversation
    stderr: StderrLog
    ended: trio.Event

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None: ...

    async def hang_up(self) -> None:
        """Close its stdin."""
        ...

    def terminate(self) -> None:
        """Send it a signal to end."""
        ...


class WatchedShim(ShimProcess):
    """A program whose lines are also checked strictly."""

    def __init__(self, program: Program, problem: Tell) -> None:
        super().__init__(program)
        self.strict = StrictLines()
        self._problem = problem

    def take(self, line: str) -> None:
        """Check one line of stdout strictly. The conversation handles a line that breaks the contract."""
        for problem in self.strict.problems(line):
            self._problem(problem)
        super().take(line)

    async def hang_up(self) -> None:
        """Close its stdin."""
        assert self._process is not None
        assert self._process.stdin is not None
        self.conversation.is_leaving = True
        await self._process.stdin.aclose()

    def terminate(self) -> None:
        """Send SIGTERM to its group."""
        self.conversation.is_leaving = True
        self.signal(signal.SIGTERM)


class WatchedMember(InProcessShim):
    """A shim in this process whose lines are also checked strictly; a signal closes its stdin."""

    def __init__(self, run_shim: RunShim, connect: Connect, problem: Tell, *, seed: int) -> None:
        super().__init__(run_shim, connect, seed=seed)
        self.strict = StrictLines()
        self._problem = problem

    async def _emit(self, line: str) -> None:
        for problem in self.strict.problems(line.rstrip("\n")):
            self._problem(problem)
        await super()._emit(line)

    async def hang_up(self) -> None:
        """Close its stdin."""
        self.conversation.is_leaving = True
        self.close_stdin()
        await trio.lowlevel.checkpoint()

    def terminate(self) -> None:
        """Close its stdin, because there is no process to signal."""
        self.conversation.is_leaving = True
        self.close_stdin()


class MemberDialogue:
    """One member of one process. Its events go into `recorder`, beside the coordinator's observations; `now` and `since` are the recorder's `seq`."""

    def __init__(self, shim: CheckedShim, recorder: Recorder, problem: Tell, *, group: str, name: str = "m0") -> None:
        self.shim = shim
        self.ignored: tuple[str, ...] = ()
        self._recorder = recorder
        self._problem = problem
        self.group = group
        self.began = len(recorder.trace) - 1
        self._member = Member(name=name)
        self._actor = Actor(self._member, recorder)
        hello = shim.conversation.hello
        self.frames = frames_of(() if hello is None else hello.capabilities)
        if hello is not None:
            self._actor.note("hello", capabilities=sorted(hello.capabilities))
        shim.conversation.attach(name, self._actor)

    @property
    def trace(self) -> Trace:
        """Return the observations since this dialogue began."""
        return self._recorder.trace[self.began + 1 :]

    @property
    def now(self) -> int:
        return len(self._recorder.trace) - 1

    @property
    def at_ms(self) -> float:
        """Return the time of the newest observation."""
        return self._recorder.trace[-1].at_ms

    def can(self, capability: str) -> bool:
        hello = self.shim.conversation.hello
        return hello is not None and capability in hello.capabilities

    async def ask(self, command: str, *, within_s: float = ANSWER_S, **fields: Any) -> Answer:
        """Send a command and return its answer. A late answer, or the shim's end, is a problem that ends this part."""
        self._actor.note("command", command=command, fields=fields)
        answer = None
        try:
            with trio.move_on_after(within_s):
                answer = await self.shim.conversation.ask(command, fields, self._member.name)
        except ShimGone as gone:
            self.stop(ending_text(gone, f"instead of answering {command}"))
        if answer is None:
            self.stop(f"{command} was not answered within {within_s:.0f} s")
        return answer

    async def ask_well(self, command: str, *, within_s: float = ANSWER_S, **fields: Any) -> Answer:
        """Send a command that this shim declares; a refusal is a problem."""
        answer = await self.ask(command, within_s=within_s, **fields)
        if answer.unimplemented is not None:
            why = f"although hello declares {_NEEDS[command]}" if command in _NEEDS else "which every shim has" + _INSTEAD.get(command, "")
            self._problem(f"{command} is answered unimplemented ({answer.unimplemented}), {why}")
        elif not answer.ok:
            self._problem(f"{command} is answered with error {answer.error}: {answer.body.get('message')}")
        return answer

    def subscription(self, bootstrap: str, **settings: Any) -> dict[str, Any]:
        """Return the fields of `subscribe`."""
        return {**subscription_of(self._member, bootstrap), "group": self.group, **self.frames.fields, **settings}

    async def subscribe(self, bootstrap: str, **settings: Any) -> None:
        answer = await self.ask_well("subscribe", within_s=SUBSCRIBE_S, **self.subscription(bootstrap, **settings))
        self.require(f"subscribe failed; the rest of the check needs it ({self._words()})", holds=answer.ok)
        self.ignored = tuple(answer.body.get("ignored") or ())

    async def event(
        self, name: str, *, since: int, where: Callable[[Observation], bool] = lambda _: True, within_s: float = EVENT_S
    ) -> Observation | None:
        """Wait for the first event `name` after `since`; None when there is none in time."""

        def is_it(obs: Observation) -> bool:
            return obs.who == "shim" and obs.client == self._member.name and obs.body.get("name") == name and where(obs)

        read = since + 1
        with trio.move_on_after(within_s):
            while True:
                has_ended = self._actor.ended.is_set()
                trace = self._recorder.trace
                if found := next((obs for obs in trace[read:] if is_it(obs)), None):
                    return found
                read = len(trace)
                if has_ended:
                    break
                await trio.sleep(_LOOK_S)
        found = next((obs for obs in self._recorder.trace[since + 1 :] if is_it(obs)), None)
        if found is None:
            self._stop_where_it_ended(f"before {name}")
        return found

    def _stop_where_it_ended(self, when: str) -> None:
        """Stop if the shim has ended without a command, because no event can come any more."""
        ending = self.shim.conversation.ending
        if ending is not None and (ending.broken is not None or not self.shim.conversation.is_leaving):
            self.stop(ending_text(ShimGone(ending), when))

    def requests(self, wanted: Api | Wanted, since: int) -> list[Observation]:
        """Return the client's requests after `since`."""
        return [obs for obs in self._of_client(since) if obs.kind == "request" and _is_wanted(obs, wanted)]

    def responses(self, wanted: Api | Wanted, since: int) -> list[Observation]:
        """Return the responses to the client after `since`."""
        return [obs for obs in self._of_client(since) if obs.kind == "response" and _is_wanted(obs, wanted)]

    def _of_client(self, since: int) -> list[Observation]:
        return [obs for obs in self._recorder.trace[since + 1 :] if obs.client == self._member.name]

    async def settles(self, wanted: Api | Wanted, *, since: int, within_s: float = EVENT_S) -> bool:
        """Wait for a request of the client after `since`; return whether it came."""
        with trio.move_on_after(within_s):
            while True:
                if self.requests(wanted, since):
                    return True
                await trio.sleep(_LOOK_S)
        return False

    async def refusal(self, peer: str, code: ErrorCode, *, since: int, within_s: float = EVENT_S) -> Observation | None:
        """Wait until another member's JoinGroup is refused with `code`; None as soon as this member joins again, or if neither happens in time."""
        with trio.move_on_after(within_s):
            while not self.requests(Api.JOIN_GROUP, since):
                refusals = (
                    obs
                    for obs in self._recorder.trace[since + 1 :]
                    if obs.client == peer and obs.kind == "response" and obs.api == Api.JOIN_GROUP.title
                )
                if refusal := next((obs for obs in refusals if obs.error == code), None):
                    return refusal
                await trio.sleep(_LOOK_S)
        return None

    def excerpt(self, since: int) -> list[str]:
        """Return the last frames of the client after `since`, a line each."""
        frames = [obs for obs in self._of_client(since) if obs.kind in ("request", "response") and obs.api not in _DULL]
        return [_frame(obs) for obs in frames[-EXCERPT_MAX:]]

    def answered(self, since: int) -> int:
        """Return the `seq` of the first answer after `since`; the trace's length where there is none."""
        answers = (obs.seq for obs in self._recorder.trace[since + 1 :] if obs.who == "shim" and obs.body.get("name") == "answer")
        return next(answers, len(self._recorder.trace))

    async def consumed(self, count: int) -> None:
        """Wait until `count` records were reported; fewer in time are a problem."""
        since = self.began
        while (consumed := self._consumed()) < count:
            obs = await self.event("records_consumed", since=since)
            if obs is None:
                self._problem(f"{consumed} records were reported within {EVENT_S:.0f} s, {count} were there")
                return
            since = obs.seq

    def _consumed(self) -> int:
        return sum(int(obs.body.get("count", 0)) for obs in self.trace if obs.who == "shim" and obs.body.get("name") == "records_consumed")

    def require(self, otherwise: str, *, holds: bool) -> None:
        if not holds:
            self.stop(otherwise)

    def stop(self, problem: str) -> NoReturn:
        self._problem(problem)
        raise Stop

    def _words(self) -> str:
        words = self.shim.stderr.last(2)
        return "its last words: " + " | ".join(words) if words else "it said nothing on stderr"


def _is_wanted(obs: Observation, wanted: Api | Wanted) -> bool:
    return obs.api == wanted.title if isinstance(wanted, Api) else wanted(obs)


def _frame(obs: Observation) -> str:
    error = "" if obs.kind == "request" or obs.error is None else f" {error_named(obs.error)}"
    generation = "" if obs.generation is None else f" generation {obs.generation}"
    return f"{obs.at_ms / 1000:8.3f} s  {'→' if obs.kind == 'request' else '←'} {obs.api}{generation}{error}"


def ending_text(gone: ShimGone, when: str) -> str:
    """Return how a shim ended, in a line."""
    if gone.ending.broken is not None:
        return f"the dialogue ended, since the shim broke the contract: {gone.ending.broken}"
    words = f"; its last words: {' | '.join(gone.ending.stderr[-3:])}" if gone.ending.stderr else ""
    return f"the shim {gone.ending} {when}{words}"
