"""The tasks of a worker: what runs, and what is started, stopped and started again."""

from __future__ import annotations

from groupproof.clients.relatives.datalink.tasks import Configs, Task
from groupproof.clients.relatives.datalink.worker_outputs import Output, RestartTask, StartTasks, StopTasks
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.clients.relatives.datalink.worker_tasks import WorkerTasks
from groupproof.protocol.relatives.datalink_messages import WorkerStatus


def _tasks(*names: str) -> tuple[WorkerTasks, list[Output]]:
    out: list[Output] = []
    tasks = WorkerTasks(out)
    tasks.configs = Configs(version=4, tasks={name: Task(name=name) for name in names})
    return tasks, out


def test_only_what_does_not_run_and_is_still_configured_is_started() -> None:
    tasks, out = _tasks("a", "b")
    tasks.start(("a",))
    tasks.start(("a", "b", "deleted"))
    tasks.start(("a",))

    assert out == [StartTasks(tasks=(Task(name="a"),)), StartTasks(tasks=(Task(name="b"),))]
    assert tasks.running == {"a": 1, "b": 1}


def test_a_task_runs_until_it_is_reported_as_stopped() -> None:
    tasks, out = _tasks("a", "b")
    tasks.start(("a", "b"))

    assert tasks.stop(["b"])
    assert set(tasks.running) == {"a", "b"}
    tasks.stopped()

    assert out[-1] == StopTasks(names=("b",))
    assert (set(tasks.running), tasks.stopping) == ({"a"}, ())
    assert not tasks.stop([])


def test_what_runs_by_an_older_revision_is_restarted_once() -> None:
    tasks, out = _tasks("a", "b")
    tasks.start(("a", "b"))
    tasks.configs = Configs(version=5, tasks={"a": Task(name="a", revision=2), "b": Task(name="b")})
    tasks.restart_changed()
    tasks.restart_changed()

    assert [item for item in out if isinstance(item, RestartTask)] == [RestartTask(task=Task(name="a", revision=2))]


def test_a_worker_says_datalink_s_two_fields_of_itself_or_what_the_planned_assignors_need() -> None:
    tasks, _ = _tasks("a")
    tasks.start(("a",))
    tasks.held = ("a", "z")
    plain = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w")
    sticky = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w", assignor="sticky", capacity=2.0)

    assert tasks.status(plain, 3) == WorkerStatus(url="w", config_version=4)
    assert tasks.status(sticky, 3) == WorkerStatus(url="w", config_version=4, generation=3, held=("a", "z"), running=("a",), capacity=2.0, version=1)
