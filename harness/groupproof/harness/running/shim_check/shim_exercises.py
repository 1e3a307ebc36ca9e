"""The exercises of `shim check`: each is a dialogue with one member, and compares the shim's reports with the wire and the topic.

The client's behaviour is a matter for `certify`: where the frames show that the client did not get so far, the shim is not blamed.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import trio

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.shared.ownership import RecordsComeToOwners
from groupproof.harness.model.verdicts import ADVERSE
from groupproof.harness.running.shim_check.dialogue import EVENT_S, SUBSCRIBE_S, MemberDialogue
from groupproof.harness.running.shim_check.exercise_setup import (
    END_S,
    PEER,
    RECORDS,
    TOPICS,
    UNREVOKED,
    ExerciseSetup,
    SilentListener,
    awaited_assignment,
    awaited_revocation,
    callbacks,
    joins,
)
from groupproof.harness.subjects.subject import Handle
from groupproof.protocol.faults import Answer as AnswerInstead
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, Api, ErrorCode

__all__ = ["closes", "commands", "cooperates", "end_of_stdin", "ends", "preferences", "refusals", "settings", "sigterm"]

_EVERY: Final = [["t", partition] for partition in range(TOPICS["t"])]
_PAUSED_S: Final = 1.5
_SETTLED_S: Final = 1.0
_HELD_S: Final = 5.0
_REVOKED_MS: Final = 300
_REFUSAL: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_PREFERENCES: Final = ["roundrobin", "range"]


# The first member runs every command.


def _reference_peer(setup: ExerciseSetup, *, seed: int) -> AbstractAsyncContextManager[Handle]:
    from groupproof.harness.subjects.client_registry import reference_subject  # imported here: it loads every client, and a check needs only this one

    return reference_subject(is_virtual=setup.is_virtual).member(PEER, SilentListener(), setup.network, alone=True, seed=seed)


async def commands(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Run every command of one member, from `subscribe` to `close`."""
    hello = dialogue.shim.conversation.hello
    assert hello is not None
    setup.say(f"tried: hello of {hello.client} {hello.version} ({hello.language}): {', '.join(sorted(hello.capabilities))}")
    await _subscribes(setup, dialogue)
    await _tells(setup, dialogue)
    await _commits(setup, dialogue)
    if dialogue.can("pause"):
        await _pauses(setup, dialogue)
    await _rebalances(setup, dialogue)
    _holds_owners(setup, dialogue)
    if dialogue.can("resubscribe"):
        await _resubscribes(setup, dialogue)
    await closes(setup, dialogue)


