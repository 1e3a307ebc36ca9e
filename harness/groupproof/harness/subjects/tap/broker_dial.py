"""Connects to a broker. Logs once that it is down and, when it is back, how many connections failed. The trace has each of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import Connect

__all__ = ["CONNECT_S_MAX", "BrokerDial", "BrokerUnreachable"]

CONNECT_S_MAX: Final = 15.0
"""Seconds within which the broker must accept a connection."""

_log = logging.getLogger(__name__)


class BrokerUnreachable(Exception):
    """The broker accepted no connection. `str()` says why."""


@dataclass(slots=True, eq=False)
class BrokerDial:
    """Opens connections to one broker. `refused` counts the failures since the last success. With `is_quiet` nothing is logged."""

    address: Address
    connect: Connect
    is_quiet: bool = False
    refused: int = 0

    async def __call__(self) -> trio.abc.Stream:
        """Return a connection. Raise `BrokerUnreachable`."""
        try:
            with trio.fail_after(CONNECT_S_MAX):
                stream = await self.connect(*self.address)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, BrokenEnvironment) as error:
            why = str(error) or "it does not answer"
            self.refused += 1
            if self.refused == 1:
                self._tell("the broker %s can't be reached: %s; clients' connections to it end until it is back", why)
            raise BrokerUnreachable(why) from error
        if self.refused:
            times = "one connection was" if self.refused == 1 else f"{self.refused} connections were"
            self._tell("the broker %s is back; meanwhile %s refused", times)
        self.refused = 0
        return stream

    def _tell(self, line: str, trouble: str) -> None:
        if not self.is_quiet:
            _log.warning(line, "{}:{}".format(*self.address), trouble)
