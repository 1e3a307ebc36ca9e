from __future__ import annotations

import io
from typing import Any

import pytest
from tests.harness.reports.bundle.made import CLOSE, REJOIN, Files, client, edited, packed

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.reports.bundle.archive import DamagedBundle, NotACertificate
from groupproof.harness.reports.bundle.open_bundle import Contents, read_bundle

pytestmark = pytest.mark.slow


def read(files: Files | bytes, heard: list[str] | None = None) -> Contents:
    contents = files if isinstance(files, bytes) else packed(files)
    return read_bundle(io.BytesIO(contents), lambda case: None if heard is None else heard.append(case.id))


def test_each_case_is_announced_and_each_file_hashed() -> None:
    heard: list[str] = []

    found = read(client().contents, heard)

    assert sorted(heard) == sorted([CLOSE, REJOIN])
    assert set(found.hashes) == set(client().files) - {"manifest.json"}
    assert {name: {"sha256": sha256, "bytes": size} for name, (sha256, size) in found.hashes.items()} == found.manifest["files"]
    assert found.altered == []


def test_a_damaged_certificate_is_read_as_far_as_it_goes() -> None:
    found = read(client().contents[:-40])

    assert found.manifest["subject"]["name"] == "groupproof"
    assert "cut short" in found.altered[0]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "empty archive"),
        ({"report.json": b"{}"}, "it begins with 'report.json'"),
        ({"manifest.json": b"{"}, "is no JSON"),
        ({"manifest.json": b"[]"}, "is of the form 'None'"),
        ({"manifest.json": b'{"schema": "groupproof.bundle/2"}'}, "this groupproof .* reads groupproof.bundle/1"),
    ],
)
def test_what_is_no_certificate_of_this_form_is_reported(files: Files, message: str) -> None:
    with pytest.raises(NotACertificate, match=message):
        read(files)


def test_a_manifest_that_is_not_as_its_schema_says_is_damage() -> None:
    def spoil(manifest: dict[str, Any]) -> None:
        del manifest["required"]

    with pytest.raises(DamagedBundle, match="'required' is a required property"):
        read(edited(client().files, "manifest.json", spoil))


def test_another_release_is_asked_for_by_its_number() -> None:
    with pytest.raises(WrongUsage, match=r"was made by groupproof 7\.7"):
        read(edited(client().files, "manifest.json", lambda manifest: manifest["kit"].update(version="7.7")))
