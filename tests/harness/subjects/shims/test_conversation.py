from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.harness.model.errors import BrokenShim
from groupproof.harness.subjects.shims.contract_lines import Answer
from groupproof.harness.subjects.shims.conversation import EVENTS_MAX, Conversation, Ending, ShimGone

Reply = Callable[[dict[str, Any]], str | None]


def hello(*capabilities: str) -> str:
    return json.dumps({"name": "hello", "contract": 1, "client": "c", "version": "1", "language": "go", "capabilities": list(capabilities)})


class Shim:
    """The other side: keeps what it is told, and answers each command as `reply` says."""

    def __init__(self, reply: Reply | None = None, *capabilities: str) -> None:
        self.asked: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self._reply = reply
        self.conversation = Conversation(self._say, self.notes.append)
        self.conversation.feed(hello(*capabilities))

    async def _say(self, line: str) -> None:
        await trio.lowlevel.checkpoint()
        self.asked.append(json.loads(line))
        reply = self._reply(self.asked[-1]) if self._reply else None
        if reply is not None:
            self.conversation.feed(reply)


class Heard:
    def __init__(self) -> None:
        self.events: list[str] = []
        self.answers: list[Answer] = []
        self.endings: list[Ending] = []

    def on_event(self, body: dict[str, Any]) -> None:
        self.events.append(body["name"])

    def on_answer(self, answer: Answer) -> None:
        self.answers.append(answer)

    def on_end(self, ending: Ending) -> None:
        self.endings.append(ending)


def ok(command: dict[str, Any]) -> str:
    return json.dumps({"id": command["id"], "ok": True})


def unimplemented(command: dict[str, Any]) -> str:
    return json.dumps({"id": command["id"], "unimplemented": "no"})


def test_answers_find_their_commands_in_any_order() -> None:
    async def main() -> None:
        shim = Shim()
        got: dict[str, Answer] = {}

        async def ask(command: str) -> None:
            got[command] = await shim.conversation.ask(command, {}, "m0")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "pause")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, "resume")
            await trio.testing.wait_all_tasks_blocked()
            for command in reversed(shim.asked):
                shim.conversation.feed(json.dumps({"id": command["id"], "ok": True, "was": command["command"]}))
        assert {name: answer.body["was"] for name, answer in got.items()} == {"pause": "pause", "resume": "resume"}

    trio.run(main)


def test_with_multi_events_go_to_their_member_alone() -> None:
    shim = Shim(None, "multi")
    one, two = Heard(), Heard()
    shim.conversation.attach("c1.m0", one)
    shim.conversation.attach("c2.m0", two)

    shim.conversation.feed('{"name":"startup_complete","member":"c1.m0"}')
    shim.conversation.feed('{"name":"shutdown_complete","member":"c2.m0"}')
    shim.conversation.detach("c2.m0")
    shim.conversation.feed('{"name":"startup_complete","member":"c2.m0"}')

    assert (one.events, two.events) == (["startup_complete"], ["shutdown_complete"])


def test_without_multi_every_event_is_the_members() -> None:
    shim = Shim()
    heard = Heard()
    shim.conversation.attach("c1.m0", heard)

    shim.conversation.feed('{"name":"startup_complete"}')

    assert heard.events == ["startup_complete"]


def test_noise_and_unknown_events_are_noted_and_break_nothing() -> None:
    shim = Shim()

    shim.conversation.feed("SLF4J: no binder")
    shim.conversation.feed('{"name":"garbage_collected"}')

    assert shim.conversation.ending is None
    assert [note.partition(":")[0] for note in shim.notes] == ["noise on stdout", "an event that the contract does not know"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{bad", "is no JSON"),
        (hello(), "a second hello"),
        ('{"id":99,"ok":true}', "an answer to command 99, which is not open: {"),
        ('{"name":"offsets_committed","success":true,"offsets":[["t",0,5]]}', "in offsets there is ['t', 0, 5], not {topic, partition, offset}"),
    ],
)
def test_a_line_that_breaks_the_contract_ends_the_dialogue_for_every_member(line: str, why: str) -> None:
    shim = Shim()
    heard = Heard()
    shim.conversation.attach("m0", heard)

    shim.conversation.feed(line)
    shim.conversation.end(Ending(status=0))

    (ending,) = heard.endings
    assert why in str(ending)
    assert ending is shim.conversation.ending


def test_an_event_without_its_member_breaks_the_contract_of_multi() -> None:
    shim = Shim(None, "multi")

    shim.conversation.feed('{"name":"startup_complete"}')

    assert "without member" in str(shim.conversation.ending)


