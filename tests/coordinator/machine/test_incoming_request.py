"""A request as it came: in which version it is answered."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest


@pytest.mark.parametrize(("is_refused", "version"), [(False, 9), (True, 0)])
def test_an_answer_has_the_requests_version_but_for_a_refused_api_versions(is_refused: bool, version: int) -> None:
    wire = WireRequest(api=Api.API_VERSIONS, version=9, correlation=1, client_id="c", body={})

    assert IncomingRequest(wire=wire, columns={}, is_refused=is_refused).answer_version == version
