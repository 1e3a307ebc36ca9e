from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import trio

from groupproof.chaos.spark.load.task_channel import Channel, Task, TaskDismissal, TaskRegistry

Story = Callable[[TaskRegistry, tuple[str, int]], Any]


def run(story: Story, tasks: int = 1) -> tuple[TaskRegistry, list[Mapping[str, Any]], list[Task]]:
    failed: list[Mapping[str, Any]] = []
    lost: list[Task] = []
    halls: list[TaskRegistry] = []

    async def main() -> None:
        registry = TaskRegistry(tasks, "secret", failed.append, lost.append)
        halls.append(registry)
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, registry.serve, listeners)
            with trio.fail_after(60):
                await story(registry, ("127.0.0.1", listeners[0].socket.getsockname()[1]))
            nursery.cancel_scope.cancel()

    trio.run(main)
    return halls[0], failed, lost


def test_tasks_begin_when_all_are_there_and_report_until_they_are_done() -> None:
    def task(address: tuple[str, int], number: int) -> int:
        channel = Channel(address, "secret", number, 0)
        began = channel.wait()
        assert channel.report({"rows": 5})
        channel.report({"done": True})
        channel.close()
        return began

    async def story(registry: TaskRegistry, address: tuple[str, int]) -> None:
        async with trio.open_nursery() as nursery:
            for number in range(2):
                nursery.start_soon(trio.to_thread.run_sync, task, address, number)
            await registry.all_there.wait()
            registry.begin(77)

    hall, failed, lost = run(story, 2)

    assert [task.counts for task in hall.tasks] == [{"rows": 5}] * 2
    assert (failed, lost) == ([], [])


def test_a_task_that_is_gone_without_a_word_is_lost_and_its_next_attempt_takes_its_place() -> None:
    async def story(registry: TaskRegistry, address: tuple[str, int]) -> None:
        registry.begin(1)
        for attempt in range(2):
            channel = await trio.to_thread.run_sync(Channel, address, "secret", 0, attempt)
            assert await trio.to_thread.run_sync(channel.wait) == 1
            channel.report({"rows": attempt})
            channel.close()
            while registry.tasks[0].is_there or registry.tasks[0].attempt < attempt:
                await trio.lowlevel.checkpoint()

    hall, _, lost = run(story)

    assert (hall.tasks[0].attempt, hall.tasks[0].lost, len(lost)) == (1, 2, 2)


def test_a_stopped_registry_notifies_its_tasks_and_their_failures_are_reported() -> None:
    async def story(registry: TaskRegistry, address: tuple[str, int]) -> None:
        registry.begin(1)
        channel = await trio.to_thread.run_sync(Channel, address, "secret", 0, 0)
        await trio.to_thread.run_sync(channel.wait)
        await registry.stop()
        while channel.report({}):
            await trio.lowlevel.checkpoint()
        channel.report({"failed": "no room", "why": "full"})
        while not registry.tasks[0].is_done:
            await trio.lowlevel.checkpoint()
        late = await trio.to_thread.run_sync(Channel, address, "secret", 0, 1)
        with pytest.raises(TaskDismissal):
            await trio.to_thread.run_sync(late.wait)
        late.close()
        channel.close()

    _, failed, lost = run(story)

    assert [entry["why"] for entry in failed] == ["full"]
    assert lost == []


@pytest.mark.parametrize("hello", [("wrong", 0), ("secret", 9)])
def test_a_stranger_is_sent_away(hello: tuple[str, int]) -> None:
    async def story(registry: TaskRegistry, address: tuple[str, int]) -> None:
        registry.begin(1)
        channel = await trio.to_thread.run_sync(Channel, address, *hello, 0)
        with pytest.raises(TaskDismissal, match=r"before it began|never began"):
            await trio.to_thread.run_sync(channel.wait)
        channel.close()

    hall, _, _ = run(story)

    assert hall.tasks[0].attempt == -1


def test_without_a_driver_a_task_does_not_play() -> None:
    with pytest.raises(TaskDismissal, match="can't be reached"):
        Channel(("127.0.0.1", 1), "secret", 0, 0)
