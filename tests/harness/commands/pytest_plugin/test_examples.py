from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.harness.commands.pytest_plugin.clients_at_hand import ROOT, pytest_in, site_of
from tests.power.shares import in_turn, parts

EXAMPLES = {
    "orders-kafka-python": ("kafka-python@3.0.12", "Cannot block on net.run() from the IO thread itself"),
    "orders-aiokafka": ("aiokafka@0.14.0", "assert {} == {('orders', 0"),
    "orders-confluent-kafka": ("confluent-kafka@2.16.1", "1 response SyncGroup did not come"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", parts([(name,) for name in EXAMPLES], lambda row: row == (in_turn(list(EXAMPLES)),)))
def test_an_example_catches_its_bug_and_passes_without_it(name: str, tmp_path: Path) -> None:
    client, message = EXAMPLES[name]
    site = site_of(client)
    project = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, project)

    with_bug = pytest_in(project, "test_orders.py", path=site)
    shutil.copy(project / "mended" / "orders.py", project / "orders.py")
    mended = pytest_in(project, "test_orders.py", path=site)

    assert with_bug.returncode == 1, with_bug.stdout
    assert message in with_bug.stdout, with_bug.stdout
    assert mended.returncode == 0, mended.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_test_that_catches_it_has_ten_lines(name: str) -> None:
    text = (ROOT / "examples" / name / "test_orders.py").read_text()

    body = text.partition(") -> None:\n")[2].splitlines()
    assert 0 < len([line for line in body if line.strip()]) <= 10