def test_an_event_of_a_member_that_nobody_started_breaks_the_contract_and_late_words_of_one_that_left_do_not() -> None:
    shim = Shim(None, "multi")
    shim.conversation.attach("c1.m0", Heard())
    shim.conversation.detach("c1.m0")

    shim.conversation.feed('{"name":"shutdown_complete","member":"c1.m0"}')
    assert shim.conversation.ending is None

    shim.conversation.feed('{"name":"startup_complete","member":"c9.m0"}')
    assert "event startup_complete of member 'c9.m0', which nobody has started" in str(shim.conversation.ending)


def test_a_flood_of_events_breaks_the_contract() -> None:
    shim, heard = Shim(), Heard()
    shim.conversation.attach("m0", heard)

    for _ in range(EVENTS_MAX + 2):
        shim.conversation.feed('{"name":"callback_done"}')

    assert len(heard.events) == EVENTS_MAX
    assert "a flood: more than 5000 events" in str(heard.endings[0])


def broken_by(reply: Reply, *capabilities: str, command: str = "pause") -> str:
    """Return how the dialogue ends after one command."""

    async def main() -> str:
        shim = Shim(reply, *capabilities)
        with suppress(ShimGone):
            await shim.conversation.ask(command, {}, "m0")
        shim.conversation.feed(reply({"id": 1}) or "")
        return str(shim.conversation.ending)

    return trio.run(main)


def test_a_second_answer_breaks_the_contract() -> None:
    assert broken_by(ok) == 'a second answer to command 1, which is not open: {"id": 1, "ok": true}'


def test_an_answer_that_names_another_member_breaks_the_contract() -> None:
    def of_another(command: dict[str, Any]) -> str:
        return json.dumps({"id": command["id"], "ok": True, "member": "m9"})

    assert "is of another member than the command, which was of m0" in broken_by(of_another, "multi")


def test_an_answer_without_what_it_must_list_breaks_the_contract() -> None:
    assert "the answer to committed lacks offsets" in broken_by(ok, command="committed")


def test_taking_over_a_dialogue_that_has_ended_is_an_error() -> None:
    shim, heard = Shim(), Heard()
    shim.conversation.feed("{bad")

    shim.conversation.attach("m0", heard)

    assert "is no JSON" in str(heard.endings[0])


def test_what_is_ignored_is_warned_of_once_for_its_kind() -> None:
    shim = Shim()
    for line in ('{"name":"gone"}', '{"name":"gone"}', '{"name":"callback_done","mood":1}', '{"name":"callback_done","mood":2}', "caf\ufffd"):
        shim.conversation.feed(line)

    assert shim.conversation.warnings == [
        "an event that the contract does not know: gone",
        "event callback_done with a field that the contract does not know: mood",
        "bytes that are not UTF-8 on stdout",
    ]
    assert len([note for note in shim.notes if "noise" not in note]) == 3


def test_anything_but_hello_first_breaks_the_contract() -> None:
    async def main() -> None:
        conversation = Shim().conversation
        conversation.hello = None
        conversation.feed('{"name":"startup_complete"}')
        with pytest.raises(ShimGone, match="the first line is no hello"):
            await conversation.wait_for_hello()

    trio.run(main)


def test_a_task_that_waits_for_an_answer_learns_that_the_shim_has_ended() -> None:
    async def main() -> None:
        shim = Shim()
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ShimGone, match="killed by signal 9"):
                    await shim.conversation.ask("pause", {}, "m0")

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            shim.conversation.end(Ending(status=-9))
        with pytest.raises(ShimGone):
            await shim.conversation.ask("resume", {}, "m0")

    trio.run(main)


def test_a_command_to_a_closed_stdin_waits_for_the_ending_that_tells_why() -> None:
    async def main() -> None:
        async def closed(line: str) -> None:
            raise trio.BrokenResourceError

        conversation = Conversation(closed, lambda note: None)
        conversation.feed(hello())
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ShimGone, match="exited with status 3"):
                    await conversation.ask("pause", {}, "m0")

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            conversation.end(Ending(status=3))

    trio.run(main)


def test_an_answer_that_comes_after_its_asker_gave_up_still_reaches_the_member() -> None:
    async def main() -> None:
        shim = Shim()
        heard = Heard()
        shim.conversation.attach("m0", heard)
        with trio.move_on_after(1):
            await shim.conversation.ask("commit", {}, "m0")
        shim.conversation.feed(ok(shim.asked[0]))

        assert [answer.ok for answer in heard.answers] == [True]
        assert shim.conversation.ending is None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_shim_that_knows_a_made_up_command_is_not_believed() -> None:
    async def main() -> None:
        with pytest.raises(BrokenShim, match="a command that does not exist"):
            await Shim(ok).conversation.try_made_up_command(random.Random(1))
        honest = Shim(unimplemented)
        await honest.conversation.try_made_up_command(random.Random(1))
        again = Shim(unimplemented)
        await again.conversation.try_made_up_command(random.Random(2))
        assert honest.asked[0]["command"] != again.asked[0]["command"]

    trio.run(main)
