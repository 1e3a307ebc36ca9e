from __future__ import annotations

import json
import re

import pytest

from groupproof.harness.subjects.shims.contract_lines import Answer, BrokenLine, Event, Hello, Noise, command_line, read_line

HELLO = '{"name":"hello","contract":1,"client":"c","version":"1.0","language":"go","capabilities":["classic","pause"]}'


def test_the_first_line_says_who_the_client_is() -> None:
    hello = read_line(HELLO)

    assert hello == Hello(contract=1, client="c", version="1.0", language="go", capabilities=frozenset({"classic", "pause"}))


def test_what_does_not_start_with_a_brace_is_noise() -> None:
    assert read_line("WARN something") == Noise(text="WARN something")
    assert read_line("") == Noise(text="")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"id":3,"ok":true,"ignored":[]}', "ok"),
        ('{"id":3,"error":"REBALANCE_IN_PROGRESS","message":"m","fatal":false}', "error"),
        ('{"id":3,"unimplemented":"no such thing"}', "unimplemented"),
    ],
)
def test_an_answer_is_one_of_three(line: str, kind: str) -> None:
    answer = read_line(line)

    assert isinstance(answer, Answer)
    assert answer.id == 3
    assert [answer.ok, answer.error is not None, answer.unimplemented is not None] == [kind == name for name in ("ok", "error", "unimplemented")]
    assert answer.body == json.loads(line)


def test_an_event_keeps_its_member_and_its_body() -> None:
    event = read_line('{"name":"partitions_assigned","member":"c1.m0","partitions":[{"topic":"t","partition":0}],"extra":1}')

    assert isinstance(event, Event)
    assert (event.name, event.member, event.is_known) == ("partitions_assigned", "c1.m0", True)
    assert event.body["extra"] == 1


def test_an_event_of_another_name_is_read_and_marked_as_unknown() -> None:
    event = read_line('{"name":"garbage_collected"}')

    assert isinstance(event, Event)
    assert not event.is_known


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{nonsense", "is no JSON"),
        ("{}", "neither an event"),
        ('{"name":"error","error":"' + "x" * (1 << 20) + '"}', "longer than 1 MiB"),
        ('{"a":' * 100_000, "is no JSON"),
        ('{"name":"x","lag":NaN}', "NaN is no number"),
        ('{"name":"x","said":"\\ud800"}', "surrogates not allowed"),
        ('{"name":3}', "name is no string"),
        ('{"name":"partitions_assigned"}', "lacks partitions"),
        ('{"name":"partitions_revoked","partitions":[["t",0]]}', "there is ['t', 0], not {topic, partition}"),
        ('{"name":"records_consumed","count":true,"partitions":[]}', "count is True, not a count"),
        ('{"id":"3","ok":true}', "id is no integer"),
        ('{"id":3}', "none of ok, error, unimplemented"),
        ('{"id":3,"ok":true,"error":"X"}', "ok and error"),
        (HELLO.replace('"contract":1', '"contract":7'), "speaks contract 7, this kit speaks 1"),
        (HELLO.replace('["classic","pause"]', "[1]"), "in capabilities there is 1, not a string"),
        (HELLO.replace('"version":"1.0",', ""), "hello lacks version"),
    ],
)
def test_a_line_that_breaks_the_contract_is_refused_with_what_was_found(line: str, why: str) -> None:
    with pytest.raises(BrokenLine, match=re.escape(why)):
        read_line(line)


def test_a_long_broken_line_is_shown_in_part() -> None:
    with pytest.raises(BrokenLine) as error:
        read_line("{" + "x" * 10_000)

    assert len(str(error.value)) < 400


def test_a_refused_line_is_shown() -> None:
    with pytest.raises(BrokenLine) as error:
        read_line('{"name":"error","error":"X"}')

    assert str(error.value) == 'event error lacks message: {"name":"error","error":"X"}'


def test_a_command_carries_its_fields_and_with_multi_its_member() -> None:
    assert json.loads(command_line(7, "commit", {"mode": "sync"})) == {"id": 7, "command": "commit", "mode": "sync"}
    assert json.loads(command_line(7, "pause", {}, "c1.m0")) == {"id": 7, "command": "pause", "member": "c1.m0"}
    assert "\n" not in command_line(7, "subscribe", {"topics": ["a\nb"]})
