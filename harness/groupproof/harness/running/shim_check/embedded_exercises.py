"""The exercises of a shim that is a Kafka Connect worker or a Kafka Streams application: few commands, and its reports against its frames.

The work of a Connect worker is visible only in its frames, so it has little to report. A Streams application's callbacks and records are compared
with the wire.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import trio

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES
from groupproof.harness.cases.embedded.connect_builders import worker
from groupproof.harness.cases.embedded.streams_builders import application
from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import subscription_of
from groupproof.harness.running.shim_check.dialogue import EVENT_S, MemberDialogue, Stop
from groupproof.harness.running.shim_check.exercise_setup import ExerciseSetup, awaited_assignment
from groupproof.harness.running.shim_check.shim_exercises import closes, ends
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["closed_stdin", "embedded_kind", "life", "terminated"]

_MEMBERS: Final = {"connect": worker, "streams": application}
_LOOK_S: Final = 0.05
_BY_CHECK: Final = frozenset({"bootstrap", "group"})
"""Fields that the check sets itself."""


def embedded_kind(capabilities: Collection[str]) -> str:
    """Return which kind a shim of these capabilities is if it is no consumer; empty for a consumer."""
    return "" if set(DIALECT_CAPABILITIES) & set(capabilities) else next((kind for kind in _MEMBERS if kind in capabilities), "")


async def life(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Go through the life of one member, from `subscribe` to `close`."""
    hello = dialogue.shim.conversation.hello
    assert hello is not None
    kind = embedded_kind(hello.capabilities)
    setup.say(f"tried: hello of {hello.client} {hello.version} ({hello.language}): {', '.join(sorted(hello.capabilities))}")
    await _enters(setup, dialogue, made_up_field=1)
    setup.expect("the answer to subscribe does not list made_up_field, which nobody knows, among ignored", holds="made_up_field" in dialogue.ignored)
    setup.say("tried: subscribe, held against the wire")
    if kind == "streams":
        await _reports(setup, dialogue)
    elif dialogue.can("resubscribe"):
        await _reconfigures(setup, dialogue)
    await closes(setup, dialogue)


async def closed_stdin(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Close a member's stdin."""
    await _enters(setup, dialogue)
    await dialogue.shim.hang_up()
    await ends(setup, dialogue, "the end of stdin")
    setup.say("tried: end of stdin")


async def terminated(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """End a member by SIGTERM."""
    await _enters(setup, dialogue)
    dialogue.shim.terminate()
    await ends(setup, dialogue, "SIGTERM")
    setup.say("tried: SIGTERM")


async def _enters(setup: ExerciseSetup, dialogue: MemberDialogue, **more: Any) -> None:
    """Subscribe a member, and wait until it reports its start and the group has assigned its work."""
    await dialogue.subscribe(setup.bootstrap, **_fields(dialogue), **more)
    started = await dialogue.event("startup_complete", since=dialogue.began)
    setup.expect(f"no startup_complete within {EVENT_S:.0f} s of subscribe", holds=started is not None)
    assigned = await _first_assignment(dialogue, dialogue.began)
    setup.claims(dialogue)
    if assigned is not None:
        return
    setup.theirs(f"its client was given no assignment within {EVENT_S:.0f} s of subscribe: see the frames, and certify it")
    for line in dialogue.excerpt(dialogue.began):
        setup.say(f"  {line}")
    raise Stop


def _fields(dialogue: MemberDialogue) -> dict[str, Any]:
    hello = dialogue.shim.conversation.hello
    assert hello is not None
    member = Member(name="m0", settings=_MEMBERS[embedded_kind(hello.capabilities)]().settings)
    return {name: value for name, value in subscription_of(member, "").items() if name not in _BY_CHECK}


async def _first_assignment(dialogue: MemberDialogue, since: int) -> Observation | None:
    """Wait for a successful SyncGroup response."""
    with trio.move_on_after(EVENT_S):
        while True:
            if answers := [obs for obs in dialogue.responses(Api.SYNC_GROUP, since) if not obs.error]:
                return answers[0]
            await trio.sleep(_LOOK_S)
    return None


async def _reports(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Compare an application's callbacks and records with its assignment and its fetches."""
    event = await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    assigned = next(obs for obs in reversed(dialogue.responses(Api.SYNC_GROUP, dialogue.began)) if not obs.error)
    named = sorted((part["topic"], part["partition"]) for part in event.body["partitions"])
    setup.expect(f"partitions_assigned names {named}, its client was given {sorted(assigned.partitions)}", holds=named == sorted(assigned.partitions))
    consumed = await dialogue.event("records_consumed", since=dialogue.began)
    setup.expect(f"no records_consumed within {EVENT_S:.0f} s of partitions_assigned", holds=consumed is not None)
    setup.claims(dialogue)
    setup.say("tried: callbacks and records")


async def _reconfigures(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Change the connectors: this increments the offset of the configuration, and the worker joins again with it."""
    since = dialogue.now
    await dialogue.ask_well("resubscribe", topics=["t", "u"])
    is_back = await dialogue.settles(Api.JOIN_GROUP, since=since)
    setup.expect(f"no JoinGroup came within {EVENT_S:.0f} s of resubscribe: the worker knows of no new configuration", holds=is_back)
    setup.say("tried: resubscribe")
