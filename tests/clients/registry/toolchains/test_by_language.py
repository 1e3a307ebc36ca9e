"""Each registered client's language has a toolchain, and each toolchain says what it needs."""

from __future__ import annotations

import pytest

from groupproof.clients.registry.registered_clients import RegisteredClient, registered
from groupproof.clients.registry.toolchains.by_language import TOOLCHAINS, toolchain_of

THIRD_PARTIES = [client for client in registered() if client.shim is not None]


@pytest.mark.parametrize("client", THIRD_PARTIES, ids=str)
def test_the_language_of_every_client_has_a_toolchain(client: RegisteredClient) -> None:
    assert toolchain_of(client.language).stem(client).endswith(("/" + str(client.package).rpartition(":")[2], "/" + client.name))


@pytest.mark.parametrize("language", TOOLCHAINS)
def test_every_program_of_a_toolchain_says_how_to_get_it(language: str) -> None:
    for tool in TOOLCHAINS[language].tools:
        assert tool.remedy.startswith("install ")
        assert tool.needed_for
