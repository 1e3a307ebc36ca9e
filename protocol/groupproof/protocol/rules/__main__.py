"""`python -m groupproof.protocol.rules` writes the snapshots of every profile. With `--check` it only lists the outdated ones."""

from __future__ import annotations

import sys

from groupproof.protocol.rules.table_snapshots import REMEDY, stale, write


def main(arguments: list[str]) -> int:
    """Return the exit code: 1 where `--check` found an outdated snapshot."""
    if "--check" not in arguments:
        write()
        return 0
    for name in stale():
        sys.stderr.write(f"the snapshot {name} is not current; {REMEDY}\n")
    return int(bool(stale()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
