"""Plays a broker that is up: answers ApiVersions, Metadata with the ports of its second argument, FindCoordinator and Heartbeat."""

from __future__ import annotations

import sys

import trio

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, frame, read_request, write_response

OWN, PORTS = int(sys.argv[1]), [int(part) for part in sys.argv[2].split(",")]


def _answer(api: Api) -> dict[str, object]:
    if api is Api.API_VERSIONS:
        return {"api_keys": tuple({"api_key": int(api), "min_version": low, "max_version": high} for api, (low, high) in VERSIONS.items())}
    if api is Api.METADATA:
        return {"brokers": tuple({"node_id": node, "host": "127.0.0.1", "port": port} for node, port in enumerate(PORTS))}
    if api is Api.FIND_COORDINATOR:
        return {"coordinators": ({"key": "g", "node_id": 0, "host": "127.0.0.1", "port": OWN},)}
    return {"error_code": 25}


async def _serve(stream: trio.abc.Stream) -> None:
    framer = Framer()
    while data := await stream.receive_some():
        for item in framer.feed(bytes(data)):
            request = read_request(item)
            await stream.send_all(frame(write_response(request.api, request.version, request.correlation, _answer(request.api))))


if sys.argv[3] == "down":
    print("INFO starting\nERROR the disk is full", flush=True)
    sys.exit(1)
if OWN:
    trio.run(trio.serve_tcp, _serve, OWN)
else:
    trio.run(trio.sleep_forever)
