"""What the tests keep of a provoked run: the lines and frames that tell of groups, the others left out.

`python -m tests.harness.judging.diagnosis.trimming FOLDER RELEASE` reads what `provoked.py` left in FOLDER and writes `recorded/RELEASE`:

* `server-N.log`: what broker N says at INFO;
* `debug-N.log.gz`: its coordinator's lines at DEBUG and its request log;
* `wire.ndjson.gz`: the trace of the tap, in the same run;
* `client.log`: what the real clients say.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from groupproof.harness.running.importing.broker_log import read_broker_log
from groupproof.harness.running.importing.client_log import read_client_log
from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.request_log import read_request_log
from groupproof.protocol.trace import Observation, read_trace, write_trace

__all__ = ["RECORDED", "trim"]

RECORDED: Final = Path(__file__).parent / "recorded"

_GROUP_APIS: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator", "ConsumerGroupHeartbeat"})
_LEADING: Final = ("grown-a",)
_PROBING: Final = ("groupproof", "who-coordinates")


def trim(run: Path, kept: Path) -> None:
    """Write what is kept of `run`."""
    kept.mkdir(parents=True, exist_ok=True)
    for number, log in enumerate(sorted(run.glob("broker-*.log"))):
        lines = log.read_text("utf-8", "replace").splitlines(keepends=True)
        loud = [line for line in lines if " DEBUG " not in line and _tells(line)]
        (kept / f"server-{number}.log").write_text("".join(loud))
        quiet = [line for line in lines if " DEBUG " in line and _tells(line)]
        _pack(kept / f"debug-{number}.log.gz", [*quiet, *_thinned(lines)])
    with (run / "wire.ndjson").open() as trace:
        _pack(kept / "wire.ndjson.gz", (f"{line}\n" for line in write_trace(_frames(read_trace(trace)))))
    client = (run / "client.log").read_text("utf-8", "replace").splitlines(keepends=True)
    (kept / "client.log").write_text("".join(line for line in client if any(True for _ in read_client_log([line]))))


def _pack(file: Path, lines: Iterable[str]) -> None:
    file.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def _tells(line: str) -> bool:
    result = next(iter(read_broker_log([line])), None)
    return result is not None and result.columns["body"].get("topic") not in ("__consumer_offsets", "__transaction_state", "t", "u")


def _thinned(lines: Iterable[str]) -> Iterator[str]:
    """Yield the requests of groups but heartbeats that found nothing, one Fetch a client and second, and the Metadata of who waits for partitions."""
    seconds: set[tuple[str, int]] = set()
    for line in lines:
        entries = list(read_request_log([line]))
        if entries and _is_wanted(entries[-1], seconds):
            yield line


def _is_wanted(result: ImportedEvent, seconds: set[tuple[str, int]]) -> bool:
    api, client = result.columns["api"], str(result.columns["client"])
    if api == "Fetch":
        at = (client, int(result.at_ms // 1000))
        is_new = at not in seconds and not client.startswith(("broker-", "consumer-"))
        seconds.add(at)
        return is_new
    if api == "Metadata":
        return client in _LEADING
    return api in _GROUP_APIS and client not in _PROBING and (api != "Heartbeat" or bool(result.columns["error"]))


def _frames(trace: Iterable[Observation]) -> Iterator[Observation]:
    seconds: set[tuple[str, int]] = set()
    for obs in trace:
        if obs.api == "Fetch" and obs.kind == "request":
            at = (obs.client or "", int(obs.at_ms // 1000))
            if at not in seconds:
                yield obs
            seconds.add(at)
        elif obs.api == "Metadata":
            if obs.client in _LEADING:
                yield obs
        elif obs.api in _GROUP_APIS or (obs.api is None and obs.body.get("name") != "passed"):
            yield obs


if __name__ == "__main__":
    trim(Path(sys.argv[1]), RECORDED / sys.argv[2])
