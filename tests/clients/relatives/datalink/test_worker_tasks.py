"""The bench: what runs, and what is started, stopped and started again."""

from __future__ import annotations

from groupproof.clients.relatives.datalink.tasks import Configs, Task
from groupproof.clients.relatives.datalink.worker_outputs import Output, RestartTask, StartTasks, StopTasks
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.clients.relatives.datalink.worker_tasks import Bench
from groupproof.protocol.relatives.datalink_messages import WorkerStatus


def _bench(*names: str) -> tuple[Bench, list[Output]]:
    out: list[Output] = []
    bench = Bench(out)
    bench.configs = Configs(version=4, tasks={name: Task(name=name) for name in names})
    return bench, out


def test_only_what_does_not_run_and_is_still_configured_is_started() -> None:
    bench, out = _bench("a", "b")
    bench.start(("a",))
    bench.start(("a", "b", "deleted"))
    bench.start(("a",))

    assert out == [StartTasks(tasks=(Task(name="a"),)), StartTasks(tasks=(Task(name="b"),))]
    assert bench.running == {"a": 1, "b": 1}


def test_a_task_runs_until_it_is_told_to_have_stopped() -> None:
    bench, out = _bench("a", "b")
    bench.start(("a", "b"))

    assert bench.stop(["b"])
    assert set(bench.running) == {"a", "b"}
    bench.stopped()

    assert out[-1] == StopTasks(names=("b",))
    assert (set(bench.running), bench.stopping) == ({"a"}, ())
    assert not bench.stop([])


def test_what_runs_by_an_older_revision_is_restarted_once() -> None:
    bench, out = _bench("a", "b")
    bench.start(("a", "b"))
    bench.configs = Configs(version=5, tasks={"a": Task(name="a", revision=2), "b": Task(name="b")})
    bench.restart_changed()
    bench.restart_changed()

    assert [item for item in out if isinstance(item, RestartTask)] == [RestartTask(task=Task(name="a", revision=2))]


def test_a_worker_says_datalink_s_two_fields_of_itself_or_what_the_planned_assignors_need() -> None:
    bench, _ = _bench("a")
    bench.start(("a",))
    bench.held = ("a", "z")
    plain = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w")
    sticky = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w", assignor="sticky", capacity=2.0)

    assert bench.status(plain, 3) == WorkerStatus(url="w", config_version=4)
    assert bench.status(sticky, 3) == WorkerStatus(url="w", config_version=4, generation=3, held=("a", "z"), running=("a",), capacity=2.0, version=1)
