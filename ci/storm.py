"""The page about a storm, `docs/site/storm.md`, with its pictures: every command's real output, of what was recorded on an Apache Kafka 4.4.0.

Without arguments they are printed anew (`make docs`); `tests/ci/test_storm.py` holds them against what the commands say.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from click import Command
from click.testing import CliRunner

from groupproof.harness.commands import trace_explain, watch

__all__ = ["PAGE", "PICTURES", "page", "picture"]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "site" / "storm.md"
RECORDED: Final = PAGE.with_suffix(".ndjson.gz")
PICTURES: Final = {"storm-watch.svg": (), "storm-group.svg": ("--group", "payments")}
"""The pictures by their names, with what the command is given besides the recording."""

_EXPLAINED_LINES: Final = 8

_PAGE: Final = """<!-- Printed by `make docs`. Do not edit. -->

# A storm: from nothing to its cause in five commands

It is night, a group rebalances again and again, and there is nothing but the cluster's address: no frames, no broker's log. This page is what was done on an Apache Kafka 4.4.0 where somebody worked longer on a batch than
`max.poll.interval.ms` allows. What was recorded there [can be had](storm.ndjson.gz): all commands but the first two take it instead of an address.

## 1. Install

```console norun="needs another machine"
$ pip install groupproof
```

## 2. Which group?

Nothing is joined, committed or changed: of the cluster are asked ApiVersions, Metadata, ListOffsets and Fetch. The worst groups stand first. On a terminal the table is drawn anew every two seconds; `--svg FILE` makes this picture.

```console norun="needs another machine"
$ groupproof watch kafka-1:9092
```

![The table of all groups: payments in a storm of {rebalances} rebalances, and two groups that are well](images/storm-watch.svg)

## 3. Since when, and who?

```console norun="needs another machine"
$ groupproof watch kafka-1:9092 --once --group payments
```

![The history of the group: payments-3 is lost by its poll interval, comes back under a new id, and is lost again](images/storm-group.svg)

A cause is *certain* where the records leave no other, and *likely* otherwise, with what else would have left the same records ([how sure a cause is](watch.md#how-sure-a-cause-is)). Here one member, `payments-3`, is lost and comes back each time, while the others stay.
That its partitions were not committed for as long as its `max.poll.interval.ms` before it went, while its session was alive, is what tells a slow batch from a dead process.

## 4. Keep it

Compaction takes old records away. What is recorded stays, and can be looked at tomorrow, or sent to somebody.

```console norun="needs another machine"
$ groupproof watch kafka-1:9092 --once --record storm.ndjson
```

## 5. Why, and what to set

```console norun="needs another machine"
$ groupproof trace explain storm.ndjson --group payments
…
{explained}
…
```

So `payments-3` polls fewer records at a time, or has more time for a batch. What that would do to the group says [`groupproof rehearse`](rehearse.md), with the application's own settings. Whether it helped says the exit status of

```console norun="needs another machine"
$ groupproof watch kafka-1:9092 --until-stable payments --within 5m
```
"""


def _run(command: Command, *words: str) -> str:
    """Return what a command prints."""
    with contextlib.chdir(PAGE.parent):  # pictures name the file as the reader has it
        ran = CliRunner().invoke(command, list(words))
    assert ran.exception is None, ran.output
    return ran.stdout


def page() -> str:
    lines = _run(trace_explain.command, RECORDED.name, "--group", "payments").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  cause    poll-interval")) - 1
    summary = next(line for line in lines if " rebalances in " in line)
    return _PAGE.format(explained="\n".join(lines[first : first + _EXPLAINED_LINES]), rebalances=summary.split()[0])


def picture(name: str, folder: Path) -> str:
    """Have the command draw one of the pictures."""
    file = folder / name
    _run(watch.command, RECORDED.name, *PICTURES[name], "--svg", str(file))
    return file.read_text(encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    for name in PICTURES:
        picture(name, PAGE.parent / "images")
