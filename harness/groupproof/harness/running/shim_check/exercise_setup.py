"""The state that all exercises of the check share: the coordinator, the expectations of the shim, and how another member joins its group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from groupproof.harness.judging.shim_claims import broken_claims
from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import subscription_of
from groupproof.harness.running.shim_check.dialogue import EVENT_S, MemberDialogue, Stop
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork
from groupproof.harness.subjects.shims.contract_lines import Answer
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.harness.subjects.subject import Handle
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

if TYPE_CHECKING:
    from groupproof.coordinator.broker.reference_cluster import Cluster

__all__ = [
    "END_S", "PEER", "RECORDS", "TOPICS", "UNREVOKED", "ExerciseSetup", "SilentListener", "awaited_assignment", "awaited_revocation", "callbacks",
    "joins",
]  # fmt: skip

END_S: Final = 10.0
PEER: Final = "a0"
"""The reference member that joins the client's group."""
RECORDS: Final = 20
UNREVOKED: Final = "no partitions_revoked came although another member was given partitions of this one"
TOPICS: Final = {"t": 4, "u": 1}


@dataclass(slots=True)
class ExerciseSetup:
    """What all exercises share. `say` prints a line, `problem` a problem of the shim, `theirs` a fault of the client.

    `tried` are the events, commands and settings whose reports by the shim were tested; `refuted` has the problem that disproved each.
    """

    cluster: Cluster
    network: LoopbackNetwork | MemoryNetwork
    bootstrap: str
    is_virtual: bool
    say: Callable[[str], None]
    problem: Callable[[str], None]
    theirs: Callable[[str], None]
    tried: set[str] = field(default_factory=set)
    refuted: dict[str, str] = field(default_factory=dict)

    def expect(self, otherwise: str, *, holds: bool, word: str = "") -> None:
        """Report a problem unless the condition holds. `word` is the event, command or setting that it tests."""
        if not holds:
            self.problem(otherwise)
        if word:
            self.believe(word, otherwise, holds=holds)

    def believe(self, word: str, otherwise: str, *, holds: bool) -> None:
        """Record that the shim's report was tested, and `otherwise` if it was wrong."""
        self.tried.add(word)
        if not holds:
            self.refuted.setdefault(word, otherwise)

    def claims(self, dialogue: MemberDialogue) -> None:
        """Report each claim of the shim that the wire refutes. The frames of the reference member claim nothing."""
        for claim in broken_claims([obs for obs in dialogue.trace if obs.client != PEER]):
            self.problem(f"a claim does not hold: {claim}")


_HOW_TO_TELL: Final = "a client without such a callback says so otherwise, by an event, a state that can be asked, or its log: report that"


async def awaited_assignment(setup: ExerciseSetup, dialogue: MemberDialogue, since: int, of: str) -> Observation:
    """Wait for the callback; if it does not come, the wire shows whether the shim or the client is at fault."""
    event = await dialogue.event("partitions_assigned", since=since)
    if event is not None:
        setup.believe("partitions_assigned", "", holds=True)
        return event
    setup.claims(dialogue)
    answers = [obs for obs in dialogue.responses(dialogue.frames.assigns, since) if not obs.error]
    if answers:
        text = f"no partitions_assigned within {EVENT_S:.0f} s of {of}, although the client was given an assignment"
        setup.believe("partitions_assigned", text, holds=False)
        dialogue.stop(f"{text} at {answers[-1].at_ms / 1000:.3f} s; {_HOW_TO_TELL}")
    _stop_at_the_client(setup, dialogue, since, f"no partitions_assigned within {EVENT_S:.0f} s of {of}, and its client was given no assignment")


async def awaited_revocation(setup: ExerciseSetup, dialogue: MemberDialogue, since: int, of: str) -> None:
    """Wait for the callback of a member that keeps the rest of its partitions. The wire shows whether its client gave any up."""
    event = await dialogue.event("partitions_revoked", since=since)
    is_reported = event is not None or any(obs.body["name"] == "partitions_lost" for obs in callbacks(dialogue, since))
    if is_reported or dialogue.requests(lambda obs: dialogue.frames.releases(obs, TOPICS["t"]), since):
        setup.expect(UNREVOKED, holds=is_reported, word="partitions_revoked")
        return
    setup.claims(dialogue)
    _stop_at_the_client(setup, dialogue, since, f"no partitions_revoked within {EVENT_S:.0f} s of {of}, and its client gave no partitions up")


def _stop_at_the_client(setup: ExerciseSetup, dialogue: MemberDialogue, since: int, text: str) -> NoReturn:
    setup.theirs(f"{text}: see the frames, and certify it")
    for line in dialogue.excerpt(since):
        setup.say(f"  {line}")
    raise Stop


async def joins(setup: ExerciseSetup, dialogue: MemberDialogue, other: Handle, **settings: Any) -> bool:
    """Let the reference member join, and return whether the group took it. A client with assignors of its own keeps every other client out."""
    since = dialogue.now
    fields = subscription_of(Member(name=PEER), setup.bootstrap)
    await other.ask("subscribe", {**fields, "group": dialogue.group, **dialogue.frames.fields, **settings})
    if dialogue.frames.is_incremental or await dialogue.refusal(PEER, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, since=since) is None:
        return True  # in a consumer group the coordinator assigns
    names = {protocol["name"] for join in dialogue.requests(Api.JOIN_GROUP, dialogue.began) for protocol in join.body.get("protocols") or ()}
    setup.theirs(
        f"the reference member cannot join its group, because it has none of the client's assignors ({', '.join(sorted(names))}): no rebalance was tried"
    )
    return False


def callbacks(dialogue: MemberDialogue, since: int) -> list[Observation]:
    names = ("partitions_assigned", "partitions_revoked", "partitions_lost")
    return [obs for obs in dialogue.trace if obs.seq > since and obs.who == "shim" and obs.body.get("name") in names]


class SilentListener:
    """Listens to the reference member and ignores it: only the shim is checked."""

    def on_event(self, body: dict[str, Any]) -> None:
        """Do nothing."""

    def on_answer(self, answer: Answer) -> None:
        """Do nothing."""

    def on_end(self, ending: Ending) -> None:
        """Do nothing."""
