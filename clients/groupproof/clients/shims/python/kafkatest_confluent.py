"""Starts confluent-kafka's verifiable consumer as it ships (`confluent_kafka.kafkatest`): a program of level 0.

Its file is not changed. Two things prevent a direct start. It imports `verifiable_client` from its own folder. It iterates over its
arguments with Python 2's `dict.iteritems`, so `vars` is replaced by one that returns a dict with that method.
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
    """A dict with Python 2's `iteritems`."""

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
