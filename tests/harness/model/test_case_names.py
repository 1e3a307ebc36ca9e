from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.harness.running.virtual import judged, played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import plan_of, seed_of
from groupproof.harness.model.case_names import NAMES, CaseNames, as_written, drawn
from groupproof.harness.model.plan import Arm, Await, Matches, Member, Plan, Start
from groupproof.harness.model.plan_builders import answers, append, assigned, commit, grow, pause, settled, strikes
from groupproof.harness.running.rejudge import rejudged, split
from groupproof.protocol.faults import Answer, Drop
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.trace import Observation, Trace, read_trace, write_trace
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

SEEDS = (1, 2, 3)
SOME = (
    "assignor/classic/topic-of-another",
    "assignor/classic/peer-with-user-data",
    "commit/classic/unheard-of-error",
    "cooperative/classic/hand-over",
    "fetch/classic/unheard-of-error",
    "find/classic/unheard-of-error",
    "heartbeat/classic/unheard-of-error",
    "join/classic/unheard-of-error",
    "leave/classic/unheard-of-error",
    "link/classic/cut-sync",
    "move/classic/rejoin",
    "poll/classic/stopped-frees-partitions",
    "rebalance/classic/topic-grows",
    "static/classic/fenced-heartbeat",
    "sync/classic/unheard-of-error",
)
BAD = {
    "assignor/classic/three-members": "leader-assigns-to-itself-only",
    "commit/classic/unheard-of-error": "swallows-sync-commit-errors",
    "fetch/classic/unheard-of-error": "falls-silent-on-fetch-errors",
    "heartbeat/classic/illegal-generation": "ignores-heartbeat-22",
    "join/classic/unheard-of-error": "falls-silent-on-join-errors",
    "rebalance/classic/resubscription": "ignores-resubscription",
    "sync/classic/unheard-of-error": "falls-silent-on-sync-errors",
}
BY_ID = {case.id: case for case in CASES}
PLAN = Plan(members=(Member(name="m0"),), steps=(Start(member="m0"),))


WRITTEN = {"g", "t", "u"}


def names_of(trace: Trace) -> CaseNames:
    return msgspec.convert(next(obs.body for obs in trace if obs.body.get("name") == NAMES), CaseNames, strict=False)


def shows(judgement: Judgement) -> tuple[Any, ...]:
    found = [(finding.verdict, finding.requirement, finding.expected, finding.observed, finding.detail) for finding in judgement.findings]
    return judgement.verdict, judgement.reason, judgement.goodbye, judgement.receipts, found


