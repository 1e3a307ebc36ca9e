"""`museum.html`: the rows of the museum, each with the results of both releases, and `museum.json` beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import KitFailure
from groupproof.harness.model.museum_row import RowOutcome, RowState
from groupproof.harness.reports.meanings import VERDICTS
from groupproof.harness.reports.museum_outcomes import to_json, totals_of
from groupproof.harness.reports.output_folder import check_folder, write_text
from groupproof.harness.reports.pages.template_engine import render
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS
from groupproof.protocol.kit_release import release
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["PAGE", "REPORT", "STATE_COLOURS", "write_museum"]

PAGE: Final = "museum.html"
REPORT: Final = "museum.json"
STATE_COLOURS: Final = {RowState.STANDS: "ok", RowState.FALLS: "failed", RowState.UNDECIDED: "inconclusive", RowState.ABSENT: "soft"}


def write_museum(outcomes: Sequence[RowOutcome], output: Path) -> None:
    """Write both files into `output`. Raise `BrokenEnvironment` when that fails, and `KitFailure` when the JSON does not fit its schema."""
    value = to_json(outcomes)
    try:
        validate("museum-report", value)
    except SchemaError as error:
        raise KitFailure(f"the museum's report that would be written is not as its schema says: {error}") from error
    text = render(
        "museum.html.j2",
        halls=[(subject, list(group)) for subject, group in groupby(outcomes, key=lambda outcome: outcome.row.subject)],
        rows=outcomes,
        totals=totals_of(outcomes),
        colours=VERDICT_COLOURS,
        state_colours=STATE_COLOURS,
        meanings=VERDICTS,
        version=release(),
    )
    with check_folder(output):
        write_text(output / PAGE, text)
        write_text(output / REPORT, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
