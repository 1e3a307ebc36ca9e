"""Plays the kit in the middle of a run: two guarded programs, one paused and one killed, and a client's process that is frozen. Says when it is so far.

With a word as its second argument there is a container besides, of the image so called, paused.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import trio
from tests.harness.subjects.shims.fakes import fake

from groupproof.harness.commands.base.boundary import INTERRUPTED
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command, guarded
from groupproof.harness.subjects.processes.folders import folders
from groupproof.harness.subjects.processes.images import contained
from groupproof.harness.subjects.shims.shim_process import ShimProcess

SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


async def _broken(order: str, argv: tuple[str, ...], log: Path) -> BrokerProcess:
    process = await BrokerProcess.start(Command(title=order, argv=argv, log=log))
    await process.order(order)
    return process


async def main(cache: Path, image: str) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(mind_signals, nursery.cancel_scope.cancel)
        processes: list[BrokerProcess] = []
        with folders("kit", cache=cache, logs=None) as own:
            try:
                for order in ("pause", "kill"):
                    data = own.data / order
                    data.mkdir()
                    processes.append(await _broken(order, guarded(SLEEP, remove=[data]), own.logs / order))
                if image:
                    argv = contained(f"groupproof-kit-{os.getpid()}", [image, "echo up; while :; do sleep 1; done"])
                    process = await BrokerProcess.start(Command(title="container", argv=argv, log=own.logs / "container", speaks=True))
                    processes.append(process)
                    await process.next_line()
                    await process.order("pause")
                shim = ShimProcess(fake("honest"))
                await nursery.start(shim.run)
                await shim.conversation.wait_for_hello()
                shim.signal(signal.SIGSTOP)
                print(own.data, flush=True)
                await trio.sleep_forever()
            finally:
                for broker_process in processes:
                    await broker_process.kill()


trio.run(main, Path(sys.argv[1]), sys.argv[2])
sys.exit(INTERRUPTED)
