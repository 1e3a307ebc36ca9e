"""The tables of the spec as documents: the coordinator's side with a diagram, what older releases did otherwise, and the member's side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from groupproof.protocol.markdown import generated, table
from groupproof.protocol.spec.admin_releases import ADMIN_DELTAS
from groupproof.protocol.spec.classic_member import REACTIONS, Answer, Phase, Reaction, Reactions
from groupproof.protocol.spec.deltas import Change, Delta
from groupproof.protocol.spec.profiles import Profile, unreachable
from groupproof.protocol.spec.releases import DELTAS
from groupproof.protocol.spec.terms import REQUESTS, Effect, Form, On, Row, State, state_name
from groupproof.protocol.vocabulary import ErrorCode, error_named

__all__ = ["group_dot", "group_markdown", "member_markdown"]

_COLUMNS: Final = ("state", "rule", "when", "answer", "does", "then", "requirement")

_GROUP_HEAD = """\
# The classic group, as {name} keeps it

One table is the coordinator. For each input and state, rows are asked in order; the first whose condition holds is the rule: it gives the answer, has the effects, and moves the group to the state under *then* (empty:
it stays). A *parked* request is answered later, by the effect of another row. `none` is the state without a group. What older releases did otherwise stands [at the end](#what-older-releases-did-otherwise).

{diagram}
"""

_MEMBER_HEAD = """\
# The classic member, as the reference member keeps it

What a client does with each answer, by API and code; the newest Java client's way. Another client may do otherwise where the [requirement](requirements.md) leaves it open. A row that holds only in a phase says which: *joining* and
*syncing* while its own JoinGroup or SyncGroup is unanswered, *stale* when it has moved on since it asked. Effects happen in the order written.
"""


def group_markdown(profile: Profile) -> str:
    """Return the table of `profile`, its unreachable cells, and the deltas of older releases."""
    lines = [generated("spec/classic_group.py"), "", _GROUP_HEAD.format(name=profile.name, diagram="\n".join(_mermaid(profile)))]
    lines += ["## Before the group is looked at", "", *_before_group(profile.before_group)]
    for on, states in profile.cells.items():
        lines += [f"## {on.value}", "", *table(_COLUMNS, chain.from_iterable(_cell(on, state, cell) for state, cell in states.items()))]
    lines += ["## What cannot come up", "", "To meet one of these is a fault of the machine, never of a peer.", "", *_unreachable()]
    lines += ["## What older releases did otherwise", "", *chain.from_iterable(_delta(delta) for delta in (*DELTAS, *ADMIN_DELTAS))]
    return "\n".join(lines).rstrip() + "\n"


def _before_group(checks: Mapping[On, tuple[Row, ...]]) -> Iterator[str]:
    rows = ((on.value, row.name, row.guard.value, _answer(on, row), row.requirement) for on, cell in checks.items() for row in cell)
    return table(("request", "rule", "when", "answer", "requirement"), rows)


def _cell(on: On, state: State, rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one cell; the state stands once, so that the cells are seen."""
    for number, row in enumerate(rows):
        then = row.then.value if row.then else ""
        does = "; ".join(effect.value for effect in (*row.effects, *row.after))
        requirement = f"{row.requirement} ({row.note})" if row.note else row.requirement
        yield ("" if number else state_name(state), row.name, row.guard.value, _answer(on, row), does, then, requirement)


def _answer(on: On, row: Row) -> str:
    if row.answer is None:
        return "parked" if on in REQUESTS else ""
    return row.answer.value if isinstance(row.answer, Form) else _code(row.answer)


def _code(code: int) -> str:
    return "0" if code == ErrorCode.NONE else f"{code} {error_named(code)}"


def _unreachable() -> Iterator[str]:
    return table(("input", "state", "because"), ((on.value, state_name(state), reason) for (on, state), reason in unreachable().items()))


def _delta(delta: Delta) -> Iterator[str]:
    since = ".".join(map(str, delta.since))
    yield from (f"### Before {since}", "", f"{since} brought: {delta.what}. Before:", "")
    yield from (f"- {_change(change)}" for change in delta.was)
    for on, checks in delta.before_group.items():
        yield f"- {on.value}, before the group is looked at: {', then '.join(f'{check.guard.value} → {_answer(on, check)}' for check in checks)}."
    yield from (f"- Everywhere: {_instead(effect, was)}" for effect, was in delta.effects.items())
    yield from (f"- Everywhere: in place of “{guard.value}”, “{was.value}”." for guard, was in delta.guards.items())
    yield from (f"- {on.value} in {state_name(state)} could not come up: {reason}." for (on, state), reason in delta.unreachable.items())
    yield from (f"- `{name}` was {value}." for name, value in delta.fields.items())
    yield from (f"- {on.value} of which the log refuses the record: {_appends(answers)}." for on, answers in delta.appends.items())
    yield ""


def _appends(answers: Mapping[int, int]) -> str:
    return ", ".join(f"{error_named(log)} → {_code(told)}" for log, told in answers.items())


def _change(change: Change) -> str:
    where = f"{change.on.value} in {', '.join(state_name(state) for state in change.states)}"
    what = "the whole cell" if change.name is None else f"`{change.name}`"
    if change.effects:
        return f"{where}, {what}: {' '.join(_instead(effect, was) for effect, was in change.effects.items())}"
    rows = "; ".join(f"{row.guard.value} → {_answer(change.on, row)} ({row.requirement})" for row in change.rows)
    return f"{where}: in place of {what}, {rows}." if rows else f"{where}: no {what}."


def _instead(effect: Effect, was: tuple[Effect, ...]) -> str:
    others = "; ".join(each.value for each in was)
    return f"in place of “{effect.value}”, “{others}”." if others else f"no “{effect.value}”."


def _moves(profile: Profile) -> dict[tuple[str, str], list[str]]:
    """Return the rules that move the group, by the states they move it between."""
    moves: dict[tuple[str, str], list[str]] = {}
    for on, state, row in profile.rules():
        if row.then is not None and row.then is not state:
            moves.setdefault((state_name(state), row.then.value), []).append(f"{on.value}/{row.name}")
    return moves


def _mermaid(profile: Profile) -> Iterator[str]:
    yield from ("```mermaid", "stateDiagram-v2")
    for (before, after), rules in _moves(profile).items():
        inputs = dict.fromkeys(rule.partition("/")[0] for rule in rules)
        yield f"    {'[*]' if before == 'none' else before} --> {after}: {', '.join(inputs)}"
    yield "```"


def group_dot(profile: Profile) -> str:
    """Return the states of `profile` as a Graphviz graph; an edge carries the names of the rules that move the group along it."""
    lines = [f'digraph "{profile.name}" {{', "    // Generated by `make docs`. Do not edit.", "    rankdir=LR; node [shape=box, style=rounded];"]
    for (before, after), rules in _moves(profile).items():
        label = "\\l".join(rules)
        lines.append(f'    "{before}" -> "{after}" [label="{label}\\l"];')
    return "\n".join([*lines, "}"]) + "\n"


def member_markdown() -> str:
    """Return what the reference member does with every answer."""
    lines = [generated("spec/classic_member.py"), "", _MEMBER_HEAD]
    for api, reactions in REACTIONS.items():
        lines += [f"## {api.title}", "", *table(("answer", "phase", "does", "requirements"), _reactions(reactions))]
    return "\n".join(lines).rstrip() + "\n"


def _reactions(reactions: Reactions) -> Iterator[tuple[str, ...]]:
    yield from (_reaction(_name(answer), None, each) for answer, each in reactions.rows.items())
    yield _reaction("any other", None, reactions.other)
    for phase in Phase:
        yield from (_reaction(_name(answer), phase, each) for answer, each in reactions.phases.get(phase, {}).items())
        if phase in reactions.phase_others:
            yield _reaction("any other", phase, reactions.phase_others[phase])


def _reaction(answer: str, phase: Phase | None, each: Reaction) -> tuple[str, ...]:
    return (answer, phase.value if phase else "", "; ".join(effect.value for effect in each.effects), ", ".join(each.requirements))


def _name(answer: Answer) -> str:
    return _code(answer) if isinstance(answer, int) else answer.value
