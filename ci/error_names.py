"""Write Kafka's error names into the shim libraries, each in its own language, from the one list of `groupproof.protocol.vocabulary`.

A shim is built and runs without the project, so that each library has the table itself; Java's takes it from Kafka's own jar. Run by `make docs`; with
`--check` nothing is written, and the exit status is 1 where a table is not current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.clients.registry.shim_libraries import LIBRARIES
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["TABLES", "ErrorTable", "main", "written"]

WIDTH: Final = 140
CODES: Final = tuple(code for code in ErrorCode if code is not ErrorCode.NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTable:
    """Where a library has its table: between the lines `begins` and `ends` of `path`, an `entry` for each code, so many in a line as fit."""

    path: Path
    begins: str
    ends: str
    entry: Callable[[ErrorCode], str]
    indent: str = "    "
    width: int = WIDTH

    def text(self) -> str:
        """Return the lines of the table."""
        lines: list[str] = []
        for code in CODES:
            entry = f"{self.entry(code)},"
            if lines and len(lines[-1]) + 1 + len(entry) <= self.width:
                lines[-1] += f" {entry}"
            else:
                lines.append(self.indent + entry)
        return "\n".join(lines)


TABLES: Final = (
    ErrorTable(path=LIBRARIES["c"] / "values.c", begins="} names[] = {\n", ends="\n};\n", entry=lambda code: f'{{{code.value}, "{code.name}"}}'),
    ErrorTable(
        path=LIBRARIES["go"] / "shim" / "errors.go",
        begins="var codeNames = map[int16]string{\n",
        ends="\n}\n",
        entry=lambda code: f'{code.value}: "{code.name}"',
        indent="\t",
    ),
    ErrorTable(
        path=LIBRARIES["node"] / "problems.mjs",
        begins="export const ERROR_NAMES = {\n",
        ends="\n}\n",
        entry=lambda code: f"{code.value}: '{code.name}'" if code >= 0 else f"'{code.value}': '{code.name}'",
        indent="  ",
    ),
    ErrorTable(
        path=LIBRARIES["python"] / "groupproof_shim" / "problems.py",
        begins="ERROR_NAMES: Final = {\n",
        ends="\n}  # fmt: skip\n",
        entry=lambda code: f'{code.value}: "{code.name}"',
    ),
    ErrorTable(
        path=LIBRARIES["rust"] / "src" / "problem.rs",
        begins="const NAMES: &[(i16, &str)] = &[\n",
        ends="\n];\n",
        entry=lambda code: f'({code.value}, "{code.name}")',
        width=0,  # one in a line, as rustfmt has it
    ),
)


def written(source: str, table: ErrorTable) -> str:
    """Return a source with its table as it is now; raise `ValueError` where it has no place for it."""
    before, begins, rest = source.partition(table.begins)
    _, ends, after = rest.partition(table.ends)
    if not begins or not ends:
        raise ValueError(
            f"{table.path.name} has lost the lines {table.begins.strip()} and {table.ends.strip()}, between which Kafka's errors are named"
        )
    return before + begins + table.text() + ends + after


def main(arguments: Sequence[str]) -> int:
    """Write the tables, or tell by `--check` which are not current."""
    stale = 0
    for table in TABLES:
        source = table.path.read_text("utf-8")
        new = written(source, table)
        if new == source:
            continue
        if "--check" in arguments:
            print(f"{table.path} does not name Kafka's errors as they are; run: make docs", file=sys.stderr)
            stale = 1
        else:
            table.path.write_text(new, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
