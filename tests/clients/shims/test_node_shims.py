"""The Node shims: what they share by its own tests under Node, and each client, installed by its name, put through `shim check` and a case."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from tests.harness.commands.calling import called
from tests.power.shares import in_turn, parts
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains.toolchain import SHIMS
from groupproof.harness.cases.catalogue import client_side
from groupproof.harness.judging.summary.expectations import load
from groupproof.protocol.schemas import validate

NODE = SHIMS / "node"
SHIM_FILES = ["confluent", "kafkajs", "platformatic", "rdkafka"]
CLIENTS = ["kafkajs", "platformatic-kafka", "node-rdkafka", "confluent-kafka-javascript"]
LEFT_OUT = in_turn(["node-rdkafka", "confluent-kafka-javascript"])
"""The client that is not installed with this commit. Both of them compile librdkafka for minutes; `make soak` has both."""
OLDER = ["kafkajs@2.0.2", "platformatic-kafka@2.11.0"]
INSTALLED = [name for name in CLIENTS if name != LEFT_OUT]
CHECKED = in_turn(INSTALLED)
"""The client that is put through `shim check` with this commit; the others are certified, and `make soak` does the rest of both."""
# A case that each is known to fail.
KNOWN = {
    "kafkajs": ("--only", "assignor/classic/topic-of-another"),
    "platformatic-kafka": ("--only", "commit/classic/illegal-generation"),
    "node-rdkafka": ("--only", "fetch/classic/unknown-member-id"),
    "confluent-kafka-javascript": ("--only", "commit/classic/illegal-generation"),
}

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="absent: node")
needs_npm = pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="absent: node and npm, which install the clients")


def _command(subject: str) -> list[str]:
    try:
        return list(provision(resolve(subject), default_cache(), print).argv)
    except ProvisionError as missing:
        pytest.skip(str(missing))


@needs_node
@pytest.mark.slow
def test_what_the_shims_share_passes_its_own_tests() -> None:
    tests = sorted((NODE / "groupproof" / "test").glob("*.test.mjs"))
    ran = subprocess.run(["node", "--test", "--test-reporter=tap", *map(str, tests)], capture_output=True, text=True, check=False, timeout=300)

    assert ran.returncode == 0, ran.stdout
    assert int(re.findall(r"^# pass (\d+)$", ran.stdout, re.M)[0]) >= sum(test.read_text("utf-8").count("\ntest(") for test in tests)


@needs_node
@pytest.mark.parametrize("shim", SHIM_FILES)
def test_without_its_client_a_shim_says_what_is_missing_before_hello(tmp_path: Path, shim: str) -> None:
    shutil.copytree(NODE, tmp_path / "node")
    ran = subprocess.run(
        ["node", f"{shim}.mjs"], cwd=tmp_path / "node", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300
    )

    assert ran.stdout == ""
    assert re.search("is not installed|needs Node", ran.stderr)
    assert ran.returncode == 89


@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_known_of_a_client_has_the_contracts_form_a_page_and_its_release(name: str) -> None:
    client = resolve(name)
    expectations = tomllib.loads(client.expectations.read_text("utf-8"))
    validate("expectations", expectations)

    assert [item["findings"] for item in expectations["known"] if "findings" in item and not (ROOT / item["findings"]).is_file()] == []
    assert [failure.case for failure in load(client.expectations).failures if not any(failure.covers(case.id) for case in client_side())] == []
    assert any(SpecifierSet(item["subject"]).contains(client.release) for item in expectations["known"])


@needs_npm
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", parts([(name,) for name in CLIENTS], lambda row: row == (CHECKED,)))
def test_shim_check_finds_no_problem(name: str) -> None:
    checked = called("shim", "check", "--", *_command(name))

    assert checked.out.endswith("no problem found\n"), checked.out + checked.err


@needs_npm
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("subject", parts([(subject,) for subject in (*CLIENTS, *OLDER)], lambda row: row[0] in INSTALLED and row != (CHECKED,)))
def test_a_client_is_certified_by_its_name_and_its_known_failures_are_excused(subject: str, tmp_path: Path) -> None:
    client = resolve(subject)
    _command(subject)
    certified = called("certify", "client", subject, "--only", "heartbeat/classic/illegal-generation", *KNOWN[client.name], "--output", str(tmp_path))

    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    verdicts = {case["id"]: case["verdict"] for case in report["cases"]}
    mended_later = "EXCUSED" if subject == "kafkajs@2.0.2" else "OK"  # tulios/kafkajs#1474
    assert verdicts.pop("heartbeat/classic/illegal-generation") == mended_later, certified.err
    assert set(verdicts.values()) <= {"EXCUSED"}, certified.err
    assert (report["subject"]["name"], report["subject"]["version"]) == (client.name, client.release)
