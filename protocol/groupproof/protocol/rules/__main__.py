"""`python -m groupproof.protocol.rules` writes the snapshots of every profile; with `--check` it only says which are not current."""

from __future__ import annotations

import sys

from groupproof.protocol.rules.table_snapshots import REMEDY, stale, write


def main(arguments: list[str]) -> int:
    """Return the exit code: 1 when `--check` found a snapshot that is not current."""
    if "--check" not in arguments:
        write()
        return 0
    for name in stale():
        sys.stderr.write(f"the snapshot {name} is not current; {REMEDY}\n")
    return int(bool(stale()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
