"""Prints `docs/chaos.md` from the code: how scenarios run, the shipped ones, and the format of scenario files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from groupproof.chaos.scenarios.member_names import WORDS, Cast
from groupproof.chaos.scenarios.scenario import COORDINATOR, DIALECTS, DURATIONS, SETTINGS
from groupproof.chaos.scenarios.scenario_expectations import SIGHTS
from groupproof.chaos.scenarios.scenario_faults import KINDS
from groupproof.chaos.scenarios.scenario_plan import ACTIONS
from groupproof.chaos.scenarios.scenario_waits import UNTIL
from groupproof.chaos.scenarios.shipped_scenarios import shipped

__all__ = ["page"]

_HEAD: Final = """\
# Chaos

Scenarios that a person starts with one command: something breaks, as it does on a bad day, then everything is healed, and the group has to settle
within a bound. While it breaks nothing illegal may be seen: the judges of every conformance case read the trace. Afterwards every member has to
be back and every partition owned exactly once. A scenario also says what must be seen of its faults; where that is not seen, or a fault left no
receipt, the run proves nothing and is INCONCLUSIVE.

```console
$ groupproof chaos list
$ groupproof chaos run slow-joiner                      # the reference pair, in virtual time
$ groupproof replay reports/chaos-*/cases/chaos/classic/slow-joiner/plan.json
$ groupproof chaos run --faults swarm --seed 7          # a plan drawn from the seed, some kinds of faults left out
```

```console soak="all of them, and brokers of their own" needs="network docker"
$ groupproof chaos run all
$ groupproof chaos run 'rolling-restart-*' --client kafka-python --coordinator apache-kafka@4.1.0
```

```console norun="needs a program of yours"
$ groupproof chaos run slow-joiner -- python my_shim.py # a client of one's own, as `certify client` takes it
```

Without `--client`, `--coordinator` and a program behind `--` it is the reference pair in virtual time: five minutes of `max.poll.interval.ms` take a
second, and the same seed gives the same trace. With any of them, everything goes over sockets in real time: client, Toxiproxy, tap, broker. Faults
on bytes are Toxiproxy's, faults on frames the tap's, faults of machines the broker's own process; what one run has armed is healed at its end,
whatever happened. Verdicts, exit codes, expectations and reports are those of `certify` (`docs/contract.md`): not to settle counts only when it is seen
three times of three, and only where the kit itself was in time. A scenario is the case `chaos/classic/NAME`, or `chaos/consumer/NAME` where its file
says `dialect = "consumer"`: its members speak KIP-848's protocol then, and those whose settings say `group_protocol = "classic"` are beside them in one
group. `groupproof chaos run 'chaos/consumer/*'` runs those. What the registered clients made of the classic ones is in [chaos-matrix.md](chaos-matrix.md). A drawn plan that fails is shrunk, to `shrunk.json` beside its report.
Each trace begins with the scenario that it is of: `groupproof trace check` judges it again by what that expected, wherever its file is by then.

