from __future__ import annotations

from typing import Any

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.model.prerequisites import needs_of
from groupproof.harness.reports.bundle.recomputed_case import RecomputedCase, TraceFacts
from groupproof.harness.reports.bundle.witnesses import contradictions

HELLO = {"name": "hello", "client": "kafka-python", "version": "3.0.12", "language": "python 3.11", "capabilities": ["classic", "pause"]}
GROUND = {
    "name": "ground", "profile": "kafka-4.1", "subject": {"name": "apache-kafka", "version": "4.1.0"},
    "versions": {"Heartbeat": [0, 4], "JoinGroup": [2, 9]},
}  # fmt: skip
CLIENT, OTHER = cases_of("client")[:2]
SCRIPT = next(case for case in cases_of("coordinator") if needs_of(case) == {"Heartbeat"})


def missing_witnesses(side: str, *facts: TraceFacts, **subject: Any) -> list[str]:
    report = {
        "suite": {"profile": "kafka-4.1"},
        "subject": {"name": "kafka-python", "version": "3.0.12", "language": "python 3.11", "capabilities": ["classic", "pause"], **subject},
    }
    case = CLIENT if side == "client" else SCRIPT
    manifest = {"subject": {"side": side, "spec": ["python", "shim.py"]}}
    return list(contradictions(manifest, report, {case.id: RecomputedCase(case=case, facts=list(facts))}))


def test_a_client_is_who_its_shim_said_in_every_trace() -> None:
    fact = TraceFacts(run="1.c1", hellos=(HELLO,))

    assert missing_witnesses("client", fact) == []
    assert missing_witnesses("client", TraceFacts(run="1.c1")) == []
    assert "subject.version is '9.9', and '3.0.12', by the traces in cases/" in missing_witnesses("client", fact, version="9.9")[0]
    assert "subject.name is 'x', and 'kafka-python'" in missing_witnesses("client", fact, name="x")[0]
    assert "subject.language is 'rust', and 'python 3.11'" in missing_witnesses("client", fact, language="rust")[0]
    assert "capabilities is 1 of them: classic, and 2 of them: classic, pause" in missing_witnesses("client", fact, capabilities=["classic"])[0]


def test_what_many_traces_say_is_named_once() -> None:
    assert len(missing_witnesses("client", *(TraceFacts(run=f"1.c{number}", hellos=(HELLO, HELLO)) for number in range(3)), version="9.9")) == 1


def test_one_run_is_no_two() -> None:
    (named,) = missing_witnesses("client", TraceFacts(run="1.c1"), TraceFacts(run="1.c1"))

    assert "has the run 1.c1 for a trace" in named


def test_a_coordinator_is_who_and_speaks_what_its_traces_say() -> None:
    fact = TraceFacts(run="1.c1", ground=GROUND)
    apache = {"name": "apache-kafka", "version": "4.1.0", "capabilities": ["JoinGroup 2-9", "Heartbeat 0-4"]}

    assert missing_witnesses("coordinator", fact, **apache) == []
    assert "subject.version is '4.2.0', and '4.1.0'" in missing_witnesses("coordinator", fact, **{**apache, "version": "4.2.0"})[0]
    assert "subject.capabilities" in missing_witnesses("coordinator", fact, **{**apache, "capabilities": ["JoinGroup 2-9"]})[0]


def test_a_case_is_not_beyond_a_broker_that_by_other_traces_can_be_put_through_it() -> None:
    apache = {"name": "apache-kafka", "version": "4.1.0", "capabilities": ["JoinGroup 2-9", "Heartbeat 0-4"]}
    unspoken = TraceFacts(run="1.c2", is_unspoken=True)

    (named,) = missing_witnesses("coordinator", TraceFacts(run="1.c1", ground=GROUND), unspoken, **apache)
    assert "is said to need versions that the broker does not speak" in named
    without = {**GROUND, "versions": {"JoinGroup": [2, 9]}}
    assert missing_witnesses("coordinator", TraceFacts(run="1.c1", ground=without), unspoken, **{**apache, "capabilities": ["JoinGroup 2-9"]}) == []
    assert missing_witnesses("coordinator", unspoken, **apache) == []
