from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.chaos.spark.load.load_server import LoadServerConfig
from groupproof.chaos.spark.load.load_server_process import running_load_server
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.error_search import trouble_in


def order(folder: Path, **options: Any) -> LoadServerConfig:
    return LoadServerConfig(**{"output": str(folder), "run": "r", "seed": 1, "topics": {"t": 2}, **options})


@pytest.mark.slow
def test_it_serves_while_it_is_wanted_and_then_ends(tmp_path: Path) -> None:
    failed: list[Mapping[str, Any]] = []

    async def main() -> int | None:
        async with running_load_server(order(tmp_path), failed.append) as server:
            await server.begin(0)
            async with await trio.open_tcp_stream(*server.bootstrap[0]):
                assert server.process.returncode is None
        return server.process.returncode

    assert trio.run(main) == 0
    assert failed == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"settings": {"no.such": 1}}, WrongUsage, "no.such"),
        ({"upstream": (("127.0.0.1", 1),)}, BrokenEnvironment, "127.0.0.1:1"),
    ],
)
def test_what_it_does_not_come_up_for_is_raised_here(tmp_path: Path, wrong: dict[str, Any], kind: type[Exception], message: str) -> None:
    async def main() -> None:
        async with running_load_server(order(tmp_path, **wrong), lambda _: None):
            raise AssertionError("it came up")

    with pytest.raises(BaseException) as raised:  # noqa: PT011 (a group around a trouble, which is looked into below)
        trio.run(main)

    error = trouble_in(raised.value)
    assert isinstance(error, kind)
    assert message in str(error)
