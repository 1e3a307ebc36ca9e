"""The member's table: total, consistent, and Kafka's."""

from __future__ import annotations

from itertools import product

import pytest

from groupproof.protocol.rules.classic.member_reactions import MEMBER_APIS, REACTIONS, Answer, Effect, Lapse, Phase, reaction
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.vocabulary import Api, ErrorCode

CODES: tuple[Answer, ...] = (0, 3, 7, 12, 14, 15, 16, 22, 23, 24, 25, 26, 27, 28, 29, 30, 35, 79, 81, 82, -1, 9999, *Lapse)
CELLS = list(product(MEMBER_APIS, CODES, Phase))

ACCEPT, TAKE_ID, RENEW, REDISCOVER, REJOIN = Effect.ACCEPT, Effect.TAKE_ID, Effect.RENEW_SESSION, Effect.REDISCOVER, Effect.REJOIN
DROP_GENERATION, DROP_ID, LOSE = Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE
BACK_OFF, RETRY, FAIL, REPORT, HALT, RAISE, IGNORE = (
    Effect.BACK_OFF, Effect.RETRY, Effect.FAIL, Effect.REPORT, Effect.HALT, Effect.RAISE, Effect.IGNORE,
)  # fmt: skip
RESET = (DROP_GENERATION, DROP_ID, LOSE, REJOIN)

# Requirement table D.7 as the newest Java client plays it (kafka-cases 3a, column trunk).
D7: dict[Api, dict[Answer, tuple[Effect, ...]]] = {
    Api.JOIN_GROUP: {
        0: (ACCEPT,), 14: (BACK_OFF, REJOIN), 15: (REDISCOVER, BACK_OFF, REJOIN), 16: (REDISCOVER, BACK_OFF, REJOIN), 22: (RAISE,), 23: (RAISE,),
        24: (RAISE,), 25: RESET, 26: (RAISE,), 27: (REJOIN,), 30: (RAISE,), 35: (RAISE,), 79: (TAKE_ID, REJOIN), 81: (RAISE,), 82: (RAISE,),
        Lapse.DISCONNECTED: (REDISCOVER, BACK_OFF, REJOIN),
    },
    Api.SYNC_GROUP: {
        0: (ACCEPT,), 14: (RAISE,), 15: (REDISCOVER, BACK_OFF, REJOIN), 16: (REDISCOVER, BACK_OFF, REJOIN), 22: (DROP_GENERATION, LOSE, REJOIN),
        23: (RAISE,), 25: RESET, 27: (REJOIN,), 30: (RAISE,), 82: (RAISE,), Lapse.DISCONNECTED: (REDISCOVER, BACK_OFF, REJOIN),
    },
    Api.HEARTBEAT: {
        0: (RENEW,), 14: (REPORT, BACK_OFF), 15: (REDISCOVER,), 16: (REDISCOVER,), 22: (DROP_GENERATION, LOSE, REJOIN), 25: RESET,
        27: (RENEW, REJOIN), 30: (REPORT, BACK_OFF), 82: (HALT, RAISE), Lapse.DISCONNECTED: (REDISCOVER,),
    },
    Api.OFFSET_COMMIT: {
        0: (ACCEPT,), 3: (BACK_OFF, RETRY), 7: (REDISCOVER, RETRY), 12: (FAIL,), 14: (BACK_OFF, RETRY), 15: (REDISCOVER, RETRY),
        16: (REDISCOVER, RETRY), 22: (DROP_GENERATION, LOSE, REJOIN, FAIL), 25: (*RESET, FAIL), 27: (REJOIN, FAIL), 28: (FAIL,), 29: (FAIL,),
        30: (FAIL,), Lapse.DISCONNECTED: (REDISCOVER, RETRY),
    },
    Api.OFFSET_FETCH: {
        0: (ACCEPT,), 3: (FAIL,), 14: (BACK_OFF, RETRY), 16: (REDISCOVER, RETRY), 29: (FAIL,), 30: (FAIL,),
        Lapse.DISCONNECTED: (REDISCOVER, RETRY),
    },
    Api.LEAVE_GROUP: {code: (IGNORE,) for code in (14, 15, 16, 25, 30, 82, Lapse.DISCONNECTED)},
}  # fmt: skip


def test_every_api_has_a_reaction_to_every_answer_in_every_phase() -> None:
    for api, answer, phase in CELLS:
        assert reaction(api, answer, phase).effects, (api, answer, phase)


def test_every_reaction_names_requirements_that_exist() -> None:
    ids = {requirement.id for requirement in requirements()}
    for api, answer, phase in CELLS:
        cited = reaction(api, answer, phase).requirements
        assert cited, (api, answer, phase)
        assert set(cited) <= ids, (api, answer, phase)


@pytest.mark.parametrize(("api", "answer"), [(api, answer) for api, rows in D7.items() for answer in rows])
def test_the_table_is_the_matrix_of_the_java_client(api: Api, answer: Answer) -> None:
    assert reaction(api, answer, Phase.CURRENT).effects == D7[api][answer]


def test_effects_do_not_contradict_each_other() -> None:
    endings = {ACCEPT, RETRY, FAIL, RAISE, IGNORE}
    for api, answer, phase in CELLS:
        effects = reaction(api, answer, phase).effects
        ends = endings & set(effects)
        assert len(ends) <= 1 or ends == {FAIL, RAISE}, (api, answer, phase)
        assert IGNORE not in effects or effects == (IGNORE,), (api, answer, phase)
        assert not (RAISE in effects and REJOIN in effects), (api, answer, phase)
        assert DROP_ID not in effects or DROP_GENERATION in effects, (api, answer, phase)


def test_success_alone_is_accepted() -> None:
    for api, answer, phase in CELLS:
        assert ACCEPT not in reaction(api, answer, phase) or answer == 0, (api, answer, phase)


def test_only_an_unknown_member_id_takes_the_id_away() -> None:
    assert {answer for api, answer, phase in CELLS if DROP_ID in reaction(api, answer, phase)} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_a_member_that_has_moved_on_obeys_no_answer_to_what_it_was() -> None:
    harmful = {ACCEPT, DROP_GENERATION, DROP_ID, LOSE, REJOIN, RAISE, HALT, TAKE_ID}
    for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT):
        for answer in CODES:
            assert not harmful & set(reaction(api, answer, Phase.STALE).effects), (api, answer)


def test_the_news_of_a_rebalance_is_no_news_to_a_member_that_is_joining() -> None:
    for phase in (Phase.JOINING, Phase.SYNCING):
        assert reaction(Api.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, phase).effects == (RENEW,)


def test_an_api_that_no_member_speaks_has_no_reactions() -> None:
    with pytest.raises(KeyError):
        reaction(Api.METADATA, 0, Phase.CURRENT)
    assert set(REACTIONS) == set(MEMBER_APIS)
