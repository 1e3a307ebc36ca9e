"""The table of special errors."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.datalink.error_reactions import SPECIAL, Reaction, reaction
from groupproof.protocol.rules.classic.member_reactions import Lapse
from groupproof.protocol.vocabulary import Api

APIS = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT)


@pytest.mark.requirement("WORKER-09", "WORKER-10", "WORKER-11", "WORKER-12")
@pytest.mark.parametrize("api", APIS)
def test_what_each_special_error_asks_for_is_the_same_wherever_it_comes(api: Api) -> None:
    found = {answer: reaction(api, answer) for answer in SPECIAL}

    assert {answer for answer, wanted in found.items() if wanted.rejoins} == set(SPECIAL)
    assert {answer for answer, wanted in found.items() if wanted.rediscovers} == {15, 16, Lapse.TIMED_OUT}
    assert {answer for answer, wanted in found.items() if wanted.resets} == {22, 25}


@pytest.mark.parametrize("api", APIS)
def test_success_asks_for_nothing_and_any_other_error_has_no_way_on(api: Api) -> None:
    assert reaction(api, 0) == Reaction()
    assert reaction(api, 23).fails


@pytest.mark.reading("DISC-20")
def test_a_manager_that_loads_is_asked_again_to_join() -> None:
    assert reaction(Api.JOIN_GROUP, 14) == Reaction(rejoins=True, backs_off=True)
    assert reaction(Api.HEARTBEAT, 14).fails


def test_a_connection_that_breaks_leaves_a_settled_worker_where_it_is() -> None:
    assert not reaction(Api.HEARTBEAT, Lapse.DISCONNECTED).rejoins
    assert reaction(Api.JOIN_GROUP, Lapse.DISCONNECTED).rejoins
