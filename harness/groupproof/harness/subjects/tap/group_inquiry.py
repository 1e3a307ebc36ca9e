"""The one request that a tap sends itself: it asks for a group's own configs before its first KIP-848 heartbeat goes on (CGD-29 to CGD-40).

Nothing on the wire shows configs that were set before the tap started, and they decide when answers are due.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.harness.subjects.brokers.reported_settings import described_configs
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Connect, NoCommonVersion, asking
from groupproof.protocol.rules.consumer.group_configs import ConfigResource

__all__ = ["own_settings"]

_OWN_SOURCE: Final = 8
_ANSWER_S: Final = 5.0


async def own_settings(connect: Connect, address: Address, group: str) -> Mapping[str, Any]:
    """Return the group's own `settings`, or None with the reason why they are unknown."""
    try:
        with trio.fail_after(_ANSWER_S):
            async with asking(await connect(*address)) as asker:
                configs = await described_configs(asker, ConfigResource.GROUP, group)
    except (NoCommonVersion, trio.TooSlowError, *GONE) as error:
        return {"settings": None, "untold": str(error) or type(error).__name__}
    if isinstance(configs, str):
        return {"settings": None, "untold": configs}
    return {"settings": {config["name"]: config["value"] for config in configs if config["config_source"] == _OWN_SOURCE}}
