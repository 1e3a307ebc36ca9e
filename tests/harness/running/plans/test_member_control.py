from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import DEFAULTS, Actor, subscription_of
from groupproof.harness.subjects.shims.contract_lines import Answer, Hello
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.harness.subjects.subject import Handle
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import Observation, Recorder


def actor() -> tuple[Actor, Recorder]:
    recorder = Recorder(lambda: 0)
    return Actor(Member(name="m0"), recorder), recorder


def last(recorder: Recorder) -> Observation:
    return recorder.trace[-1]


def test_the_defaults_make_a_subscribe_that_the_contract_allows() -> None:
    fields = subscription_of(Member(name="m0", settings={"instance_id": "i"}), "127.0.0.1:1")

    validate("shim-command", {"id": 1, "command": "subscribe", **fields})
    assert fields["client_id"] == "m0"
    assert fields["instance_id"] == "i"
    assert "instance_id" not in DEFAULTS


def test_events_and_answers_are_recorded_under_the_members_name() -> None:
    m0, recorder = actor()

    m0.on_event({"name": "partitions_assigned", "member": "c7.m0", "partitions": [{"topic": "t", "partition": 1}]})
    assert (last(recorder).client, last(recorder).partitions) == ("m0", (("t", 1),))
    assert "member" not in last(recorder).body

    m0.on_answer(Answer(id=4, ok=True, body={"id": 4, "ok": True, "member": "c7.m0"}))
    assert last(recorder).body == {"name": "answer", "id": 4, "ok": True}


@pytest.mark.parametrize(
    ("ending", "name"),
    [(Ending(status=3, stderr=("oops",)), "exit"), (Ending(broken="bad line"), "broken")],
)
def test_an_ending_is_recorded_as_what_it_is(ending: Ending, name: str) -> None:
    async def main() -> None:
        m0, recorder = actor()
        m0.on_end(ending)
        assert last(recorder).body["name"] == name
        assert m0.ended.is_set()
        assert m0.has_crashed

    trio.run(main)


def test_an_ending_that_was_asked_for_is_no_crash() -> None:
    async def main() -> None:
        m0, recorder = actor()
        m0.is_dismissed = True
        m0.on_end(Ending(status=0))
        assert not m0.has_crashed
        assert last(recorder).body["commanded"]

    trio.run(main)


@pytest.mark.parametrize(("level", "extra"), [(1, {}), (0, {"level": 0, "unreported": ["error"]})])
def test_a_program_of_level_0_is_greeted_with_what_it_never_writes_and_commits_unasked(level: int, extra: dict[str, Any]) -> None:
    unreported = frozenset({"error"}) if level == 0 else frozenset()
    hello = Hello(contract=1, client="c", version="1", language="go", capabilities=frozenset({"classic"}), level=level, unreported=unreported)
    m0, recorder = actor()
    assert not m0.commits_unasked

    m0.greet(cast("Handle", SimpleNamespace(hello=hello)))

    assert last(recorder).body == {"name": "hello", "client": "c", "version": "1", "language": "go", "capabilities": ["classic"], **extra}
    assert m0.commits_unasked == (level == 0)
