"""The columns of a request: who asked what, on which connection of which broker."""

from __future__ import annotations

from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker.described_requests import columns_of, described
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_request, write_request


@virtually
async def test_a_request_is_described_once_and_by_what_it_says() -> None:
    (broker,) = Cluster(brokers=1, recorder=Recorder(lambda: 0))._brokers
    wire = read_request(write_request(Api.HEARTBEAT, 4, 7, "c", {"group_id": "g", "generation_id": 2, "member_id": "m"}))
    columns, _ = columns_of(broker, 3, wire, 4)
    plain = described(broker, 3, IncomingRequest(wire, {}))

    assert (columns["connection"], columns["api"], columns["version"], columns["correlation"]) == (3, "Heartbeat", 4, 7)
    assert (columns["group"], columns["member"], columns["generation"]) == ("g", "m", 2)
    assert plain.columns == columns
    assert described(broker, 4, plain) is plain
