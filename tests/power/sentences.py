"""What verdicts say of planted bugs and legal variants, collected for a reader: `python -m tests.power.sentences` prints `sentences.toml`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from groupproof.clients.planted.member_variants import LEGAL, MISBEHAVIOURS, VARIANTS
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import ADVERSE

__all__ = ["blame_of", "pairs_of"]

_CAUGHT = tomllib.loads((Path(__file__).parent / "caught.toml").read_text())


def blame_of(judgement: Judgement) -> set[str]:
    """Return the sentences that blame the subject."""
    return {finding.observed for finding in judgement.findings if finding.verdict in ADVERSE}


def pairs_of(misbehaviour: str) -> list[str]:
    """Return the cases that are proven with a planted bug."""
    caught = [_CAUGHT["misbehaviours"].get(misbehaviour), *(case for case, bug in _CAUGHT["cases"].items() if bug == misbehaviour)]
    return sorted({case for case in caught if case})


def _collected(names: Iterable[str], cases_of: Callable[[str], list[str]]) -> None:
    from tests.harness.running.virtual import judged, rhythm

    by_id = {case.id: case for case in CASES}
    for name in names:
        rhythm_ = rhythm(name) if VARIANTS[name].is_legal else None
        sentences = sorted({text for case in cases_of(name) for text in blame_of(judged(by_id[case], variant=name, rhythm=rhythm_)[1])})
        if sentences:
            print(f"{_quoted(name)} = [\n" + "".join(f"    {_quoted(sentence)},\n" for sentence in sentences) + "]", flush=True)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _legal_cases(name: str) -> list[str]:
    return [case.id for case in CASES if not case.needs & VARIANTS[name].policy.lacks]


def main(which: list[str]) -> None:
    """Print the tables named, or both."""
    if not which or "bugs" in which:
        print(
            "# The sentences that blame a planted bug; they were read, and they are true for it. Printed by `python -m tests.power.sentences`.\n\n[bugs]"
        )
        _collected([misbehaviour.name for misbehaviour in MISBEHAVIOURS], pairs_of)
    if not which or "legal" in which:
        print("\n[legal]")
        _collected([variant.name for variant in LEGAL], _legal_cases)


if __name__ == "__main__":
    main(sys.argv[1:])
