"""The machine that a broker of the cluster runs on: it can stand still, be gone, or have a slow disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.protocol.vocabulary import Api

__all__ = ["WRITE_S", "BrokerHost"]

WRITE_S: Final = 0.5
"""Seconds that a slow disk takes for each append to the log."""

_APPENDING: Final = frozenset({Api.PRODUCE, Api.OFFSET_COMMIT, Api.TXN_OFFSET_COMMIT})


class BrokerHost:
    """Whole to begin with. What comes to one that stands still waits for it; one that is gone has no connections."""

    def __init__(self) -> None:
        self.is_up = True
        self._stands_still = False
        self._has_slow_disk = False
        self.is_whole = True
        self._changed = trio.Event()
        self._disk = trio.Lock()

    @property
    def runs(self) -> bool:
        """Whether time passes for what runs on it."""
        return self.is_up and not self._stands_still

    def pause(self) -> None:
        self._stands_still = True
        self._change()

    def kill(self) -> None:
        self.is_up = False
        self._change()

    def slow_down(self) -> None:
        """Let each append take `WRITE_S`, one after the other."""
        self._has_slow_disk, self.is_whole = True, False

    def mend(self) -> None:
        """Make it whole again."""
        self.is_up, self._stands_still, self._has_slow_disk = True, False, False
        self._change()

    def _change(self) -> None:
        self.is_whole = self.runs and not self._has_slow_disk
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Return at the next change of what it can do."""
        await self._changed.wait()

    async def ready(self, api: Api, body: Mapping[str, Any]) -> None:
        """Wait until a request can be taken up: while the machine stands still, and as long as what the request appends takes to be written."""
        await self.awake()
        if self._has_slow_disk and _appends(api, body):
            async with self._disk:
                await trio.sleep(WRITE_S)
            await self.awake()

    async def awake(self) -> None:
        """Wait while the machine stands still."""
        while self._stands_still:
            await self.changed()


def _appends(api: Api, body: Mapping[str, Any]) -> bool:
    """Tell whether a request is answered only when the log has it: of SyncGroups the leader's, with the assignment."""
    return api in _APPENDING or (api is Api.SYNC_GROUP and bool(body.get("assignments")))
