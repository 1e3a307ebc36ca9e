"""The states of a group as documents: each state, the transitions, the events in each state, and a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import hypot
from typing import Final
from xml.sax.saxutils import escape

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.rules.cells import EventKind, State, state_name
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_states import STATES
from groupproof.protocol.rules.classic.classic_terms import Effect
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.rules.profiles import Profile
from groupproof.protocol.vocabulary import GroupState

__all__ = ["moves", "states_markdown", "states_svg", "transition_lines"]

_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = GroupState

_HEAD: Final = """\
# The states of a classic group, as {name} keeps it

![The states, and the inputs that move a group from one to another](states.svg)

The rules behind each arrow are in [the table](classic-group.md); how older releases differ is in [releases](releases.md).
"""


def moves(table: Table) -> dict[tuple[State, StrEnum], list[str]]:
    """Return the rules that move a group, by previous and next state. A classic group that is created without a member starts as Empty."""
    found: dict[tuple[State, StrEnum], list[str]] = {}
    for kind, state, row in table.rules():
        is_made = state is None and Effect.CREATE_GROUP in row.effects
        then = row.then or (_EMPTY if is_made else None)
        if then is not None and then is not state:
            found.setdefault((state, then), []).append(f"{kind.value}/{row.name}")
    return found


def states_markdown(profile: Profile) -> str:
    """Return the states, the transitions between them, and the possible events in each state."""
    lines = [generated("protocol/…/rules/classic/group_table.py"), "", _HEAD.format(name=profile.name)]
    lines += ["## States", "", *table(("state", "what it is"), ((state_name(state), says) for state, says in CLASSIC.state_says.items()))]
    lines += transition_lines(profile.table)
    return "\n".join(lines).rstrip() + "\n"


def transition_lines(found: Table) -> Iterator[str]:
    """Yield the transitions of a table, then the possible events in each state, and the reasons why others are impossible."""
    rows = ((state_name(before), after.value, ", ".join(rules)) for (before, after), rules in moves(found).items())
    yield from ("## Transitions", "", *table(("from", "to", "by"), rows))
    yield from (
        "## States and inputs",
        "",
        "The rules of each cell; an empty cell cannot occur, which the machine asserts. The reason is below.",
        "",
    )
    states = found.dialect.all_states
    yield from table(("input", *map(state_name, states)), (_inputs(found, kind, states) for kind in found.dialect.events))
    yield from _impossible(found)


def _inputs(found: Table, kind: EventKind, states: tuple[State, ...]) -> tuple[str, ...]:
    cells = found.cells.get(kind, {})
    return (kind.value, *(", ".join(row.name for row in cells.get(state, ())) for state in states))


def _impossible(found: Table) -> Iterator[str]:
    """Yield the reasons for unreachable cells, each with its events and states."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for (kind, state), reason in found.unreachable.items():
        reasons.setdefault(reason, {}).setdefault(kind.value, []).append(state_name(state))
    rows = ((event, ", ".join(states), reason) for reason, events in reasons.items() for event, states in events.items())
    yield from ("## What cannot come up", "", *table(("input", "states", "because"), rows))


# The drawing: every state has its place. The curve of every pair of states bows to the right of its direction, so that the two directions do not
# overlap.


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float

    def towards(self, other: _Point, share: float) -> _Point:
        return _Point(self.x + (other.x - self.x) * share, self.y + (other.y - self.y) * share)


_PLACES: Final[Mapping[State, _Point]] = {
    None: _Point(130, 70), _EMPTY: _Point(130, 360), _PREPARING: _Point(520, 210), _COMPLETING: _Point(1000, 70), _STABLE: _Point(1000, 400),
    _DEAD: _Point(760, 600),
}  # fmt: skip
_SIZE: Final = _Point(190, 46)
_BOW: Final = 34
_LINE: Final = 15
_WIDTH, _HEIGHT = 1120, 650

