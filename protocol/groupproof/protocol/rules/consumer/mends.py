"""Known bugs of Kafka's releases, which the tables follow. A coordinator without one is correct by KIP-848.

Each is a field that no release sets. Where it is set, in a profile mixed for that (`profiles.mixed`), the machine does without the bug, or the table
is without the rows that are the bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupproof.protocol.rules.dialect import Table

__all__ = ["MENDED", "MENDED_ROWS", "MENDS", "mended", "mends_of"]

MENDED: Final = "a release without the bug"
"""The other profile's name in a mixed profile whose part no release has."""

MENDS: Final[Mapping[str, str]] = {
    "upgrade_begins_at_1": "CGG-11",  # a group that is upgraded at generation 0 begins at 1, as a new one does (docs/findings/kafka-group-at-epoch-0.md)
    "target_by_own_subscriptions": "CGA-05",  # a target is computed by the own subscription of each member (docs/findings/kafka-target-of-a-join-without-topics.md)
    "downgrade_needs_no_target": "CGG-52",  # a group is downgraded though a member is in no target yet (docs/findings/kafka-downgrade-without-a-target.md)
}
"""The requirement that a coordinator without the bug keeps, by the field."""

MENDED_ROWS: Final[Mapping[str, str]] = {"downgrade_needs_no_target": "target-missing"}
"""The name of the rows that are the bug, by the field. A release without them does not have the bug."""


def mends_of(table: Table) -> list[str]:
    """Return the mends of the bugs that a table has."""
    rows = {row.name for _, _, row in table.rules()}
    return [mend for mend in MENDS if mend not in table.fields and (mend not in MENDED_ROWS or MENDED_ROWS[mend] in rows)]


def mended(table: Table, mend: str) -> Table:
    """Return the table without a bug."""
    fields, name = {**table.fields, mend: 1}, MENDED_ROWS.get(mend)
    if name is None:
        return replace(table, fields=fields)
    cells = {kind: {state: tuple(row for row in cell if row.name != name) for state, cell in states.items()} for kind, states in table.cells.items()}
    return replace(table, fields=fields, cells=cells)
