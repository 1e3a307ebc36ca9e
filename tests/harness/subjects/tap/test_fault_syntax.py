from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.protocol.faults import Answer, Corrupt, Cut, Drop, Duplicate, Fault, Hold, Move, Reorder, Selector, fault_to_json


@pytest.mark.parametrize(
    ("words", "selector", "action"),
    [
        ("Heartbeat,answer=27", Selector(api="Heartbeat"), Answer(error_code=27)),
        ("heartbeat, nth=3, answer=REBALANCE_IN_PROGRESS", Selector(api="Heartbeat", nth=3), Answer(error_code=27)),
        ("JoinGroup,response,group=g,hold=500", Selector(api="JoinGroup", direction="response", group="g"), Hold(ms=500)),
        ("SyncGroup,role=leader,hold", Selector(api="SyncGroup", role="leader"), Hold()),
        ("Fetch,client=app,count=2,drop", Selector(api="Fetch", client="app", count=2), Drop()),
        ("ConsumerGroupHeartbeat,member_epoch=-1,drop", Selector(api="ConsumerGroupHeartbeat", member_epoch=-1), Drop()),
        ("Heartbeat,corrupt=7", Selector(api="Heartbeat"), Corrupt(seed=7)),
        ("Heartbeat,reorder", Selector(api="Heartbeat"), Reorder()),
        ("JoinGroup,reorder=300", Selector(api="JoinGroup"), Reorder(ms=300)),
        ("JoinGroup,state=Stable,corrupt", Selector(api="JoinGroup", state="Stable"), Corrupt()),
        ("OffsetCommit,cut", Selector(api="OffsetCommit"), Cut()),
        ("OffsetCommit,response,error=0,reset", Selector(api="OffsetCommit", direction="response", error=0), Cut(reset=True)),
        ("LeaveGroup,node=1,duplicate", Selector(api="LeaveGroup", node=1), Duplicate()),
    ],
)
def test_words_are_a_fault(words: str, selector: Selector, action: object) -> None:
    assert faults_of([words]) == [Fault(name="fault-1", selector=selector, action=action)]  # type: ignore[arg-type]  # one of the actions


def test_faults_have_names_of_their_own() -> None:
    assert [fault.name for fault in faults_of(["Heartbeat,cut", "Heartbeat,nth=2,cut,name=second"])] == ["fault-1", "second"]


def test_a_file_holds_one_fault_or_several(tmp_path: Path) -> None:
    faults = [Fault(name=name, selector=Selector(api="Heartbeat"), action=Cut()) for name in ("a", "b")]
    (tmp_path / "one.json").write_text(json.dumps(fault_to_json(faults[0])))
    (tmp_path / "two").write_text(json.dumps([fault_to_json(fault) for fault in faults]))

    assert faults_of([str(tmp_path / "one.json")]) == faults[:1]
    assert faults_of([str(tmp_path / "two")]) == faults


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("Hartbeat,cut", "did you mean Heartbeat"),
        ("zzz,cut", "write it as Kafka does"),
        ("Heartbeat", "does nothing; say one of answer=CODE"),
        ("Heartbeat,cut,hold", "a second action"),
        ("Heartbeat,explode", "'explode' is no action"),
        ("Heartbeat,nth=first,cut", "a whole number is needed"),
        ("Heartbeat,answer=REBALANCE", "did you mean REBALANCE_IN_PROGRESS?"),
        ("Heartbeat,response,duplicate", "cannot be duplicated"),
        ("absent.json", "can't be read"),
    ],
)
def test_what_is_no_fault_is_one_line(words: str, message: str) -> None:
    with pytest.raises(WrongUsage, match=r"^(--)?fault[ :]") as raised:
        faults_of([words])

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(name="f", selector=Selector(api="Heartbeat"), action=Move()), "cannot move a coordinator"),
        (Fault(name="f", selector=Selector(api="Hartbeat"), action=Cut()), "no API is called"),
    ],
)
def test_what_a_tap_cannot_do_is_refused(fault: Fault, message: str, tmp_path: Path) -> None:
    (tmp_path / "fault.json").write_text(json.dumps(fault_to_json(fault)))

    with pytest.raises(WrongUsage, match=message):
        faults_of([str(tmp_path / "fault.json")])


def test_a_file_that_holds_no_fault_and_a_name_twice_are_refused(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("{}")

    with pytest.raises(WrongUsage, match="not a fault"):
        faults_of([str(tmp_path / "none.json")])
    with pytest.raises(WrongUsage, match="two faults are called a"):
        faults_of(["Heartbeat,cut,name=a", "Fetch,cut,name=a"])
