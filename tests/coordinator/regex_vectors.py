"""What RE2/J made of expressions, in a file. `python -m tests.coordinator.regex_vectors RE2J_1_7.jar RE2J_1_8.jar CLASSES` makes it anew; CLASSES has `java/RegexTry.java` compiled."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.toolchains.java_archives import java_tool

__all__ = ["NAMES", "RegexVector", "regex_vectors"]

_FILE = Path(__file__).parent / "machine" / "consumer" / "regex_vectors.json"
_SEED = 1848
_COUNT = 1_500
_ANSWER_S = 60.0

NAMES = ("a", "b", "ab", "t-1", "orders", "A", "AB", "1", "aa", "t.1", "s", "a1", "_", "-", "t", "ba", "z", "a-b", "T-1", "11", "__consumer_offsets")
_PARTS = (
    *("a", "b", "t", "-", "_", r"\.", ".", "1", "t-1", "orders", ".*", "[a-z]", "[^a]", "[[:alpha:]]", "[[:^digit:]]", "[[:word:]]", "[[:foo:]]", "[]a]", "[a-]", "[z-a]", "[a", "]"),
    *(r"\d", r"\w", r"\s", r"\S", r"\D", r"\W", r"\b", r"\B", "^", "$", r"\A", r"\z", r"\Z", r"\pL", r"\p{Greek}", r"\P{Lu}", r"\pX", r"\x41", r"\x{41}", r"\101", r"\1", r"\8", r"\C"),
    *(r"\Q.\E", r"\Qa", r"\E", "(a)", "(?:a)", "(?i:A)", "(?i)", "(?s)", "(?U)", "(?-s)", "(?x)", "(?P<n>a)", "(?P<m>b)", "(?<n>a)", "(?<m>b)", "(?P=n)", "(?P<1>a)", "(?P<>a)"),
    *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#c)", "(?<", "(", "(?", ")", "|", "||", "(a|b)", "()", "*", "+", "?", "{2}", "{,3}", "{2,}", "{2,1}", "{1001}", "{", "}", "{0}"),
    *("*?", "??", "**", "*+", "\\", r"\_", r"\-", r"\/", "\\ä", "ä", r"\h", r"\R", r"\X", r"\cA", r"\x{", r"\p{", "[\\d-z]", "[a-z&&b]"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexVector:
    """An expression, what is wrong with it in RE2/J 1.7 and in 1.8 (None: nothing), and which of `NAMES` it matches where it is valid."""

    regex: str
    wrong_1_7: str | None
    wrong_1_8: str | None
    matches: frozenset[str]


def regex_vectors() -> list[RegexVector]:
    """Return the vectors of the file."""
    return [
        RegexVector(regex=regex, wrong_1_7=old, wrong_1_8=new, matches=frozenset(name for name, bit in zip(NAMES, bits, strict=False) if bit == "1"))
        for regex, old, new, bits in json.loads(_FILE.read_text("utf-8"))["vectors"]
    ]


def _drawn() -> list[str]:
    draw = random.Random(_SEED)
    longer = ("".join(draw.choice(_PARTS) for _ in range(draw.randint(2, 4))) for _ in range(_COUNT))
    return list(dict.fromkeys([*_PARTS, *longer]))


def _tried(regexes: Sequence[str], jar: str, classes: str) -> list[str]:
    lines = "".join("\t".join([regex, *NAMES]) + "\n" for regex in regexes)
    command = [java_tool("java"), "-cp", os.pathsep.join([jar, classes]), "RegexTry"]
    return subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", timeout=_ANSWER_S, check=True).stdout.splitlines()


def main(jar_1_7: str, jar_1_8: str, classes: str) -> None:
    """Write the file."""
    regexes = _drawn()
    lines = []
    for regex, old, new in zip(regexes, _tried(regexes, jar_1_7, classes), _tried(regexes, jar_1_8, classes), strict=True):
        wrong = [line.removeprefix("bad ") if line.startswith("bad") else None for line in (old, new)]
        lines.append(json.dumps([regex, *wrong, new.removeprefix("ok ") if wrong[1] is None else ""]))
    joined = ",\n".join(lines)
    _FILE.write_text(f'{{"note":"RE2/J 1.7 and 1.8; how to remake it: tests/coordinator/regex_vectors.py","vectors":[\n{joined}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
