"""The leader of DataLink's workers gives every task to one worker, or none where its configurations are too old."""

from __future__ import annotations

from random import Random

import pytest

from groupproof.clients.relatives.datalink.task_assignment import Leading
from groupproof.clients.relatives.datalink.tasks import Configs, Task
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import CONFIG_MISMATCH, BlobError, WorkerStatus, decode_assigned, encode_status
from groupproof.protocol.wire.messages import JoinMember

TASKS = {name: Task(name=name) for name in ("a", "b", "c")}


def _leading(*versions: int) -> Leading:
    leading = Leading(WorkerSettings(group="g", bootstrap=(("127.0.0.1", 9092),), name="w0"), Random(1))
    leading.joined(
        JoinMember(member_id=f"w{number}", metadata=encode_status(WorkerStatus(url=f"http://w{number}", config_version=version)))
        for number, version in enumerate(versions)
    )
    return leading


@pytest.mark.requirement("MGR-14")
def test_every_task_is_given_to_one_worker() -> None:
    assignments = _leading(3, 3).assignments("w0", Configs(version=3, tasks=TASKS))

    tasks = [task for sync_assignment in assignments for task in decode_assigned(sync_assignment.assignment).tasks]
    assert sorted(tasks) == sorted(TASKS)
    assert {sync_assignment.member_id for sync_assignment in assignments} == {"w0", "w1"}


@pytest.mark.requirement("MGR-10")
def test_a_leader_whose_configurations_are_too_old_gives_nothing_and_says_so() -> None:
    leading = _leading(2, 5)
    found = [decode_assigned(assignment.assignment) for assignment in leading.assignments("w0", Configs(version=2, tasks=TASKS))]

    assert leading.newest_version == 5
    assert [(assignment.error, assignment.tasks, assignment.config_version) for assignment in found] == [(CONFIG_MISMATCH, (), 5)] * 2


def test_a_state_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(BlobError, match="cannot be read"):
        Leading(WorkerSettings(group="g", bootstrap=(("127.0.0.1", 9092),), name="w0"), Random(1)).joined(
            [JoinMember(member_id="w0", metadata=b"\x00")]
        )
