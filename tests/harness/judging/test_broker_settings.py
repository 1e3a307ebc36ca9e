from __future__ import annotations

from groupproof.harness.judging.broker_settings import another_course, bounded_course, differs_for, throttled_course
from groupproof.harness.model import consumer_script_builders as consumer
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_builders import commit, joined, stable

DELAY = "group.initial.rebalance.delay.ms"
MIN_SESSION, MAX_SESSION = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
METADATA = "offset.metadata.max.bytes"
THREE = Script(steps=(*stable("a", "b"), *joined("c"), commit("a", metadata="twelve bytes")))


def test_an_answer_that_a_setting_changed_is_reported() -> None:
    codes = [("join a", 0, 0), ("id c", 79, 81), ("join c", 0, 25)]

    assert another_course(THREE, {"group.max.size": 2}, codes) == (
        "The broker has group.max.size=2, by which the case took another course: "
        "id c was answered 81 GROUP_MAX_SIZE_REACHED where it reckons with 79 MEMBER_ID_REQUIRED."
    )
    assert another_course(THREE, {DELAY: 10_000}, [("join a", 0, None)]) == (
        "The broker has group.initial.rebalance.delay.ms=10000, by which the case took another course: "
        "join a was not answered in the time that it waits."
    )


def test_an_answer_of_another_release_is_no_settings_doing() -> None:
    assert another_course(THREE, {"group.max.size": 2, DELAY: 10_000}, [("beat a", 0, 27)]) == ""
    assert another_course(THREE, {"group.max.size": 3}, [("join c", 0, 81)]) == ""
    assert another_course(THREE, {"offsets.retention.minutes": 1}, [("join c", 0, 81)]) == ""


def test_a_setting_differs_for_a_script_that_comes_up_against_it() -> None:
    assert [differs_for(THREE, "group.max.size", number) for number in (2, 3)] == [True, False]
    assert [differs_for(THREE, MIN_SESSION, number) for number in (6_000, 6_001)] == [False, True]
    assert [differs_for(THREE, MAX_SESSION, number) for number in (5_999, 6_000)] == [True, False]
    assert [differs_for(THREE, METADATA, number) for number in (11, 12, 4_096, 100_000)] == [True, False, False, False]
    assert [differs_for(THREE, DELAY, number) for number in (0, 1)] == [False, True]
    assert not differs_for(THREE, "offsets.retention.minutes", 0)


def test_a_refusal_that_only_a_setting_causes_is_reported_where_the_script_names_no_code() -> None:
    pair = Script(steps=(consumer.join("a"), consumer.join("b")))

    assert another_course(pair, {"group.consumer.max.size": 1}, [("join a", None, 0), ("join b", None, 81)]) == (
        "The broker has group.consumer.max.size=1, by which the case took another course: join b was answered 81 GROUP_MAX_SIZE_REACHED."
    )
    assert another_course(pair, {"group.consumer.max.size": 2}, [("join b", None, 81)]) == ""
    assert another_course(pair, {"group.consumer.session.timeout.ms": 10_000}, [("join b", None, 25)]) == ""


def test_a_throttle_may_have_the_case_take_another_course() -> None:
    codes = [("join b", None, 81), ("beat a", 0, 25)]

    assert throttled_course(2_500, codes) == (
        "The broker throttled its clients for up to 2500 ms, by which the case may have taken another course: "
        "beat a was answered 25 UNKNOWN_MEMBER_ID where it reckons with 0 NONE."
    )
    assert throttled_course(99, codes) == throttled_course(2_500, codes[:1]) == throttled_course(2_500, [("beat a", 0, 0)]) == ""


def test_a_setting_of_consumer_groups_differs_from_what_the_script_asks_for_or_the_default() -> None:
    asks = Script(steps=(), settings={"group.consumer.session.timeout.ms": 3_000})

    assert [differs_for(asks, "group.consumer.session.timeout.ms", number) for number in (3_000, 45_000)] == [False, True]
    assert [differs_for(THREE, "group.consumer.session.timeout.ms", number) for number in (3_000, 45_000)] == [True, False]
    policies = ("BIDIRECTIONAL", "bidirectional", "disabled")
    assert [differs_for(THREE, "group.consumer.migration.policy", policy) for policy in policies] == [False, False, True]


def test_metadata_that_a_default_refuses_differs_where_the_broker_takes_more() -> None:
    long = Script(steps=(commit("a", metadata="m" * 5_000),))

    assert [differs_for(long, METADATA, number) for number in (100, 4_096, 4_999, 5_000)] == [False, False, False, True]


def test_a_config_that_is_refused_or_accepted_against_the_script_may_be_the_controllers_doing() -> None:
    assert bounded_course([("a", 0, 0), ("z", 0, 40)]) == (
        "Controllers check the configs of groups, by bounds that the kit cannot ask for: z was answered 40 INVALID_CONFIG where it reckons with 0 NONE."
    )
    assert bounded_course([("z", 40, 0)])
    assert not bounded_course([("z", 40, 40), ("a", 0, 25), ("b", None, 40)])