_STYLE: Final = """\
<style>
svg { font: 13px system-ui, sans-serif; background: #fff }
rect.state { fill: #eef3f8; stroke: #34557a } text.state { font-weight: 600; fill: #16324f; text-anchor: middle }
rect.none { fill: #fff; stroke-dasharray: 4 3 } path { fill: none; stroke: #5b6b7b; stroke-width: 1.4 } path.end { fill: #5b6b7b }
rect.behind { fill: #fff; opacity: .9 } text.move { fill: #333; text-anchor: middle }
</style>
<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path class="end" d="M0 0 10 5 0 10z"/></marker></defs>
"""


def states_svg(profile: Profile) -> str:
    """Return the states and transitions of `profile` as SVG. An arrow's label has the events that move a group along it."""
    found = moves(profile.table)
    title = f"The states of a classic group, as {profile.name} keeps it"
    drawn = [*(_arrow(*ends) for ends in found), *map(_box, STATES), *(_label(*ends, _inputs_of(rules)) for ends, rules in found.items())]
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="{escape(title)}">\n'
        f"<!-- Generated by `make docs`. Do not edit. -->\n<title>{escape(title)}</title>\n{_STYLE}{body}\n</svg>\n"
    )


def _inputs_of(rules: list[str]) -> list[str]:
    return list(dict.fromkeys(rule.partition("/")[0] for rule in rules))


def _box(state: State) -> str:
    at, kind = _PLACES[state], "state none" if state is None else "state"
    rect = f'<rect class="{kind}" x="{at.x - _SIZE.x / 2:g}" y="{at.y - _SIZE.y / 2:g}" width="{_SIZE.x}" height="{_SIZE.y}" rx="9"/>'
    return f'{rect}<text class="state" x="{at.x:g}" y="{at.y + 5:g}">{"no group" if state is None else state_name(state)}</text>'


def _bend(before: State, after: State) -> _Point:
    """Return the control point of the curve between two states."""
    start, end = _PLACES[before], _PLACES[after]
    middle, length = start.towards(end, 0.5), hypot(end.x - start.x, end.y - start.y)
    return _Point(middle.x - (end.y - start.y) / length * 2 * _BOW, middle.y + (end.x - start.x) / length * 2 * _BOW)


def _border(state: State, towards: _Point) -> _Point:
    """Return the point where the line from a state's middle to `towards` crosses its box."""
    at = _PLACES[state]
    across, down = abs(towards.x - at.x) / (_SIZE.x / 2 + 3), abs(towards.y - at.y) / (_SIZE.y / 2 + 3)
    return at.towards(towards, 1 / max(across, down))


def _arrow(before: State, after: StrEnum) -> str:
    bend = _bend(before, after)
    start, end = _border(before, bend), _border(after, bend)
    return f'<path d="M{start.x:.0f} {start.y:.0f}Q{bend.x:.0f} {bend.y:.0f} {end.x:.0f} {end.y:.0f}" marker-end="url(#end)"/>'


def _label(before: State, after: StrEnum, inputs: list[str]) -> str:
    """Return the events as lines of text around the middle of their arrow."""
    bend, along = _bend(before, after), 0.62 if after is _DEAD else 0.5  # arrows to Dead cross others half-way
    start, end = _border(before, bend), _border(after, bend)
    at = start.towards(bend, along).towards(bend.towards(end, along), along)
    top, width = at.y - len(inputs) * _LINE / 2, max(map(len, inputs)) * 7.2
    lines = "".join(f'<tspan x="{at.x:.0f}" y="{top + _LINE * (number + 0.8):.0f}">{escape(input_)}</tspan>' for number, input_ in enumerate(inputs))
    behind = f'<rect class="behind" x="{at.x - width / 2:.0f}" y="{top:.0f}" width="{width:.0f}" height="{len(inputs) * _LINE}"/>'
    return f'{behind}<text class="move">{lines}</text>'
