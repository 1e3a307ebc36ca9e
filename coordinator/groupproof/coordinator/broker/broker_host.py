"""The computer or process that a broker runs on: it can freeze, be killed, or have a slow disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.protocol.vocabulary import Api

__all__ = ["WRITE_S", "BrokerHost"]

WRITE_S: Final = 0.5
"""Seconds that a slow disk needs for each append to the log."""

_APPENDING: Final = frozenset({Api.PRODUCE, Api.OFFSET_COMMIT, Api.TXN_OFFSET_COMMIT})


class BrokerHost:
    """A broker host, undisturbed at first. Requests to a frozen host wait for it; a killed host has no connections."""

    def __init__(self) -> None:
        self.is_up = True
        self._stands_still = False
        self._has_slow_disk = False
        self.is_whole = True
        self._changed = trio.Event()
        self._disk = trio.Lock()

    @property
    def runs(self) -> bool:
        """Whether the host is up and not frozen."""
        return self.is_up and not self._stands_still

    def pause(self) -> None:
        self._stands_still = True
        self._change()

    def kill(self) -> None:
        self.is_up = False
        self._change()

    def slow_down(self) -> None:
        """Delay each append by `WRITE_S`, one after the other."""
        self._has_slow_disk, self.is_whole = True, False

    def mend(self) -> None:
        """Undo every disturbance."""
        self.is_up, self._stands_still, self._has_slow_disk = True, False, False
        self._change()

    def _change(self) -> None:
        self.is_whole = self.runs and not self._has_slow_disk
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Return at the next change of the host's state."""
        await self._changed.wait()

    async def ready(self, api: Api, body: Mapping[str, Any]) -> None:
        """Wait until a request can be processed: while the host is frozen, and for the request's append to a slow disk."""
        await self.awake()
        if self._has_slow_disk and _appends(api, body):
            async with self._disk:
                await trio.sleep(WRITE_S)
            await self.awake()

    async def awake(self) -> None:
        """Wait while the host is frozen."""
        while self._stands_still:
            await self.changed()


def _appends(api: Api, body: Mapping[str, Any]) -> bool:
    """Return whether a request is answered only after an append to the log. Of SyncGroups it is the leader's, with the assignment."""
    return api in _APPENDING or (api is Api.SYNC_GROUP and bool(body.get("assignments")))
