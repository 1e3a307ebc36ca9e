from __future__ import annotations

from groupproof.protocol.render_coverage import coverage_markdown
from groupproof.protocol.spec.coverage import gaps, witnesses
from groupproof.protocol.spec.requirements import requirements


def test_the_page_counts_what_is_proven() -> None:
    proven = len({each.id for each in requirements()} & witnesses().keys())
    document = coverage_markdown()

    assert f"\n{proven} of 672 [requirements]" in document
    figures = [line.split(" | ")[1:3] for line in document.partition("| --- |")[2].partition("## ")[0].splitlines()[1:] if line]
    assert (sum(int(of) for of, _ in figures), sum(int(with_one) for _, with_one in figures)) == (672, proven)


def test_what_is_missing_is_told_with_its_reason_and_its_ids() -> None:
    document = coverage_markdown()

    for gap in gaps():
        assert f"**{len(gap.ids)}, for want of {gap.needs}.** {gap.why}" in document
        assert gap.ids[0] in document
        assert gap.ids[-1] in document
    assert "ZK-01 to ZK-74 (62)" in document
