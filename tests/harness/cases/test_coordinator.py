"""Every coordinator case as data, and against the kit's own cluster, by the newest rules and by the oldest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from judged import DATA, row_of
from judged_requirements import spoken_of
from tests.power.shares import is_drawn, parts

from groupproof.harness.cases.client import CASES as CLIENT_CASES
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.cases.coordinator.coordinator_case_builders import NOBODY, case, in_group, named, offering
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_checkers.expected_answers import answers_as_written
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.prerequisites import needs_of
from groupproof.harness.model.script import Ask, AwaitAnswer, AwaitClose, Cut, Raw, ReadAgain, StopReading, script_from_json, script_to_json
from groupproof.harness.model.script_builders import beat, join, joined, leave, list_groups
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.scripts import cluster_pool
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, cluster_spec_of
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, Level

CASES_MIN = 200
WORLDS_MAX = 4
"""Of each dialect: each is one more broker to start."""
POLICIES = 3
"""Of KIP-848's migration, beside the default: a broker has one."""
SHORT_SESSIONS_MOVED = 1
"""Two brokers with short sessions, between which a group of silent members moves."""
LEVELS = list(Level)
ROWS = json.loads(DATA.read_text())["coordinator"]
"""What is written down of each case; a new one has its row by `make docs` (`tests/ci/test_judged.py`)."""
NOT_OF_4_1 = {"commit/classic/v1", *(case.id for case in CASES if any(need.endswith("=10") for need in needs_of(case)))}
OLDEST_SHARE = 4
"""One case in so many meets the oldest release each time, the others in `make soak`."""
QUICK = [case for case in CASES if case.id != "many/classic/1000-members"]


def test_there_are_enough_cases_and_no_two_of_one_name_or_title() -> None:
    assert len(CASES) >= CASES_MIN
    assert [id for id, count in Counter(case.id for case in (*CASES, *CLIENT_CASES)).items() if count > 1] == []
    assert [title for title, count in Counter(case.title for case in CASES).items() if count > 1] == []


def test_few_brokers_serve_all_cases() -> None:
    clusters: dict[str, set[tuple[str, int]]] = {}
    for entry in CASES:
        script = script_of(entry)
        clusters.setdefault(dialect_of_case(entry.id), set()).add((json.dumps(dict(script.settings), sort_keys=True), script.brokers))

    assert clusters.keys() == {CLASSIC.name, CONSUMER.name}
    shared = clusters[CLASSIC.name]
    assert len(shared) <= WORLDS_MAX
    assert len(clusters[CONSUMER.name] - shared) <= WORLDS_MAX + POLICIES + SHORT_SESSIONS_MOVED


def test_every_request_of_the_group_protocol_is_sent_by_some_case() -> None:
    sent = {step.api for case in CASES for step in script_of(case).steps if isinstance(step, Ask)}

    assert sent >= {
        Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR,
        Api.DESCRIBE_GROUPS, Api.LIST_GROUPS, Api.DELETE_GROUPS, Api.OFFSET_DELETE, Api.API_VERSIONS,
    }  # fmt: skip


def test_a_cases_id_is_area_dialect_and_name_and_its_title_a_sentence() -> None:
    assert [
        case.id for case in CASES if not re.fullmatch(rf"[a-z]+(-[a-z]+)*/({CLASSIC.name}|{CONSUMER.name})/[a-z0-9]+(-[a-z0-9]+)*", case.id)
    ] == []
    assert [case.title for case in CASES if not re.fullmatch(r"The coordinator [a-z].*[A-Za-z0-9]\.", case.title)] == []
    assert {case.side for case in CASES} == {"coordinator"}


def test_a_case_names_requirements_that_exist_and_is_not_more_severe_than_them() -> None:
    most_severe = {case.id: min(LEVELS.index(by_id(requirement).level) for requirement in case.requirements) for case in CASES}

    assert [case.id for case in CASES if LEVELS.index(case.level) < most_severe[case.id]] == []


@pytest.mark.slow
def test_a_script_survives_a_schedule_file() -> None:
    assert [case.id for case in CASES if script_from_json(json.loads(json.dumps(script_to_json(script_of(case))))) != case.plan] == []


def test_a_script_waits_for_answers_and_treats_connections_that_it_has() -> None:
    assert {case.id: unknown for case in CASES if (unknown := list(_unknown(case)))} == {}


def _unknown(case: Case) -> Iterator[str]:
    """Yield the answers that nothing was asked for, and the connections that nobody has opened."""
    asked: set[str] = set()
    connections: set[str] = set()
    for step in script_of(case).steps:
        if isinstance(step, Ask):
            asked.add(step.label)
            connections.add(step.over or step.member)
        elif isinstance(step, AwaitAnswer) and step.label not in asked:
            yield step.label
        elif isinstance(step, Raw):
            connections.add(step.connection)
        elif isinstance(step, Cut | AwaitClose | StopReading | ReadAgain) and step.connection not in connections:
            yield step.connection


