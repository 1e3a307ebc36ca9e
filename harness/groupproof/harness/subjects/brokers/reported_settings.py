"""The effective settings of a broker, as far as it reports them. Requested settings that do not hold are named, so that no case is judged by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, Connect, NoCommonVersion, asking
from groupproof.protocol.rules.consumer.group_configs import ConfigResource
from groupproof.protocol.vocabulary import Api, error_named

__all__ = ["described_configs", "reported_settings", "unmet_among", "unmet_by"]


async def reported_settings(connect: Connect, address: Address) -> Mapping[str, str | None] | str:
    """Return a broker's settings by their dotted names, or the reason why it does not report them."""
    try:
        async with asking(await connect(*address)) as asker:
            node = _node_at(await asker.ask(Api.METADATA, {"topics": ()}, newest=8), address)
            configs = await described_configs(asker, ConfigResource.BROKER, str(node))
    except (NoCommonVersion, *GONE) as error:
        return str(error) or type(error).__name__
    return configs if isinstance(configs, str) else {config["name"]: config["value"] for config in configs}


async def described_configs(asker: Asker, resource: ConfigResource, name: str) -> Sequence[Mapping[str, Any]] | str:
    """Return the configs of a broker or a group by DescribeConfigs, or the error that it answers; raise one of `GONE`, or `NoCommonVersion`."""
    body = {"resources": ({"resource_type": resource.value, "resource_name": name, "configuration_keys": None},)}
    (result,) = (await asker.ask(Api.DESCRIBE_CONFIGS, body))["results"]
    if result["error_code"]:
        return f"DescribeConfigs answers {error_named(result['error_code'])}"
    configs: Sequence[Mapping[str, Any]] = result["configs"]
    return configs


def _node_at(metadata: Mapping[str, Any], address: Address) -> int:
    """Return the node at an address; any node for a name that no broker advertises."""
    brokers = metadata["brokers"]
    named = [broker["node_id"] for broker in brokers if (broker["host"], broker["port"]) == address]
    return int(named[0] if named else brokers[0]["node_id"])


def unmet_among(asked: Mapping[str, Any], settings: Mapping[str, str | None] | str) -> dict[str, str]:
    """Return the `asked` settings that do not hold, each with the reason."""
    if isinstance(settings, str):
        return {name: f"the broker does not report its settings: {settings}" for name in asked}
    unmet: dict[str, str] = {}
    for name, value in asked.items():
        # A broker lists a setting that it was given and does not know as a secret.
        if settings.get(name) is None:
            unmet[name] = "the broker lists no such setting"
        elif settings[name] != _describe(value):
            unmet[name] = f"the broker has {settings[name]}, {_describe(value)} is needed"
    return unmet


async def unmet_by(connect: Connect, address: Address, asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the `asked` settings that the broker at `address` does not have, each with the reason."""
    return unmet_among(asked, await reported_settings(connect, address)) if asked else {}


def _describe(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
