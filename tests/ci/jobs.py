"""A runner of GitHub's for the tests, as far as it goes without GitHub: steps of `run` are executed, those of `uses` are told.

Expressions are looked up in what the test gives (`inputs.side`, `matrix.release`) and in the outputs of earlier steps; one that is unknown fails the test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped] # comes with yamllint, and has no types

__all__ = ["ROOT", "Done", "Job", "loaded"]

ROOT = Path(__file__).parents[2]

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_STEP_S = 300
_FILES = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


def loaded(path: str) -> Any:
    """Return what is in a YAML file of the repository."""
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A step that was executed, or told of: `code` is None where it was not, for its condition or since it uses an action."""

    name: str
    code: int | None = None
    out: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)


class Job:
    """One job in `folder`, in which its steps find nothing of the environment but a path to a shell's tools and Python, and `first` before that."""

    def __init__(self, folder: Path, outputs: Mapping[str, str], *, first: Path | None = None) -> None:
        self.outputs = dict(outputs)
        self.done: list[Done] = []
        self._folder = folder
        self._paths = [*([str(first)] if first is not None else []), str(Path(sys.executable).parent), os.environ["PATH"]]
        temp = folder / ".runner"
        temp.mkdir(exist_ok=True)
        self._files = {name: temp / name.lower() for name in _FILES}
        kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PYTHONPYCACHEPREFIX")}
        self._env = kept | {"RUNNER_TEMP": str(temp)} | {name: str(file) for name, file in self._files.items()}

    @property
    def summary(self) -> str:
        return self._files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")

    def run(self, steps: list[dict[str, Any]]) -> int:
        """Run the steps in order, and return the job's code: that of the first that failed; after it only those run that always do."""
        code = 0
        for step in steps:
            done = self._step(step, has_failed=code != 0)
            self.done.append(done)
            code = code or (done.code or 0)
        return code

    def _step(self, step: dict[str, Any], *, has_failed: bool) -> Done:
        name = str(step.get("name") or step.get("uses") or step["run"])
        condition = str(step.get("if", ""))
        if (has_failed and "always()" not in condition) or not self._holds(condition):
            return Done(name=name)
        if "run" not in step:
            return Done(name=name, inputs={key: self._text(value) for key, value in step.get("with", {}).items()})
        assert _EXPRESSION.search(step["run"]) is None, "an input in a script is code"
        files = self._files
        files["GITHUB_OUTPUT"].write_text("")
        env = self._env | {key: self._text(value) for key, value in step.get("env", {}).items()} | {"PATH": os.pathsep.join(self._paths)}
        argv = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        ran = subprocess.run(
            argv, cwd=self._folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_STEP_S, check=False
        )
        self._take(str(step.get("id")))
        return Done(name=name, code=ran.returncode, out=ran.stdout)

    def _take(self, id: str) -> None:
        """Take the outputs of a step, and the folders that it put on the path."""
        for line in self._files["GITHUB_OUTPUT"].read_text().splitlines():
            key, _, value = line.partition("=")
            self.outputs[f"steps.{id}.outputs.{key}"] = value
        if self._files["GITHUB_PATH"].exists():
            self._paths[:0] = self._files["GITHUB_PATH"].read_text().split()
            self._files["GITHUB_PATH"].unlink()

    def _text(self, value: object) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1]), str(value))

    def _value(self, expression: str) -> str:
        """Return the value of `name`, of a literal, or of `name || literal`."""
        for part in expression.split(" || "):
            value = part[1:-1] if part.startswith("'") else self.outputs[part]
            if value:
                break
        return value

    def _holds(self, condition: str) -> bool:
        for part in filter(None, condition.split(" && ")):
            sides = re.fullmatch(r"(\S+) (==|!=|>) (.+)", part)
            if sides is None:
                assert part == "always()", f"the condition {part} is not known here"
            elif sides[2] == ">":
                return int(self._value(sides[1])) > int(sides[3])
            elif (self._value(sides[1]) == self._value(sides[3])) != (sides[2] == "=="):
                return False
        return True