Those are of groups of consumers. Relatives have scenarios of their own: `groupproof chaos datalink` (workers and Managers, in virtual time,
[site/datalink.md](site/datalink.md)), `groupproof chaos spark` (Spark's Kafka source, [site/spark.md](site/spark.md)) and `groupproof compare` (the consumer
on ZooKeeper beside the coordinator's, some members cut off or late, [site/zookeeper.md](site/zookeeper.md)).
"""

_FILE: Final = """\
## A scenario of one's own

```toml title="mine.toml"
title = "A crash while the network is slow"
story = "What an operator sees of it."
requirements = ["TRIG-03"]            # of docs/spec/requirements.md
members = 3                           # at least; --members says how many
partitions = 6
joiners = 1                           # members that come later; twin = true: one with the instance id of `one`

[settings]                            # of every member: the fields of the shim contract's subscribe
assignors = ["cooperative-sticky"]

[coordinator]                         # Kafka's broker settings
"group.initial.rebalance.delay.ms" = 0

[durations]                           # in virtual time, and on the wire
slow = { virtual = "800ms", wire = "200ms" }

[[phase]]
name = "slow"
faults = [{ name = "slow", kind = "slow", latency = "slow", who = "half" }]
actions = [{ do = "kill", who = "one" }, { do = "start", who = "joiner" }]
until = { settled = "others+joiner" }

[[phase]]                             # the last one heals
name = "healed"
converges_within = "bound"
members = "all+joiner"

[[expect]]
says = "The others rebalance."
sees = "generations"
who = "others"
each = true
during = "slow"
```

A phase arms its faults, does its actions one after the other, and waits: `until` something is seen, or `for` a while. Its faults end with it, or
with `lasts = true` at the healing. The healing mends, thaws, resumes and starts again whatever is not as it should be. An expectation with a
`requirement` is a rule, as severe as the requirement's level.

```console
$ groupproof chaos run mine.toml
```

```console soak="it starts clients" needs="network docker mvn"
$ groupproof chaos run mine.toml --client java --members 5
```
"""


def page() -> str:
    """Return the page; a test compares it with the committed copy."""
    parts = [_HEAD, _scenarios(), _FILE, _words(), _faults(), _rest()]
    return "\n".join(parts)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _scenarios() -> str:
    return f"## The {len(shipped())} scenarios\n\n" + "\n".join(_scenarios_of(dialect) for dialect in DIALECTS)


def _scenarios_of(dialect: str) -> str:
    found = [scenario for scenario in shipped() if scenario.dialect == dialect]
    rows = ((f"`{scenario.name}`", scenario.title, scenario.story, ", ".join(scenario.requirements)) for scenario in found)
    return f"### {len(found)} of the {dialect} protocol\n\n" + _table(("name", "what breaks", "story", "requirements"), rows)


def _words() -> str:
    cast = Cast.of(5, joiners=2, twin=True)
    rows = ((f"`{word}`", ", ".join(cast.named(word))) for word in WORDS)
    text = "Several words are joined by `+`. Of five members, two joiners and a twin they mean:\n\n"
    return f"### Who\n\n{text}" + _table(("word", "members"), rows)


def _faults() -> str:
    rows = ((f"`{name}`", kind.of, kind.says, _fields(kind.fields, kind.needs)) for name, kind in KINDS.items())
    return "### Faults\n\n" + _table(("kind", "of", "what it does", "fields (bold: needed)"), rows)


def _fields(fields: Iterable[str], needs: Iterable[str] = ()) -> str:
    needed = set(needs)
    return ", ".join(f"**{name}**" if name in needed else name for name in sorted(fields, key=lambda name: (name not in needed, name)))


def _rest() -> str:
    return "\n".join(_lists())


def _lists() -> Iterator[str]:
    yield "### Actions\n"
    yield _table(("do", "fields"), ((f"`{name}`", _fields(fields)) for name, (fields, _) in ACTIONS.items()))
    yield "### What can be waited for\n"
    yield _table(("until", "fields beside it"), ((f"`{name}`", _fields(fields | {"within"})) for name, (fields, _) in UNTIL.items()))
    yield "### What can be expected\n"
    yield _table(("sees", "fields that it needs"), ((f"`{name}`", _fields(fields, fields)) for name, (fields, _) in SIGHTS.items()))
    yield "### Durations that there always are\n"
    rows = ((f"`{name}`", _time(duration.virtual_ms), _time(duration.wire_ms)) for name, duration in DURATIONS.items())
    yield _table(("name", "virtual", "wire"), rows)
    text = ", ".join(f"`{name}` = {value}" for name, value in SETTINGS.items())
    yield f"Unless a scenario says otherwise, members have {text}.\n"
    for dialect, settings in COORDINATOR.items():
        if settings:
            text = ", ".join(f"`{name}` = {value}" for name, value in settings.items())
            yield f"In the {dialect} protocol the times are the coordinator's: {text}.\n"


def _time(ms: int) -> str:
    return f"{ms / 1000:g} s"
