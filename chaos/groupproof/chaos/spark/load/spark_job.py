"""The Spark job of a load: one task for each part of the members, run once, and the collected manifest. Only threads call Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio

from groupproof.chaos.spark.load.task_player import MANIFEST, player
from groupproof.chaos.spark.members.load_order import TaskOrder
from groupproof.chaos.spark.session import session
from groupproof.harness.model.errors import BrokenEnvironment, RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Job", "SparkJob", "in_a_thread"]

T = TypeVar("T")


class Job(Protocol):
    """Runs task orders. `ended` is set when none of it runs any more."""

    @property
    def where(self) -> str:
        """The provider of the tasks' slots, for a person."""
        ...

    @property
    def ended(self) -> trio.Event: ...

    async def run(self, orders: Sequence[TaskOrder]) -> None:
        """Run all tasks to their end; raise `BrokenEnvironment` where that is impossible."""
        ...

    async def cancel(self) -> None:
        """End the tasks that still run."""
        ...


class SparkJob:
    """The job on a session with the master `where`, made by `open`. Call `open` before the job to learn how many tasks run at once.

    `manifest` has a row for each sealed segment.
    """

    def __init__(self, where: str, **conf: Any) -> None:
        self.where = where
        self.ended = trio.Event()
        self.manifest: list[Any] = []
        self._conf = conf
        self._spark: SparkSession | None = None
        self._is_cancelled = False

    def open(self) -> SparkSession:
        """Return the session, made at the first call; raise `BrokenEnvironment`."""
        if self._spark is None:
            self._spark = session("groupproof load", master=self.where, **self._conf)
        return self._spark

    @property
    def slots(self) -> int:
        """The number of tasks that run at once, from the master."""
        return int(self.open().sparkContext.defaultParallelism)

    async def run(self, orders: Sequence[TaskOrder]) -> None:
        try:
            spark = self.open()
            await in_a_thread(lambda: self._run(spark, orders))
        finally:
            self.ended.set()

    def _run(self, spark: SparkSession, orders: Sequence[TaskOrder]) -> None:
        numbers = spark.range(0, len(orders), 1, len(orders))
        try:
            self.manifest = numbers.mapInArrow(player(orders), MANIFEST).collect()
        except RunError:
            raise
        except Exception as error:  # py4j's errors for a failed job, a dead JVM or killed workers
            if not self._is_cancelled:
                raise BrokenEnvironment(f"the Spark job of the load failed on {self.where}: {_cause(error)}") from error

    async def cancel(self) -> None:
        self._is_cancelled = True
        if self._spark is not None and not self.ended.is_set():
            with suppress(Exception):  # the JVM may be gone, and then nothing runs
                await in_a_thread(self._spark.sparkContext.cancelAllJobs)

    def close(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            with suppress(Exception):  # as above
                self._spark.stop()


async def in_a_thread(do: Callable[[], T]) -> T:
    """Call Spark without blocking the loop, in PySpark's own kind of thread: it closes its connection to the JVM when it ends."""
    from pyspark import InheritableThread

    returned: list[T] = []
    raised: list[Exception] = []

    def target() -> None:
        try:
            returned.append(do())
        except Exception as error:  # raised again in the caller
            raised.append(error)

    thread = InheritableThread(target)
    thread.start()
    await trio.to_thread.run_sync(thread.join, abandon_on_cancel=True)
    if raised:
        raise raised[0]
    return returned[0]


def _cause(error: Exception) -> str:
    """Return the line with the reason of a failed job: the last cause in Spark's nested errors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    parts = [line for line in lines if not line.startswith(("at ", "Traceback", "File ", "... ", "Driver stacktrace"))]
    wanted = next((line for line in parts if "NoRoom" in line or "exited unexpectedly" in line or "Lost task" in line), parts[0] if parts else "")
    return (wanted or type(error).__name__)[:400]