def leaves(value: Any) -> Iterator[Any]:
    """Yield every key and value in a body, however deep."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if not isinstance(value, list | tuple):
        yield value
        return
    for item in value:
        yield from leaves(item)


def renamed(body: dict[str, Any], who: str = "coordinator", **columns: Any) -> Observation:
    """Return what a judge reads where a run saw `body`."""
    obs = Observation(seq=0, at_ns=0, kind="event", who="kit", body={"name": NAMES, **msgspec.to_builtins(NAMED, str_keys=True)})
    return as_written([obs, Observation(seq=1, at_ns=1, kind="event", who=who, body=body, **columns)])[1]


NAMED = CaseNames(group={"g": "ledger-3f2a"}, topics={"t": "orders-21", "u": "users-81"}, codes={999: 4711})


@pytest.mark.parametrize("id", SOME)
def test_the_reference_is_judged_alike_by_whatever_names_and_meets_none_of_the_case(id: str) -> None:
    for seed in SEEDS:
        play, other = judged(BY_ID[id], seed=seed, draws_names=True)
        _, plain = judged(BY_ID[id], seed=seed)

        assert shows(other) == shows(plain)
        assert plain.findings
        if id != "assignor/classic/peer-with-user-data":  # whose user data is "\\0\\1their own"
            _has_no_name_of_the_case(play.trace)


@pytest.mark.slow
@pytest.mark.parametrize("id", BAD)
def test_a_misbehaviour_is_judged_alike_by_whatever_names(id: str) -> None:
    for seed in SEEDS:
        _, plain = judged(BY_ID[id], variant=BAD[id], seed=seed)
        _, other = judged(BY_ID[id], variant=BAD[id], seed=seed, draws_names=True)

        assert shows(other) == shows(plain)
        assert any(finding.verdict.value in ("FAILED", "NON_STRICT") for finding in other.findings)


def _has_no_name_of_the_case(whole: Trace) -> None:
    """Look through all that reaches or leaves a member."""
    trace = [obs for obs in whole if obs.body.get("name") not in (NAMES, "step")]

    for observation in trace:
        entries = list(leaves(observation.body))
        assert not WRITTEN & {name for name in entries if isinstance(name, str)}, observation
        assert not [data for data in entries if isinstance(data, bytes) and (b"\x00\x01t" in data or b"\x00\x01u" in data)], observation
        assert observation.error != 999
        assert "999" not in {str(item) for item in entries}
        assert observation.group not in WRITTEN
    subscribed = [obs.body["fields"] for obs in trace if obs.body.get("command") == "subscribe"]
    assert subscribed
    assert all("-" in item["group"] and all("-" in topic for topic in item["topics"]) for item in subscribed)


@pytest.mark.parametrize("id", ["fetch/classic/unheard-of-error", "rebalance/classic/topic-grows"])
def test_a_trace_is_judged_again_alike(id: str) -> None:
    play, judgement = judged(BY_ID[id], draws_names=True)

    again = list(read_trace(write_trace(play.trace)))
    (result,) = rejudged(split(again), CASES, UNIVERSAL)

    assert shows(judge_run(BY_ID[id], again, UNIVERSAL)) == shows(judgement)
    assert result.ruling.verdict is judgement.verdict
    assert names_of(again).group["g"] in {obs.group for obs in result.plays[0].trace}


def test_a_seed_gives_the_same_names_and_another_others() -> None:
    plan = plan_of(BY_ID["assignor/classic/topic-of-another"])
    draws = [drawn(plan, seed_of(seed, "a/classic/a")) for seed in range(40)]

    assert draws == [drawn(plan, seed_of(seed, "a/classic/a")) for seed in range(40)]
    assert len({draw.group["g"] for draw in draws}) > 30
    assert len({draw.topics["t"] for draw in draws}) > 30
    assert names_of(played(BY_ID[SOME[0]], seed=5, draws_names=True).trace) == drawn(plan_of(BY_ID[SOME[0]]), seed_of(5, SOME[0]))


def test_topics_keep_their_order_and_the_group_its_coordinator() -> None:
    plan = replace(PLAN, topics={"u": 1, "t": 2, "tt": 3})
    for seed in range(20):
        names = drawn(plan, seed)

        assert sorted(names.topics, key=lambda topic: names.topics[topic]) == ["t", "tt", "u"]
        assert abs(java_hash(names.group["g"])) % 50 == abs(java_hash("g")) % 50


def test_a_code_that_no_release_has_is_one_still_and_known_codes_stay() -> None:
    plan = replace(PLAN, steps=(answers("a", Api.HEARTBEAT, 999), answers("b", Api.HEARTBEAT, 27, body={"groups": [{"error_code": 998}]})))
    for seed in range(20):
        codes = drawn(plan, seed).codes

        assert set(codes) == {998, 999}
        assert all(900 <= code < 32_000 and code not in set(ErrorCode) for code in codes.values())
    assert not drawn(PLAN, 1).codes


def test_a_plan_is_written_with_other_names_wherever_it_has_them() -> None:
    plan = Plan(
        members=(Member(name="m0"), Member(name="a0", kind="reference", settings={"topics": ["u"], "assignors": ["range"]})),
        steps=(
            answers("e", Api.OFFSET_FETCH, 999, body={"groups": [{"group_id": "g", "topics": [{"name": "t", "partitions": []}]}]}, group="g"),
            strikes("d", Api.HEARTBEAT, Drop(), direction="response", error=999),
            Await(until=Matches(kind_of="response", error=999, where={"groups.error_code": 999})),
            assigned("m0", ("t", 1)),
            settled({"t": 2}, "m0"),
            commit("m0", ("t", 0, 999)),
            grow("t", 4),
            append("u", 1, 5),
            pause("m0"),
        ),
        topics={"t": 2, "u": 1},
    )

    entry = NAMED.plan(plan)
    armed, dropped, step, handed_out, together, committed, grown, filled, paused = entry.steps

    assert [dict(member.settings) for member in entry.members] == [
        {"group": "ledger-3f2a", "topics": ["orders-21"]},
        {"group": "ledger-3f2a", "topics": ["users-81"], "assignors": ["range"]},
    ]
    assert entry.topics == {"orders-21": 2, "users-81": 1}
    assert isinstance(armed, Arm)
    assert isinstance(armed.fault.action, Answer)
    assert isinstance(dropped, Arm)
    assert (armed.fault.selector.group, armed.fault.action.error_code) == ("ledger-3f2a", 4711)
    assert armed.fault.action.body == {"groups": [{"group_id": "ledger-3f2a", "topics": [{"name": "orders-21", "partitions": []}]}]}
    assert dropped.fault.selector.error == 4711
    assert step == Await(until=Matches(kind_of="response", error=4711, where={"groups.error_code": 4711}))
    assert handed_out == assigned("m0", ("orders-21", 1))
    assert together == settled({"orders-21": 2}, "m0")
    assert committed == commit("m0", ("orders-21", 0, 999)), "an offset is no code"
    assert (grown, filled, paused) == (grow("orders-21", 4), append("users-81", 1, 5), pause("m0"))


def test_judges_read_the_names_of_the_case() -> None:
    obs = renamed(
        {"error_code": 4711, "throttle_time_ms": 4711, "topics": {"orders-21": [{"name": "users-81"}]}},
        group="ledger-3f2a", error=4711, partitions=(("orders-21", 0),), offsets=(("users-81", 1, 4711),), detail="of ledger-3f2a",
    )  # fmt: skip

    assert obs.body == {"error_code": 999, "throttle_time_ms": 4711, "topics": {"t": [{"name": "u"}]}}
    assert (obs.group, obs.error, obs.partitions, obs.offsets, obs.detail) == ("g", 999, (("t", 0),), (("u", 1, 4711),), "of g")


def test_judges_read_what_a_shim_tells_with_the_code_of_the_case() -> None:
    fields = {"name": "error", "error": "CODE_4711", "message": "orders-21: error 4711 of 14711", "code": 4711, "count": 4711, "topics": ["x"]}

    assert renamed(fields, who="shim").body == {
        "name": "error",
        "error": "CODE_999",
        "message": "t: error 999 of 14711",
        "code": 999,
        "count": 4711,
        "topics": ["x"],
    }
    assert renamed({"message": "4711"}, who="coordinator").body == {"message": "4711"}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_judges_read_the_blobs_of_the_consumer_protocol_in_the_names_of_the_case(version: int) -> None:
    def blobs(t: str, u: str) -> list[bytes]:
        user_data = len(t).to_bytes(2, "big") + t.encode() + b"\x00\x00"
        owned = ((t, 0), (u, 1)) if version else ()
        subscription = encode_subscription(Subscription(topics=(t, u), owned=owned, user_data=user_data, version=version))
        bare = encode_subscription(Subscription(topics=(t,), version=version))
        assignment = encode_assignment(Assignment(partitions=((t, 0), (t, 1), (u, 0)), user_data=user_data, version=version))
        handed_out = encode_assignment(Assignment(partitions=((u, 0),), version=version))
        return [subscription, bare, assignment, handed_out, subscription + b"\xff", b"\xff" + user_data, b""]

    assert renamed({"blobs": blobs("orders-21", "users-81")[:4]}).body == {"blobs": blobs("t", "u")[:4]}
    odd, strange, nothing = renamed({"blobs": blobs("orders-21", "users-81")[4:]}).body["blobs"]
    assert (strange, nothing) == tuple(blobs("t", "u")[5:])
    assert b"orders-21" not in odd, "what is no subscription is told in other names all the same"
    assert odd.endswith(b"\xff")


def test_a_trace_without_drawn_names_is_left_as_it_is() -> None:
    trace = played(BY_ID["join/classic/member-id-required"]).trace

    assert as_written(trace) is trace
