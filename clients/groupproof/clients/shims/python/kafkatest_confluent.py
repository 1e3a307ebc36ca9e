"""confluent-kafka's verifiable consumer as it ships (`confluent_kafka.kafkatest`), started so that it can run: a program of level 0.

Its file is not changed. Two things keep it from starting by itself: it asks for `verifiable_client` as a neighbour in its folder, and it
walks its arguments with Python 2's `dict.iteritems`, so the `vars` that it finds here returns a dict which has that method.
"""

from __future__ import annotations

import builtins
import importlib.util
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CANNOT_RUN_HERE = 89


class Arguments(dict[str, Any]):
    """A dict as Python 2 had it."""

    def iteritems(self) -> Iterable[tuple[str, Any]]:
        return self.items()


def main() -> None:
    package = importlib.util.find_spec("confluent_kafka")
    if package is None or package.origin is None:
        print("confluent-kafka cannot be imported here", file=sys.stderr)
        raise SystemExit(CANNOT_RUN_HERE)
    folder = Path(package.origin).parent / "kafkatest"
    plain_vars = builtins.vars
    builtins.vars = lambda *of: Arguments(plain_vars(*of))  # type: ignore[assignment] # narrower than the builtin's overloads
    sys.path.insert(0, str(folder))
    runpy.run_path(str(folder / "verifiable_consumer.py"), run_name="__main__")


if __name__ == "__main__":
    main()
