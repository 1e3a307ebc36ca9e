"""One Toxiproxy for the tests of its faults, provisioned as a run does it, and a peer that answers every byte."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.chaos.wire.toxiproxy import Proxy, Toxiproxy
from groupproof.chaos.wire.toxiproxy_server import Program, provision_toxiproxy, running_toxiproxy
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.model.errors import BrokenEnvironment

Story = Callable[[Toxiproxy, Proxy], Coroutine[Any, Any, None]]


@pytest.fixture(scope="session")
def program() -> Program:
    try:
        return provision_toxiproxy(default_cache(), print, pulls=False)
    except BrokenEnvironment as error:
        pytest.skip(str(error))


async def echo(stream: trio.SocketStream) -> None:
    try:
        async for some in stream:
            await stream.send_all(some)
    except trio.BrokenResourceError:
        pass  # that is what a fault does


@pytest.fixture
def through(program: Program, tmp_path: Path) -> Callable[[Story], None]:
    """Return what runs a story with a proxy before an echo server."""

    async def whole(story: Story) -> None:
        async with trio.open_nursery() as nursery, running_toxiproxy(program, cache=tmp_path, logs=tmp_path, seed=1) as server:
            listeners = await nursery.start(partial(trio.serve_tcp, echo, 0, host="127.0.0.1"))
            port = listeners[0].socket.getsockname()[1]
            async with server.proxy("echo", f"127.0.0.1:{port}") as proxy:
                with trio.fail_after(60):
                    await story(server, proxy)
            nursery.cancel_scope.cancel()

    return lambda story: trio.run(whole, story)
