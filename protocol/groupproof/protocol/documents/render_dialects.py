"""The other dialects as documents, beside the classic one: one page for each, made from its table."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.documents.render_states import transition_lines
from groupproof.protocol.documents.render_tables import table_lines
from groupproof.protocol.rules.cells import state_name
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.rules.dialect_registry import dialects
from groupproof.protocol.rules.profiles import Profile, profile, profiles

__all__ = ["dialect_markdown", "dialect_pages", "dialects_beside_classic", "profile_that_speaks"]

_HEAD: Final = """\
# {title}, as {name} keeps it

The table of the dialect `{dialect}`. Each event kind has a cell in each state, and a cell has rows in an order. The first row whose condition holds is the rule. It gives the answer, has the effects, and moves the group to the state
under *then*; where that is empty, the group stays. A *parked* request is answered later, by the effect of another row. `none` is the state without a group.
"""


def dialects_beside_classic() -> dict[str, Dialect]:
    """Return the dialects with a page of this form, by page name."""
    return {f"{dialect.name}-group.md": dialect for dialect in dialects() if dialect is not CLASSIC}


def dialect_pages() -> dict[str, str]:
    """Return the pages by their file names."""
    return {name: dialect_markdown(dialect) for name, dialect in dialects_beside_classic().items()}


def profile_that_speaks(dialect: Dialect) -> Profile:
    """Return the newest Kafka release that speaks a dialect, or else the first of its relatives."""
    names = [*reversed(profiles()), *(relative.name for relative in dialect.relatives)]
    return next(found for name in names if dialect in (found := profile(name)).dialects)


def dialect_markdown(dialect: Dialect) -> str:
    """Return the states of a group of the dialect, its whole table, and the unreachable cells."""
    found = profile_that_speaks(dialect)
    rules = found.tables[dialect.name]
    head = _HEAD.format(title=dialect.group_says[0].upper() + dialect.group_says[1:], name=found.name, dialect=dialect.name)
    states = ((state_name(state), dialect.state_says[state]) for state in dialect.all_states)
    lines = [generated("protocol/…/rules/"), "", head, "## States", "", *table(("state", "what it is"), states)]
    lines += [*transition_lines(rules), *table_lines(rules)]
    return "\n".join(lines).rstrip() + "\n"