async def _subscribes(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    await dialogue.ask("assignment")  # before subscribe any answer will do, but there must be one
    await dialogue.subscribe(setup.bootstrap, topics=["t"], made_up_field=1)
    setup.expect("the answer to subscribe does not list made_up_field, which nobody knows, among ignored", holds="made_up_field" in dialogue.ignored)
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    consumed = await dialogue.event("records_consumed", since=dialogue.began)
    setup.claims(dialogue)
    dialogue.require(f"no records_consumed within {EVENT_S:.0f} s of subscribe", holds=consumed is not None)
    await dialogue.consumed(RECORDS * TOPICS["t"])
    _holds_records(setup, dialogue)
    setup.say("tried: subscribe and what it asks for, held against the wire; records")


def _holds_records(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Compare the reported offsets with the topic's records."""
    offsets: dict[tuple[str, int], tuple[int, int]] = {}
    for obs in dialogue.trace:
        if obs.who == "shim" and obs.body.get("name") == "records_consumed":
            for part in obs.body["partitions"]:
                key = (part["topic"], part["partition"])
                least, most = offsets.get(key, (part["minOffset"], part["maxOffset"]))
                offsets[key] = min(least, part["minOffset"]), max(most, part["maxOffset"])
    for (topic, partition), (least, most) in sorted(offsets.items()):
        there = topic in TOPICS and partition < TOPICS[topic]
        setup.expect(f"records were reported of {topic}-{partition}, which is no partition", holds=there)
        setup.expect(
            f"the records of {topic}-{partition} were reported with offsets {least} to {most}; it holds 0 to {RECORDS - 1}",
            holds=not there or (least, most) == (0, RECORDS - 1),
        )


async def _tells(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    answer = await dialogue.ask_well("assignment")
    mine = sorted([partition["topic"], partition["partition"]] for partition in answer.body.get("partitions", ()))
    setup.expect(f"assignment answers {mine}, assigned was {_EVERY}", holds=mine == _EVERY)
    for command, partitions in (("position", None), ("position", _EVERY[:1]), ("committed", None), ("committed", _EVERY[:2])):
        answer = await (dialogue.ask_well(command) if partitions is None else dialogue.ask_well(command, partitions=partitions))
        wanted = _EVERY if partitions is None else partitions
        about = sorted([topic, partition] for topic, partition, _ in answer.body.get("offsets", ()))
        setup.expect(f"{command} answers for {about}, asked was {wanted}", holds=not answer.ok or about == wanted)
        offsets = sorted({offset for _, _, offset in answer.body.get("offsets", ())})
        setup.expect(
            f"position answers {offsets} after all {RECORDS} records of each partition were consumed",
            holds=command != "position" or not answer.ok or offsets == [RECORDS],
        )
    setup.say("tried: assignment, position, committed")


async def _commits(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    for mode, capability, offset in (("sync", "commit", 3), ("async", "commit-async", 5)):
        if not dialogue.can(capability):
            continue
        since, offsets = dialogue.now, [["t", 0, offset], ["t", 1, offset + 1]]
        await dialogue.ask_well("commit", mode=mode, offsets=offsets)
        answered = dialogue.answered(since)
        event = await dialogue.event("offsets_committed", since=since)
        setup.expect(f"commit ({mode}) was not followed by offsets_committed within {EVENT_S:.0f} s", holds=event is not None)
        if mode == "sync" and event is not None:
            setup.expect("the answer to commit (sync) came before the offsets_committed that it caused", holds=event.seq < answered)
        if event is not None:
            named = sorted([offset["topic"], offset["partition"], offset["offset"]] for offset in event.body["offsets"])
            setup.expect(f"offsets_committed names {named} after commit ({mode}) of {offsets}", holds=named == offsets)
        await dialogue.settles(Api.OFFSET_COMMIT, since=since, within_s=1.0)
        stored = sorted(map(list, (await dialogue.ask_well("committed", partitions=_EVERY[:2])).body.get("offsets", ())))
        setup.expect(f"after commit ({mode}) of {offsets} committed answers {stored}", holds=stored == offsets)
        setup.say(f"tried: commit ({mode})")


async def _pauses(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Append records while a member is paused: they must be reported after `resume`, and not before."""
    await dialogue.ask_well("pause")
    paused = dialogue.now
    setup.cluster.append("t", RECORDS)
    early = await dialogue.event("records_consumed", since=paused, within_s=_PAUSED_S)
    setup.expect("pause was answered, and records_consumed came after it: the application continues", holds=early is None)
    resumed = dialogue.now
    await dialogue.ask_well("resume")
    late = await dialogue.event("records_consumed", since=resumed)
    if early is None:
        setup.expect(f"no records_consumed within {EVENT_S:.0f} s of resume", holds=late is not None, word="resume")
    setup.say("tried: pause and resume, with records that come meanwhile")


async def _rebalances(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Let the reference member join the group and leave it: the shim must report the callbacks."""
    since = dialogue.now
    async with _reference_peer(setup, seed=1) as other:
        if not await joins(setup, dialogue, other):
            return
        if dialogue.frames.is_incremental:
            await awaited_revocation(setup, dialogue, since, "another member's joining")
        else:
            answers = await awaited_assignment(setup, dialogue, since, "another member's joining")
            gone = [obs for obs in callbacks(dialogue, since) if obs.seq <= answers.seq and obs.body["name"] != "partitions_assigned"]
            setup.expect(UNREVOKED, holds=bool(gone), word="partitions_revoked")
        # Records that come long after the one rebalance and long before the next are of the member's partitions, however slowly it reports.
        await trio.sleep(_SETTLED_S)
        since = dialogue.now
        setup.cluster.append("t", RECORDS)
        await dialogue.event("records_consumed", since=since)
        await trio.sleep(_SETTLED_S)
        since = dialogue.now
        await other.ask("close", {})
        await awaited_assignment(setup, dialogue, since, "another member's leaving")
    setup.say("tried: rebalances and their callbacks")


def _holds_owners(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Compare the reported records with the partitions that the member had meanwhile, as the judge of CLIENT-63 does."""
    trace = [obs for obs in dialogue.trace if obs.group in (None, dialogue.group)]
    wrong = next((finding for finding in findings_of(RecordsComeToOwners(), trace) if finding.verdict in ADVERSE), None)
    named = "" if wrong is None else f"records_consumed names {wrong.detail}, which the member did not have: {wrong.observed}"
    setup.expect(named, holds=wrong is None, word="records_consumed")
    setup.say("tried: records of the partitions that the member has")


async def _resubscribes(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    since = dialogue.now
    await dialogue.ask_well("resubscribe", topics=["u"])
    assigned = await dialogue.event("partitions_assigned", since=since, where=lambda obs: ("u", 0) in obs.partitions)
    setup.expect(f"no partitions_assigned of the new topic within {EVENT_S:.0f} s of resubscribe", holds=assigned is not None)
    setup.say("tried: resubscribe")


async def closes(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    since, conversation = dialogue.now, dialogue.shim.conversation
    await dialogue.ask_well("close", within_s=END_S)
    answered = dialogue.answered(since)
    done = await dialogue.event("shutdown_complete", since=since)
    setup.expect("close was not followed by shutdown_complete", holds=done is not None)
    if done is not None:
        setup.expect("the answer to close came before shutdown_complete", holds=done.seq < answered)
    if conversation.multi:
        await dialogue.ask_well("exit", within_s=END_S)
    await ends(setup, dialogue, "exit" if conversation.multi else "close")
    for problem in dialogue.shim.strict.unfinished():
        setup.problem(problem)
    setup.say(f"tried: close{' and exit' if conversation.multi else ''}")


# The other members run fewer commands, under other conditions.


async def refusals(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Hold the join response back, refuse a commit, and unsubscribe."""
    join = dialogue.frames.join
    hold = Fault(name=f"slow-{dialogue.group}", selector=Selector(api=join.title, direction="response", group=dialogue.group), action=Hold())
    setup.cluster.arm(hold)
    since = dialogue.now
    answered = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_let_go, setup, hold.name)
        await dialogue.subscribe(setup.bootstrap, topics=["t"])
        answered = not dialogue.responses(join, since)
        nursery.cancel_scope.cancel()
    setup.cluster.heal(hold.name)
    setup.expect(
        "subscribe is answered after the join; it is to be answered when the client has its settings, whatever the join takes", holds=answered
    )
    await awaited_assignment(setup, dialogue, since, "a slow join")
    setup.say("tried: a slow join")
    for mode, capability in (("sync", "commit"), ("async", "commit-async")):
        if dialogue.can(capability):
            await _is_refused(setup, dialogue, mode)
    await _unsubscribes(setup, dialogue)


async def _let_go(setup: ExerciseSetup, name: str) -> None:
    await trio.sleep(_HELD_S)
    setup.cluster.heal(name)


async def _is_refused(setup: ExerciseSetup, dialogue: MemberDialogue, mode: str) -> None:
    """Refuse every OffsetCommit: a commit that the shim reports as done was none."""
    name, since = f"refusal-{mode}-{dialogue.group}", dialogue.now
    refusal = AnswerInstead(error_code=int(_REFUSAL))
    setup.cluster.arm(Fault(name=name, selector=Selector(api=Api.OFFSET_COMMIT.title, count=None, group=dialogue.group), action=refusal))
    answer = await dialogue.ask("commit", mode=mode, offsets=[["t", 0, 7]])
    event = await dialogue.event("offsets_committed", since=since, within_s=2.0)
    setup.cluster.heal(name)
    refused = f"although each OffsetCommit was refused ({_REFUSAL.name})"
    setup.expect(f"commit ({mode}) is reported as done, {refused}", holds=event is None or not event.body.get("success"), word="offsets_committed")
    if mode == "sync":
        setup.expect(f"commit (sync) is answered ok, {refused}", holds=not answer.ok or answer.body.get("outcome") == "unknown", word="commit")
    setup.say(f"tried: a refused commit ({mode})")


async def _unsubscribes(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    since = dialogue.now
    answer = await dialogue.ask("unsubscribe", within_s=END_S)
    if answer.ok:
        answered_ms = dialogue.at_ms
        frames = dialogue.frames
        left = await dialogue.settles(frames.leaves, since=since, within_s=END_S)
        setup.expect(f"unsubscribe is answered ok, and no {frames.leave} came within {END_S:.0f} s", holds=left)
        # A client that stops its heartbeats got the unsubscribe; one that continues as a member perhaps never did.
        goes_on = not left and any(obs.at_ms - answered_ms > END_S * 500 for obs in dialogue.requests(frames.beats, since))
        setup.believe("unsubscribe", f"unsubscribe is answered ok, and Heartbeats continued without a {frames.leave}", holds=not goes_on)
    setup.say(f"tried: unsubscribe{'' if answer.unimplemented is None else f' (unimplemented: {answer.unimplemented})'}")


async def settings(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Test the capabilities `auto-commit` and `on-revoked`, with a slow handler."""
    asked: dict[str, Any] = {}
    if dialogue.can("auto-commit"):
        asked |= {"auto_commit": True, "auto_commit_interval_ms": 300}
    if dialogue.can("on-revoked"):
        asked["on_revoked"] = {"sleep_ms": _REVOKED_MS, "commit": False}
    await dialogue.subscribe(setup.bootstrap, topics=["t"], **asked)
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    setup.claims(dialogue)
    if dialogue.can("auto-commit"):
        came = await dialogue.settles(Api.OFFSET_COMMIT, since=dialogue.began, within_s=END_S)
        # Without a client id, a client's requests, or their absence, cannot be attributed to it.
        word = "" if "client_id" in dialogue.ignored else "auto_commit"
        setup.expect(f"hello declares auto-commit, and no OffsetCommit came within {END_S:.0f} s", holds=came, word=word)
        setup.say("tried: auto-commit")
    if dialogue.can("on-revoked"):
        await _revokes_slowly(setup, dialogue)


async def _revokes_slowly(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    since = dialogue.now
    async with _reference_peer(setup, seed=2) as other:
        if not await joins(setup, dialogue, other):
            return
        revoked = await dialogue.event("partitions_revoked", since=since)
        if revoked is None:
            await awaited_assignment(setup, dialogue, since, "another member's joining")
            setup.problem("hello declares on-revoked, and no partitions_revoked came in a rebalance")
        else:
            done = await dialogue.event("callback_done", since=revoked.seq)
            took_ms = 0.0 if done is None else done.at_ms - revoked.at_ms
            slowly = done is None or took_ms >= _REVOKED_MS * 0.9
            setup.expect(f"on_revoked asked for {_REVOKED_MS} ms in partitions_revoked, callback_done came after {took_ms:.0f} ms", holds=slowly)
    setup.say("tried: on-revoked")


async def cooperates(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Rebalance with the cooperative assignor: the wire must name it, and callbacks must report only changes."""
    if not dialogue.can("cooperative") or dialogue.frames.is_incremental:
        return
    fields = {"assignors": [COOPERATIVE_STICKY]}
    await dialogue.subscribe(setup.bootstrap, topics=["t"], **fields)
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    setup.claims(dialogue)
    since = dialogue.now
    async with _reference_peer(setup, seed=3) as other:
        await joins(setup, dialogue, other, **fields)
        revoked = await dialogue.event("partitions_revoked", since=since)
        setup.expect(UNREVOKED, holds=revoked is not None, word="partitions_revoked")
        await trio.sleep(_PAUSED_S)
    owned: set[tuple[str, int]] = set()
    for obs in callbacks(dialogue, dialogue.began):
        places = set(obs.partitions)
        if obs.body["name"] == "partitions_assigned":
            again = sorted(owned & places)
            named = ", ".join(f"{topic}-{partition}" for topic, partition in again)
            setup.expect(
                f"partitions_assigned names {named}, which the member has already; a cooperative rebalance reports only new partitions",
                holds=not again,
            )
            owned |= places
        else:
            owned -= places
    setup.expect(
        "everything was revoked in a cooperative rebalance, where half of it stays", holds=revoked is None or len(revoked.partitions) < TOPICS["t"]
    )
    setup.say("tried: cooperative")


async def preferences(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Set two assignors: the wire must list both, in this order, unless the shim reports that it cannot have them."""
    answer = await dialogue.ask("subscribe", within_s=SUBSCRIBE_S, **dialogue.subscription(setup.bootstrap, topics=["t"], assignors=_PREFERENCES))
    if not answer.ok or {"assignors", "client_id"} & set(answer.body.get("ignored") or ()):
        return
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    lists = [[protocol["name"] for protocol in join.body.get("protocols") or ()] for join in dialogue.requests(Api.JOIN_GROUP, dialogue.began)]
    if not lists:
        return
    # A client that lists all of them in a later JoinGroup got them: if it omits some before, that is the client's doing (aiokafka).
    setup.expect(f"assignors: m0 was told {_PREFERENCES}, its JoinGroup lists {lists[-1]}", holds=_PREFERENCES in lists, word="assignors")
    if _PREFERENCES in lists and lists[0] != _PREFERENCES:
        setup.theirs(f"its first JoinGroup lists {lists[0]}, it was told {_PREFERENCES}: certify it")
    setup.say("tried: two assignors")


async def end_of_stdin(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """Close the stdin of a member, which is a static one where the shim declares that."""
    await dialogue.subscribe(setup.bootstrap, topics=["t"], **({"instance_id": "i0"} if dialogue.can("static") else {}))
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    setup.claims(dialogue)
    await dialogue.shim.hang_up()
    await ends(setup, dialogue, "the end of stdin")
    setup.say(f"tried: {'static, ' if dialogue.can('static') else ''}end of stdin")


async def sigterm(setup: ExerciseSetup, dialogue: MemberDialogue) -> None:
    """End a member by SIGTERM."""
    await dialogue.subscribe(setup.bootstrap, topics=["t"])
    await awaited_assignment(setup, dialogue, dialogue.began, "subscribe")
    dialogue.shim.terminate()
    await ends(setup, dialogue, "SIGTERM")
    setup.say("tried: SIGTERM")


async def ends(setup: ExerciseSetup, dialogue: MemberDialogue, why: str) -> None:
    """Check the end of the process: after `close` and `exit` the status is 0; the end of stdin and SIGTERM mean close, with any status."""
    with trio.move_on_after(END_S):
        await dialogue.shim.ended.wait()
    ending = dialogue.shim.conversation.ending
    if ending is None:
        setup.problem(f"the process did not end within {END_S:.0f} s of {why}")
    elif why in ("close", "exit") and ending.status != 0:
        setup.problem(f"after {why} the process {ending}; it should end with status 0")
    elif why not in ("close", "exit"):
        done = await dialogue.event("shutdown_complete", since=dialogue.began, within_s=0)
        setup.expect(f"the process ended after {why} without shutdown_complete: it did not close", holds=done is not None)
