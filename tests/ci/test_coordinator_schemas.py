"""Kafka's schemas out of its jars: the newest form of each record, beside it what an older release wrote otherwise, and nothing that bytes do not depend on."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from coordinator_schemas import DATA, merged, schemas_in, text_of

KEY = {
    "name": "ThingKey",
    "type": "data",
    "validVersions": "7",
    "flexibleVersions": "none",
    "fields": [{"name": "GroupId", "type": "string", "versions": "7"}],
}


def jar(path: Path, *schemas: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("common/message/", "")
        for schema in schemas:
            archive.writestr(f"common/message/{schema['name']}.json", f"// A licence.\n{json.dumps(schema)}")
    return path


def value(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": "ThingValue", "type": "data", "validVersions": "0", "flexibleVersions": "0+", "fields": list(fields)}


def field(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "int32", "versions": "0+", "about": "A number.", **more}


def test_a_field_that_a_later_release_adds_as_a_tag_is_in_the_one_form(tmp_path: Path) -> None:
    old = jar(tmp_path / "a.jar", KEY, value(field("Epoch")))
    new = jar(tmp_path / "b.jar", {**KEY, "apiKey": 7, "validVersions": "0"}, value(field("Epoch"), field("Hash", taggedVersions="0+", tag=0)))

    (entry,) = merged([schemas_in(old), schemas_in(new)])

    assert (entry["type"], entry["name"], entry["key"]["fields"][0]["versions"]) == (7, "Thing", "0")
    assert [[one["name"] for one in form["fields"]] for form in entry["values"]] == [["Epoch", "Hash"]]
    assert "about" not in text_of([entry], "here")


def test_another_layout_under_the_same_version_stays_beside_the_newest(tmp_path: Path) -> None:
    old = jar(tmp_path / "a.jar", KEY, value(field("Epoch")))
    new = jar(tmp_path / "b.jar", KEY, value(field("Hash"), field("Epoch")))

    (entry,) = merged([schemas_in(old), schemas_in(new)])

    assert [[one["name"] for one in form["fields"]] for form in entry["values"]] == [["Epoch"], ["Hash", "Epoch"]]


def test_the_data_of_the_package_is_in_the_form_that_is_written() -> None:
    data = json.loads(DATA.read_text("utf-8"))

    assert DATA.read_text("utf-8") == text_of(data["records"], data["source"])
    assert "4.4.0" in data["source"]
