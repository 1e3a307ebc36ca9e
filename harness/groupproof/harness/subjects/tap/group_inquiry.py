"""The one request that a tap sends itself: it asks for a group's own configs before its first KIP-848 heartbeat goes on (CGD-29 to CGD-40).

Nothing on the wire shows configs that were set before the tap started, and they decide when answers are due.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Connect, NoCommonVersion, asking
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["own_settings"]

_GROUP: Final = 32
_OWN_SOURCE: Final = 8
_ANSWER_S: Final = 5.0


async def own_settings(connect: Connect, address: Address, group: str) -> Mapping[str, Any]:
    """Return the group's own `settings`, or None with the reason why they are unknown."""
    body = {"resources": ({"resource_type": _GROUP, "resource_name": group, "configuration_keys": None},)}
    try:
        with trio.fail_after(_ANSWER_S):
            async with asking(await connect(*address)) as asker:
                (result,) = (await asker.ask(Api.DESCRIBE_CONFIGS, body))["results"]
    except (NoCommonVersion, trio.TooSlowError, *GONE) as error:
        return {"settings": None, "untold": str(error) or type(error).__name__}
    if result["error_code"]:
        return {"settings": None, "untold": f"DescribeConfigs answers {error_named(result['error_code'])}"}
    return {"settings": {config["name"]: config["value"] for config in result["configs"] if config["config_source"] == _OWN_SOURCE}}
