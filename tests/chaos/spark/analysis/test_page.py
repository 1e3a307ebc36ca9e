from __future__ import annotations

import re

from tests.chaos.spark.analysis.findings import results

from groupproof.chaos.spark.analysis.page import page_of, tiles_of


def test_the_page_opens_from_the_disk_and_shows_what_was_found() -> None:
    page = page_of(results())

    assert "<svg" in page
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
    for words in ("Rebalances over time", "Why they began", "Two owners", "Zombie commits", "Generations that nothing explains", "Heartbeat jitter"):
        assert words in page
    assert "m&lt;1&gt;" in page
    assert "m<1>" not in page


def test_what_was_not_found_has_no_place_on_the_page() -> None:
    page = page_of(results(is_empty=True))

    assert "Zombie commits" not in page
    assert "Two owners" not in page
    assert "Every query" in page


def test_tiles_tell_what_should_be_none_in_red() -> None:
    tiles = {tile.name: tile for tile in tiles_of(results())}

    assert tiles["zombie commits"].colour == tiles["two owners"].colour == tiles["generations"].colour == "bad"
    assert tiles["rebalances"].colour == "ink"
    assert tiles["duration"].figure == "410 ms"
    assert {tile.colour for tile in tiles_of(results(is_empty=True))} == {"ink"}
