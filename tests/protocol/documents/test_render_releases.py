from __future__ import annotations

import pytest

from groupproof.protocol.documents.render_releases import releases_markdown
from groupproof.protocol.rules.classic.admin_releases import ADMIN_DELTAS
from groupproof.protocol.rules.classic.java_releases import JAVA_DELTAS
from groupproof.protocol.rules.classic.releases import DELTAS
from groupproof.protocol.rules.profiles import neighbours, profile, profiles
from groupproof.protocol.rules.release_contrast import contrast
from groupproof.protocol.rules.verification import verification


@pytest.fixture(scope="module")
def document() -> str:
    return releases_markdown()


def _section(document: str, older: str, newer: str) -> str:
    return document.partition(f"\n## {older} to {newer}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", profiles())
def test_a_release_tells_whether_it_was_compared_with_a_broker(document: str, name: str) -> None:
    (line,) = (line for line in document.splitlines() if line.startswith(f"| {name} |"))
    compared = verification(name)

    assert ".".join(map(str, profile(name).release)) in line
    assert ("read in the sources" in line) is (compared is None)
    assert compared is None or f"verified with {compared.release}: {compared.steps} steps" in line


@pytest.mark.parametrize(("older", "newer"), neighbours())
def test_neighbours_differ_as_their_tables_do(document: str, older: str, newer: str) -> None:
    entry, section = contrast(profile(older), profile(newer)), _section(document, older, newer)

    for difference in entry.behaviour:
        assert difference.says.replace("|", "\\|") in section
    assert all(f"\n- {line}" in section for line in (*entry.fields, *entry.settings, *entry.versions))
    assert section.count("\n| ") == bool(entry.behaviour) * 2 + len(entry.behaviour)


def test_what_a_release_brought_stands_with_the_pair_that_it_parts(document: str) -> None:
    for delta in (*DELTAS, *ADMIN_DELTAS, *JAVA_DELTAS):
        parted = [
            (older, newer)
            for older, newer in neighbours()
            if profile(older).release < delta.since <= profile(newer).release and delta.line in (None, profile(older).line)
        ]
        assert parted, delta.change
        assert f"- {'.'.join(map(str, delta.since))}: {delta.change}." in _section(document, *parted[0])
