"""The documentation site is built from what is here alone, without a warning, and asks nothing of the network when it is read."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, pages

BUILD_S_MAX = 300.0
NOWHERE = "http://127.0.0.1:9"
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Fetched(HTMLParser):
    """Collects what a browser fetches by itself to show the page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag in FETCHED and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(attributes.get(FETCHED[tag]) or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, strictly, with every proxy leading nowhere."""
    place = tmp_path_factory.mktemp("site")
    lost = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE)
    called = [str(Path(sys.executable).parent / "mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(
        called, cwd=ROOT, env={**os.environ, **lost, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=BUILD_S_MAX, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return place


@pytest.mark.slow
def test_every_page_of_docs_is_on_the_site(site: Path) -> None:
    docs = ROOT / "docs"
    names = [path.relative_to(docs).with_suffix("").as_posix() for path in pages() if path.is_relative_to(docs)]
    missing = [name for name in names if not (site / f"{name.removesuffix('README')}{'index' if name.endswith('README') else ''}.html").exists()]
    assert missing == []
    assert not (site / "site/README.html").exists()


@pytest.mark.slow
def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = Fetched()
        found.feed(page.read_text())
        assert [address for address in found.addresses if "//" in address] == [], page.name


@pytest.mark.slow
def test_a_page_shows_the_file_that_it_includes(site: Path) -> None:
    assert "A shim of level 1 around franz-go" in (site / "site/client/go.html").read_text()
