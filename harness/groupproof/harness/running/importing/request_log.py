"""Reads a broker's request log (`kafka.request.logger` at DEBUG, `kafka-request.log`) as requests and responses of a trace. Pure.

A line is written after its answer has left. It has the request's duration, which gives the arrival time. Up to 2.6 a message is printed as a
struct (`structs.py`) with only the length of blobs; later as JSON, with blobs in base64. Of the APIs without a group, the trace keeps Metadata's
topics and the fact of a Fetch.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.log_lines import LogLine, log_lines
from groupproof.harness.running.importing.old_field_names import newest_request, newest_response
from groupproof.harness.running.importing.structs import parse_struct
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_conversion import GROUP_APIS
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["read_request_log"]

_READ: Final = GROUP_APIS | {Api.FIND_COORDINATOR, Api.METADATA, Api.FETCH, Api.CONSUMER_GROUP_HEARTBEAT}
_APIS: Final = {api.name: api for api in _READ}
_STRUCT: Final = re.compile(
    r"Completed request:\s?RequestHeader\(apiKey=(?P<api>\w+), apiVersion=(?P<version>\d+), clientId=(?P<client>.*?), correlationId=(?P<correlation>-?\d+)\) -- "
)
_TOLD_AFTER: Final = re.compile(r" from connection (?P<connection>\S+?);totalTime:(?P<total>[\d.]+)")
_BLOBS: Final = frozenset({"metadata", "assignment", "userData"})
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


def read_request_log(lines: Iterable[str]) -> Iterator[ImportedEvent]:
    """Yield a request and a response for each line of a group's request; lines that cannot be read are skipped."""
    reader = _Reader()
    for line in log_lines(line for line in lines if "Completed request:" in line):
        try:
            yield from reader.read(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


class _Reader:
    """Numbers the connections of one log in the order in which they appear."""

    def __init__(self) -> None:
        self._connections: dict[str, int] = {}

    def read(self, line: LogLine) -> Iterator[ImportedEvent]:
        at = line.message.index("Completed request:") + len("Completed request:")
        if line.message[at:].lstrip().startswith("{"):
            yield from self._json(line, json.loads(line.message[at:]))
        else:
            yield from self._struct(line)

    def _json(self, line: LogLine, fields: Mapping[str, Any]) -> Iterator[ImportedEvent]:
        header = fields["requestHeader"]
        api = _APIS.get(header["requestApiKeyName"])
        if api is not None:
            request = _snake(fields["request"]) if api is not Api.FETCH else {}
            response = _snake(fields["response"]) if api is not Api.FETCH else {}
            where = {"client": header["clientId"], "version": header["requestApiVersion"], "correlation": header["correlationId"]}
            yield from self._both(line, api, where, (fields["connection"], float(fields["totalTimeMs"])), request, response)

    def _struct(self, line: LogLine) -> Iterator[ImportedEvent]:
        found, after = _STRUCT.search(line.message), _TOLD_AFTER.search(line.message)
        api = _APIS.get(found["api"]) if found else None
        if found is None or after is None or api is None:
            return
        request: dict[str, Any] = {}
        response: dict[str, Any] = {}
        if api is not Api.FETCH:
            request, end = parse_struct(line.message[found.end() :])
            response, _ = parse_struct(line.message[found.end() + end :].removeprefix(",response:"))
        where = {"client": found["client"], "version": int(found["version"]), "correlation": int(found["correlation"])}
        yield from self._both(line, api, where, (after["connection"], float(after["total"])), request, response)

    def _both(
        self, line: LogLine, api: Api, where: Mapping[str, Any], took: tuple[str, float], asked: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Iterator[ImportedEvent]:
        connection, total_ms = took
        number = self._connections.setdefault(connection, len(self._connections) + 1)
        request, response = newest_request(api, asked), newest_response(api, answer)
        who, body = request_columns(api, request)
        columns = {**where, "connection": number, "api": api.title, "who": "coordinator", **who}
        yield ImportedEvent(at_ms=line.at_ms - total_ms, is_dated=line.is_dated, kind="request", columns={**columns, **body})
        yield ImportedEvent(
            at_ms=line.at_ms, is_dated=line.is_dated, kind="response", columns={**columns, **response_columns(api, request, response)}
        )


def _snake(value: Any, name: str = "") -> Any:
    """Return Kafka's JSON under the wire's field names, with blobs as bytes."""
    if isinstance(value, Mapping):
        return {_CAPITAL.sub("_", key).lower(): _snake(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_snake(item, name) for item in value]
    if name in _BLOBS and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            return b""
    return value
