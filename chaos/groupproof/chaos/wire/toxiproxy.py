"""Faults by Toxiproxy: a proxy before an address, and toxics on the bytes that pass. The only importer of toxiproxy-python.

The library keeps the server's host and port in its class, and waits for answers without a limit. So calls run one at a time, in a thread, each with
its own server (`docs/decisions/`). Toxiproxy's own counters show whether a fault took effect and its cost.
"""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import requests
import toxiproxy
import trio
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.ports import LOOPBACK, kept_port
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Toxic

__all__ = ["Proxy", "Toxiproxy", "Traffic"]

_ANSWER_S: Final = 10.0
_UP_S: Final = 20.0
_COUNTER: Final = re.compile(r"^toxiproxy_proxy_(?P<way>sent|received)_bytes_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_lock: Final = threading.Lock()
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The bytes that one proxy received and sent, by stream, as Toxiproxy counts them."""

    received: Mapping[str, int]
    sent: Mapping[str, int]


class Toxiproxy:
    """One running server, by the address of its API. Every call raises `BrokenEnvironment` where the server does not answer or refuses."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    async def call(self, action: str, do: Callable[[], _Answer]) -> _Answer:
        """Run `do`, which uses the library, against this server; `action` describes it in an error."""

        def ours() -> _Answer:
            with _lock:
                APIConsumer.host, APIConsumer.port = self.host, self.port
                return do()

        try:
            with trio.fail_after(_ANSWER_S):
                return await trio.to_thread.run_sync(ours, abandon_on_cancel=True)
        except (requests.RequestException, NotFound, ProxyExists, InvalidToxic) as error:
            reason = error.args[0] if error.args else error
            raise BrokenEnvironment(f"Toxiproxy at {self.host}:{self.port} would not {action}: {_words(reason)}") from error
        except trio.TooSlowError:
            raise BrokenEnvironment(f"Toxiproxy at {self.host}:{self.port} did not {action} within {_ANSWER_S:g} s") from None

    async def version(self, is_over: Callable[[], bool] = lambda: False) -> str:
        """Wait until the server answers, and return its version; stop waiting if `is_over` returns True."""
        deadline = trio.current_time() + _UP_S
        while True:
            try:
                answer = await self.call("tell its version", lambda: APIConsumer.get("/version", timeout=_ANSWER_S))
                return str(answer.json().get("version", "unknown"))
            except (BrokenEnvironment, ValueError):
                if is_over() or trio.current_time() > deadline:
                    raise
                await trio.sleep(0.05)

    @asynccontextmanager
    async def proxy(self, name: str, upstream: str) -> AsyncIterator[Proxy]:
        """Proxy `upstream` (HOST:PORT) while the context lasts, on a loopback port that no other program gets while the proxy is down."""
        with kept_port() as port:
            async with self._proxy(name, upstream, f"{LOOPBACK}:{port}") as proxy:
                yield proxy

    @asynccontextmanager
    async def _proxy(self, name: str, upstream: str, listen: str) -> AsyncIterator[Proxy]:
        make = lambda: toxiproxy.Toxiproxy().create(upstream=upstream, name=name, listen=listen, enabled=True)  # noqa: E731 (one call)
        made = await self.call(f"open the proxy {name} on {listen}", make)
        try:
            yield Proxy(self, made)
        finally:
            with trio.CancelScope(shield=True):
                await self.call(f"close the proxy {name}", made.destroy)

    async def reset(self) -> None:
        """Heal everything: enable all proxies, and remove all faults."""
        await self.call("reset", lambda: toxiproxy.Toxiproxy().reset())

    async def traffic(self, name: str) -> Traffic:
        """Return Toxiproxy's counts of a proxy."""
        text = (await self.call("tell its metrics", lambda: APIConsumer.get("/metrics", timeout=_ANSWER_S))).text
        return _traffic(text, name)


class Proxy:
    """One proxy: its address, and the toxics on its connections."""

    def __init__(self, server: Toxiproxy, made: Any) -> None:
        self.name: str = made.name
        self._server, self._made = server, made

    @property
    def address(self) -> tuple[str, int]:
        """The address for clients."""
        host, _, port = str(self._made.listen).rpartition(":")
        return host.strip("[]"), int(port)

    @asynccontextmanager
    async def under(self, *toxics: Toxic) -> AsyncIterator[None]:
        """Let toxics act while the context lasts; remove them in any case."""
        added: list[Toxic] = []
        try:
            for impairment in toxics:
                await self.add(impairment)
                added.append(impairment)
            yield
        finally:
            with trio.CancelScope(shield=True):
                for impairment in added:
                    await self.remove(impairment)

    async def add(self, toxic: Toxic, name: str = "") -> None:
        """Add a toxic under `name`, or under one from its kind and stream, which is unique in a proxy."""
        attributes = {
            "type": toxic.kind, "name": name or toxic.name, "stream": toxic.stream, "toxicity": toxic.toxicity,
            "attributes": dict(toxic.attributes),
        }  # fmt: skip
        await self._server.call(f"add {attributes['name']} to {self.name}", lambda: self._made.add_toxic(**attributes))

    async def remove(self, toxic: Toxic, name: str = "") -> None:
        called = name or toxic.name
        await self._server.call(f"remove {called} from {self.name}", lambda: self._made.destroy_toxic(called))

    @asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """Cut every connection and accept none while the context lasts."""
        await self.disable()
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                await self.enable()

    async def disable(self) -> None:
        await self._server.call(f"take {self.name} down", self._made.disable)

    async def enable(self) -> None:
        await self._server.call(f"bring {self.name} up", self._made.enable)

    async def traffic(self) -> Traffic:
        return await self._server.traffic(self.name)


def _traffic(metrics: str, name: str) -> Traffic:
    counted: dict[str, dict[str, int]] = {"received": {UPSTREAM: 0, DOWNSTREAM: 0}, "sent": {UPSTREAM: 0, DOWNSTREAM: 0}}
    for match in _COUNTER.finditer(metrics):
        labels = dict(_LABEL.findall(match["labels"]))
        if labels.get("proxy") == name:
            counted[match["way"]][labels["direction"]] += int(float(match["value"]))
    return Traffic(received=counted["received"], sent=counted["sent"])


def _words(reason: object) -> str:
    return (reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)).strip()
