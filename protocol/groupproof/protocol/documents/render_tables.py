"""The protocol tables as documents: the coordinator's side and the member's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.rules.cells import AnswerName, EventKind, Row, State, state_name
from groupproof.protocol.rules.classic.member_reactions import REACTIONS, UNREACHABLE, Answer, Phase, Reaction, Reactions
from groupproof.protocol.rules.consumer.consumer_reactions import CONSUMER_REACTIONS
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.rules.profiles import Profile
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named

__all__ = ["answer_words", "effect_words", "epoch_member_markdown", "group_markdown", "member_markdown", "table_lines"]

_COLUMNS: Final = ("state", "rule", "when", "answer", "does", "then", "requirement")

_GROUP_HEAD = """\
# The classic group, as {name} keeps it

One table is the coordinator. Each event kind has a cell in each state, and a cell has rows in an order. The first row whose condition holds is the rule. It gives the answer, has the effects, and moves the group to the state
under *then*; where that is empty, the group stays. A *parked* request is answered later, by the effect of another row. `none` is the state without a group. [States](states.md) shows the states as a drawing, and which cells cannot come up.

One cell of another release: `groupproof explain SyncGroup/PreparingRebalance --profile kafka-2.4`. What older releases did otherwise: [releases](releases.md).
"""

_MEMBER_HEAD = """\
# The classic member, as the reference member keeps it

What a client does with each answer, by API and code; the newest Java client's way. Another client may do otherwise where the [requirement](requirements.md) leaves it open. A row that holds only in a phase says which: *joining* and
*syncing* while its own JoinGroup or SyncGroup is unanswered, *stale* when it has moved on since it asked. Effects happen in the order written.
"""


_EPOCH_MEMBER_HEAD = """\
# The member with an epoch (KIP-848), as the reference member keeps it

What a client does with each answer, by API and code; the newest Java client's way, as in [the classic member's table](classic-member.md). A row that holds only in a phase says which: *joining* while its join is unanswered, *stale*
when it has left or joined anew since it asked. To lose everything and to join again is Kafka's "fenced": the lost-callback runs, and the member joins at epoch 0 with the id that it has.
"""


def group_markdown(profile: Profile) -> str:
    """Return the table of `profile`."""
    lines = [generated("protocol/…/rules/classic/group_table.py"), "", _GROUP_HEAD.format(name=profile.name)]
    lines += table_lines(profile.table)
    return "\n".join(lines).rstrip() + "\n"


def table_lines(found: Table) -> Iterator[str]:
    """Yield the checks before the group, then a section for each event kind."""
    yield from ("## Before the group is looked at", "", *_before_group(found.before_group))
    for kind, states in found.cells.items():
        is_request = kind in found.dialect.requests
        rows = chain.from_iterable(_cell(state, cell, is_request=is_request) for state, cell in states.items())
        yield from (f"## {kind.value}", "", *table(_COLUMNS, rows))


def _before_group(checks: Mapping[EventKind, tuple[Row, ...]]) -> Iterator[str]:
    rows = (
        (kind.value, row.name, row.guard.value, answer_words(row, is_request=True), row.requirement) for kind, cell in checks.items() for row in cell
    )
    return table(("request", "rule", "when", "answer", "requirement"), rows)


def _cell(state: State, rows: Iterable[Row], *, is_request: bool) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one cell. Only the first has the state, so that the cells are visible."""
    for number, row in enumerate(rows):
        then = row.then.value if row.then else ""
        requirement = f"{row.requirement} ({row.note})" if row.note else row.requirement
        yield (
            "" if number else state_name(state),
            row.name,
            row.guard.value,
            answer_words(row, is_request=is_request),
            effect_words(row),
            then,
            requirement,
        )


def effect_words(row: Row) -> str:
    """Return the coordinator's effects in `row`, in order."""
    return "; ".join(effect.value for effect in (*row.effects, *row.after))


def answer_words(row: Row, *, is_request: bool) -> str:
    """Return the answer in `row`: an error code with its name, a form, or `parked`; empty for an event that is not a request."""
    if row.answer is None:
        return "parked" if is_request else ""
    return row.answer.value if isinstance(row.answer, AnswerName) else _code(row.answer)


def _code(code: int) -> str:
    return "0" if code == ErrorCode.NONE else f"{code} {error_named(code)}"


def member_markdown() -> str:
    """Return the reference member's reactions to every answer."""
    lines = [generated("protocol/…/rules/classic/member_reactions.py"), "", _MEMBER_HEAD, *_by_api(REACTIONS)]
    lines += ["## What cannot come up", "", *table(("answer to", "phase", "because"), _unreachable())]
    return "\n".join(lines).rstrip() + "\n"


def epoch_member_markdown() -> str:
    """Return the reactions of the reference member of KIP-848's protocol to every answer."""
    lines = [generated("protocol/…/rules/"), "", _EPOCH_MEMBER_HEAD, *_by_api(CONSUMER_REACTIONS)]
    return "\n".join(lines).rstrip() + "\n"


def _by_api(reactions: Mapping[Api, Reactions]) -> Iterator[str]:
    for api, rows in reactions.items():
        yield from (f"## {api.title}", "", *table(("answer", "phase", "does", "requirements"), _reactions(rows)))


def _reactions(reactions: Reactions) -> Iterator[tuple[str, ...]]:
    yield from (_reaction(_name(answer), None, reaction) for answer, reaction in reactions.rows.items())
    yield _reaction("any other", None, reactions.other)
    for phase in Phase:
        yield from (_reaction(_name(answer), phase, reaction) for answer, reaction in reactions.phases.get(phase, {}).items())
        if phase in reactions.phase_others:
            yield _reaction("any other", phase, reactions.phase_others[phase])


def _reaction(answer: str, phase: Phase | None, reaction: Reaction) -> tuple[str, ...]:
    return (answer, phase.value if phase else "", "; ".join(effect.value for effect in reaction.effects), ", ".join(reaction.requirements))


def _name(answer: Answer) -> str:
    return _code(answer) if isinstance(answer, int) else answer.value


def _unreachable() -> Iterator[tuple[str, ...]]:
    return ((api.title, phase.value, reason) for (api, phase), reason in UNREACHABLE.items())