def test_a_script_waits_on_no_connection_behind_a_join_that_waits() -> None:
    """A request behind a parked one is answered after it: to wait for it first would be to wait for ever."""
    assert {case.id: stuck for case in CASES if (stuck := list(_waits_behind_a_parked_one(case)))} == {}


def _waits_behind_a_parked_one(case: Case) -> Iterator[str]:
    parked: dict[str, str] = {}
    for step in script_of(case).steps:
        if isinstance(step, AwaitAnswer | Cut):
            parked = {
                connection: label
                for connection, label in parked.items()
                if label != getattr(step, "label", None) and connection != getattr(step, "connection", None)
            }
        elif isinstance(step, Ask):
            connection = step.over or step.member
            if step.wait and connection in parked:
                yield f"{step.label} waits behind {parked[connection]}"
            if step.is_parked and step.settles:
                parked[connection] = step.label


def _needs(*steps: Ask) -> frozenset[str]:
    return case("find/x", "does", ("FIND-01",), *steps).needs


def test_what_a_request_cant_be_said_without_is_a_need_of_its_case() -> None:
    assert _needs(join("a"), beat("a")) == frozenset()
    assert _needs(join("a", instance="i")) == {"JoinGroup>=5"}
    assert _needs(leave("a", members=named(NOBODY, "a"))) == {"LeaveGroup>=3"}
    assert _needs(leave("a", members=[{"member_id": "", "group_instance_id": "i"}])) == {"LeaveGroup>=3"}
    assert _needs(join("a", code=79, wait=True)) == {"JoinGroup>=4"}
    assert _needs(*(step for step in joined("a") if isinstance(step, Ask))) == frozenset()
    assert _needs(list_groups("a", states_filter=("Stable",))) == {"ListGroups>=4"}


def test_a_case_that_asks_for_a_version_is_on_no_required_list() -> None:
    assert case("find/x", "does", ("FIND-01",), beat("a")).required
    assert not case("find/x", "does", ("FIND-01",), beat("a", version=4)).required


def test_requests_are_turned_to_another_group_and_other_protocols() -> None:
    (turned,) = in_group("other", beat("a"))
    offered = offering(join("a"), {"range": b"1", "sticky": b"2"})

    assert isinstance(turned, Ask)
    assert turned.fields["group_id"].name == "other"
    assert [(protocol["name"], protocol["metadata"]) for protocol in offered.fields["protocols"]] == [("range", b"1"), ("sticky", b"2")]


@pytest.fixture
def unprobed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a cluster is asked when it has come up, of which each case has one here: the reference can be spoken to by every version that it offers.

    That it can is asked once, below.
    """

    async def nothing(where: ClusterMap, group: str) -> dict[Api, dict[int, str]]:
        return {}

    monkeypatch.setattr(cluster_pool, "unreadable", nothing)


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-4.1"])
def test_the_kits_own_cluster_can_be_spoken_to_by_every_version_that_it_offers(profile: str) -> None:
    found: list[object] = []

    async def main() -> None:
        async with cluster_pool.opened(ReferenceBrokers(profile=profile, seed=1), cluster_spec_of(QUICK[0]), QUICK[:1]) as cluster:
            found.append(cluster.where.unreadable)

    run_virtually(main, seed=1)
    assert found == [{}]


def _judged(case: Case, profile: str) -> tuple[Judgement, Trace]:
    plays: list[Play] = []

    async def main() -> None:
        subject = ReferenceBrokers(profile=profile, seed=1)
        stage = BrokerStage(subject=subject, spec=cluster_spec_of(case), cluster=None, profile=profile, seed=1, token="t")
        plays.append(await stage.play(case, key="1"))

    run_virtually(main, seed=1)
    assert plays[0].trouble is None
    return judge_script_run(case, plays[0].trace), plays[0].trace


@pytest.mark.usefixtures("unprobed")
@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.id)
def test_the_kits_own_cluster_passes_each_case_and_answers_as_it_is_written(case: Case) -> None:
    judgement, trace = _judged(case, "kafka-4.1")
    written = answers_as_written(script_of(case), case.requirements[0])(Evidence(trace))

    assert judgement.verdict is (Verdict.UNIMPLEMENTED if case.id in NOT_OF_4_1 else Verdict.OK), judgement
    assert case.id in NOT_OF_4_1 or [finding for finding in written if finding.verdict is not Verdict.OK] == []
    row = row_of(case, spoken_of(judgement))
    assert ROWS.get(case.id, row) == row, "run: make docs"


@pytest.mark.usefixtures("unprobed")
@pytest.mark.parametrize("case", parts([(case,) for case in QUICK], lambda row: is_drawn(row[0].id, OLDEST_SHARE)), ids=lambda case: case.id)
def test_a_case_suits_the_oldest_release_or_is_not_for_it(case: Case) -> None:
    judgement, _ = _judged(case, "kafka-1.1")

    assert judgement.verdict in (Verdict.OK, Verdict.UNIMPLEMENTED, Verdict.INFORMATIONAL), judgement
