"""Plays a program that runs a cluster: says its addresses (or what its second argument says instead), and obeys `stop`."""

from __future__ import annotations

import json
import sys
from functools import partial

import trio

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, frame, read_request, write_response

PORTS: list[int] = []


def _answer(api: Api, own: int) -> dict[str, object]:
    if api is Api.API_VERSIONS:
        return {"api_keys": tuple({"api_key": int(api), "min_version": low, "max_version": high} for api, (low, high) in VERSIONS.items())}
    if api is Api.METADATA:
        return {"brokers": tuple({"node_id": node, "host": "127.0.0.1", "port": port} for node, port in enumerate(PORTS))}
    if api is Api.FIND_COORDINATOR:
        return {"coordinators": ({"key": "g", "node_id": 0, "host": "127.0.0.1", "port": PORTS[own]},)}
    return {"error_code": 25}


async def _serve(own: int, stream: trio.abc.Stream) -> None:
    framer = Framer()
    while data := await stream.receive_some():
        for item in framer.feed(bytes(data)):
            request = read_request(item)
            await stream.send_all(frame(write_response(request.api, request.version, request.correlation, _answer(request.api, own))))


async def main() -> None:
    brokers = json.loads(sys.argv[1])["brokers"]
    async with trio.open_nursery() as nursery:
        for own in range(brokers):
            listeners = await nursery.start(partial(trio.serve_tcp, partial(_serve, own), 0, host="127.0.0.1"))
            PORTS.append(listeners[0].socket.getsockname()[1])
        print(json.dumps({"addresses": [f"127.0.0.1:{port}" for port in PORTS], "version": "1.2"}), flush=True)
        while line := await trio.to_thread.run_sync(sys.stdin.readline):
            print("error it will not" if line == "stop 2\n" else line.strip().replace("stop", "stopped"), flush=True)
        nursery.cancel_scope.cancel()


if len(sys.argv) > 2:
    print(sys.argv[2], flush=True)
else:
    trio.run(main)
