"""The coverage of the catalogue as a document: witnesses by section, and the missing ones with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.rules.coverage import (
    READINGS,
    SIDES,
    Gap,
    binding_clients,
    binding_coordinators,
    cited,
    gaps,
    judged,
    listed,
    milder,
    unasked,
    unasked_milder,
    unjudged,
    witnesses,
)
from groupproof.protocol.rules.requirements import requirements

__all__ = ["coverage_markdown"]

_HEAD: Final = """\
# What of the catalogue is proven, and what is judged

{count} of {all} [requirements](requirements.md) have a **witness**: a test of groupproof's own that carries the requirement's id and fails if the rule is not met. So have {readings} of the {all_readings} [readings](../discrepancies.md) of sources
that contradict each other. That shows that groupproof keeps the rule. It does not show that a case finds a subject that breaks it.

{either} of {all} are **judged in a subject**: a finding of some case speaks of the requirement, {in_client} in a client, {in_coordinator} in a coordinator that is as Kafka 4.1. That a case lists a requirement does not count. {only_listed} more are listed by cases
of the coordinator's side. There the oracle compares each answer with the rules of the release: a coordinator that breaks one of them shows another answer, and the finding cites the row of the table that this answer breaks. {idle} are listed by client cases and judged
by none, {neither} are in no case.

The first count never falls: an id that loses its last witness fails `make check`. `groupproof list --coverage` prints the same, with the cases; `--json` names every witness and every case.
"""

_CLIENT_MUSTS: Final = """\
## Client-side MUSTs that no case judges

{judged} of {all} MUSTs that bind a client are judged by a case. Of the others, `unjudged.toml` says why.
"""

_COORDINATOR_MUSTS: Final = """\
## MUSTs of KIP-848's coordinators that no case asks

{asked} of {all} MUSTs that bind a coordinator of KIP-848's protocol are asked by a case, whose answers the oracle holds field by field. Of the others,
`unjudged_coordinators.toml` says why.
"""

_MILDER: Final = """\
## SHOULDs and INFOs of KIP-848 that no case asks

{asked} of {all} requirements of KIP-848's protocol that are no MUST, of either side, are judged or listed by a case. Of the others, `unjudged_milder.toml` says why.
"""


def coverage_markdown() -> str:
    """Return the counts by section, then the requirements that no case judges or that have no witness, by reason."""
    lines = [
        generated("witnesses.json, judged.json, unwitnessed.toml, unjudged.toml, unjudged_coordinators.toml and unjudged_milder.toml"),
        "",
        _HEAD.format(**_counts()),
    ]
    titles = ("section", "requirements", "with a witness", "judged in a client", "judged in a coordinator", "with a rule of the tables")
    lines += table(titles, _sections())
    bound = binding_clients()
    lines += [_CLIENT_MUSTS.format(judged=sum(name in judged()["client"] for name in bound), all=len(bound))]
    lines += _gaps(unjudged())
    lines += [_COORDINATOR_MUSTS.format(asked=len(binding_coordinators()) - sum(len(gap.ids) for gap in unasked()), all=len(binding_coordinators()))]
    lines += _gaps(unasked())
    lines += [_MILDER.format(asked=len(milder()) - sum(len(gap.ids) for gap in unasked_milder()), all=len(milder()))]
    lines += _gaps(unasked_milder())
    lines += ["## Without a witness", "", *(_gaps(gaps()) or ["Nothing.", ""])]
    return "\n".join(lines).rstrip() + "\n"


def _counts() -> dict[str, int]:
    ids = {requirement.id for requirement in requirements()}
    in_client, in_coordinator = (ids & judged()[side].keys() for side in SIDES)
    either = in_client | in_coordinator
    only_listed = listed()["coordinator"].keys() - either
    idle = listed()["client"].keys() - either - only_listed
    return {
        "all": len(ids),
        "count": len(ids & witnesses().keys()),
        "readings": len(witnesses().keys() & set(READINGS)),
        "all_readings": len(READINGS),
        "in_client": len(in_client),
        "in_coordinator": len(in_coordinator),
        "either": len(either),
        "only_listed": len(only_listed),
        "idle": len(idle),
        "neither": len(ids - either - only_listed - idle),
    }


def _sections() -> Iterator[tuple[str, ...]]:
    counted = (witnesses(), *(judged()[side] for side in SIDES), cited())
    for area, of_area in groupby(requirements(), key=lambda requirement: requirement.area):
        ids = {requirement.id for requirement in of_area}
        yield (area, str(len(ids)), *(str(len(ids & of.keys())) for of in counted))


def _gaps(gaps: Sequence[Gap]) -> list[str]:
    return [line for gap in gaps for line in (f"**{len(gap.ids)}, for want of {gap.needs}.** {gap.why}", "", _ids(gap), "")]


def _ids(gap: Gap) -> str:
    """Return the ids. Consecutive ids of a family become a range."""
    runs: list[list[str]] = []
    for id in gap.ids:
        if runs and _follows(id, runs[-1][-1]):
            runs[-1].append(id)
        else:
            runs.append([id])
    return ", ".join(_range(run) for run in runs)


def _follows(text: str, before: str) -> bool:
    (family, _, number), (earlier, _, last) = text.rpartition("-"), before.rpartition("-")
    return family == earlier and int(number) == int(last) + 1


def _range(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]} ({len(run)})" if len(run) > 4 else ", ".join(run)
