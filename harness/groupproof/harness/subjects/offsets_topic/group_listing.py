"""Asks a cluster about its groups: the session timeout of the newer protocols, and each group's current state. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.reported_settings import reported_settings
from groupproof.harness.subjects.networks.broker_address import Address, bootstrap_of
from groupproof.harness.subjects.networks.request_connection import GONE, Connect, NoCommonVersion, asking
from groupproof.protocol.vocabulary import Api

__all__ = ["ADMIN_ASKED", "consumer_session_ms", "group_states"]

ADMIN_ASKED: Final = (Api.DESCRIBE_CONFIGS, Api.LIST_GROUPS)
"""The APIs used besides Metadata."""

_SESSION: Final = "group.consumer.session.timeout.ms"
_CLIENT_ID: Final = "groupproof-watch"


async def consumer_session_ms(connect: Connect, address: Address) -> int | None:
    """Return the session timeout (ms) of the consumer protocol. Return None where a broker lacks the protocol or does not report it."""
    settings = await reported_settings(connect, address)
    session = None if isinstance(settings, str) else settings.get(_SESSION)
    return None if session is None else int(session)


async def group_states(connect: Connect, bootstrap: Sequence[Address]) -> dict[str, str]:
    """Return the state of each group, asking every broker, because only its coordinator lists a group. Releases before 2.6 list no states. Raise
    `BrokenEnvironment`."""
    try:
        async with asking(await connect(*bootstrap[0]), client_id=_CLIENT_ID) as asker:
            brokers = (await asker.ask(Api.METADATA, {"topics": ()}, newest=8))["brokers"]
        states: dict[str, str] = {}
        for broker in brokers:
            async with asking(await connect(broker["host"], broker["port"]), client_id=_CLIENT_ID) as asker:
                listed = (await asker.ask(Api.LIST_GROUPS, {}))["groups"]
            states |= {group["group_id"]: group["group_state"] for group in listed if group.get("group_state")}
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"the groups of {bootstrap_of(bootstrap)} can't be listed: {str(error) or type(error).__name__}") from error
    return states
