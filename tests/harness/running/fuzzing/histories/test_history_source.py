from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest
from tests.harness.running.fuzzing.drawn import SETTINGS

from groupproof.harness.model.script import Ask, AwaitAnswer, Cut, Pass, Script, script_from_json, script_to_json
from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories
from groupproof.harness.running.fuzzing.histories.shrink_history import tidied
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS

KIND = Kind(profile="kafka-3.9", settings=SETTINGS, ranges=VERSIONS, steps=12)
OLD = Kind(profile="kafka-1.1", settings=SETTINGS, ranges={api: (0, 2) for api in Api if api in VERSIONS}, steps=12)


@cache
def drawn() -> tuple[Script, ...]:
    return tuple(histories(KIND, seed=3, count=30))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_histories_and_another_gives_others() -> None:
    assert histories(KIND, seed=3, count=30) == list(drawn())
    assert histories(KIND, seed=4, count=30) != list(drawn())


def test_a_history_has_as_many_requests_as_were_asked_for() -> None:
    assert len(drawn()) == 30
    assert {sum(isinstance(step, Ask) for step in script.steps) for script in drawn()} == {12}


@pytest.mark.parametrize("number", range(10))
def test_a_history_is_a_script_whose_waits_and_cuts_refer_to_what_was_sent(number: int) -> None:
    script = drawn()[number]
    assert script_from_json(json.loads(json.dumps(script_to_json(script)))) == script
    assert tuple(tidied(script.steps)) == script.steps
    labels = [step.label for step in script.steps if isinstance(step, Ask)]
    assert len(set(labels)) == len(labels)


def test_histories_hold_every_kind_of_step_and_many_kinds_of_requests() -> None:
    kinds = Counter(type(step) for script in drawn() for step in script.steps)
    apis = Counter(step.api for script in drawn() for step in script.steps if isinstance(step, Ask))

    assert {Ask, AwaitAnswer, Pass, Cut} == set(kinds)
    assert {Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH} <= set(apis)


@pytest.mark.slow
def test_where_old_leaders_cannot_get_instances_no_history_has_both() -> None:
    kind = Kind(profile="kafka-2.8", settings=SETTINGS, ranges={api: (0, 7) for api in Api if api in VERSIONS}, steps=12)
    joins = [[step for step in script.steps if isinstance(step, Ask) and step.api is Api.JOIN_GROUP] for script in histories(kind, seed=1, count=40)]
    static = [any(ask.fields["group_instance_id"] for ask in asked) for asked in joins]
    old = [any(ask.version is not None and ask.version < 5 for ask in asked) for asked in joins]

    assert any(static)
    assert any(old)
    assert not any(one and other for one, other in zip(static, old, strict=True))


def test_only_versions_that_the_broker_speaks_are_drawn() -> None:
    asks = [step for script in histories(OLD, seed=1, count=20) for step in script.steps if isinstance(step, Ask)]

    assert {step.version for step in asks} >= {None, 0, 1, 2}
    assert all(step.version is None or step.version <= 2 for step in asks)
