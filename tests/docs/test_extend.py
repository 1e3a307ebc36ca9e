"""Each recipe of `docs/extend.md` is followed in a copy of the repository, and does what the page says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.docs.recipes import PAGE, Copy

CASE = "heartbeat/classic/illegal-generation-twice"
SCRIPT = "heartbeat/classic/after-leaving"
SNAPSHOTS = "protocol/groupproof/protocol/rules/snapshots"
OF_THE_NEWEST = (
    "tests/protocol/rules/classic/test_group_table.py",
    "tests/protocol/rules/classic/test_releases.py",
    "tests/protocol/rules/test_profiles.py",
)

TOTAL = """
from groupproof.protocol.rules.dialect import missing_cells
from groupproof.protocol.rules.profiles import known_profiles, profile
for name in known_profiles():
    made = profile(name)
    for table in made.tables.values():
        print(name, table.dialect.name, missing_cells(table, tuple(each for each in made.dialects if each is not table.dialect)))
"""

LAUNCH = """
import sys
from pathlib import Path
from groupproof.clients.registry import provision
from groupproof.clients.registry.toolchains import python_wheels
from groupproof.clients.registry.registered_clients import resolve
python_wheels.install_wheels = lambda requires, folder, **kept: print(*requires)
print(provision.provision(resolve("my-client@1.0.0"), Path(sys.argv[1]), print).argv[-1])
"""


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path)
    yield made
    made.close()


@dataclass(frozen=True, slots=True)
class Released:
    """A copy to which the recipe of a release of Kafka was applied, its `snapshots` before, and what printed them anew."""

    copy: Copy
    snapshots: Mapping[str, str]
    printing: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    """What three tests read and none changes."""
    made = Copy(tmp_path_factory.mktemp("released"))
    before = {path.name: path.read_text() for path in (made.folder / SNAPSHOTS).iterdir()}
    assert len(made.follow("A release of Kafka")) == 3
    yield Released(made, before, made.python("-m", "groupproof.protocol.rules"))
    made.close()


@pytest.mark.slow
def test_a_case_of_either_side_is_in_the_catalogue_and_is_failed_by_its_bug(copy: Copy) -> None:
    files = {*copy.follow("A case"), *copy.follow("A case for coordinators")}

    assert len(files) == 6
    failed = copy.tests(
        "tests/harness/cases/test_client.py", "tests/harness/cases/test_coordinator.py", "tests/power",
        "-k", "illegal-generation-twice or ends-on-heartbeat-22 or after-leaving or test_every_misbehaviour_is or test_every_bug_is or test_every_case_can_be_failed",
    )  # fmt: skip
    assert failed == ""


@pytest.mark.slow
def test_a_case_without_its_bug_does_not_pass_the_gate(copy: Copy) -> None:
    copy.follow("A case")
    caught = copy.folder / "tests/power/caught.toml"
    caught.write_text(caught.read_text().replace(f'"{CASE}" = "ends-on-heartbeat-22"\n', ""))

    assert "test_every_case_can_be_failed" in copy.tests("tests/power/test_power.py", "-k", "test_every_case_can_be_failed")


@pytest.mark.slow
def test_a_client_is_listed_and_installed_by_its_name(copy: Copy, tmp_path: Path) -> None:
    copy.follow("A client")

    assert re.search(r"^my-client +client +1\.1\.0", copy.groupproof("list", "subjects").stdout, re.MULTILINE)
    launched = copy.python("-c", LAUNCH, str(tmp_path / "cache")).stdout.split("\n")
    assert launched[1] == "my-client==1.0.0"
    assert launched[2] == str(copy.folder / "clients/groupproof/clients/shims/python/my_client_shim.py")


@pytest.mark.slow
def test_the_data_of_a_client_and_of_a_new_release_are_in_order(copy: Copy) -> None:
    assert len(copy.follow("A client")) == 3
    assert len(copy.follow("A release of a client")) == 1

    assert copy.tests("tests/clients/registry/test_registered_clients.py", "-k", "my-client or aiokafka or in_order") == ""


@pytest.mark.slow
def test_a_release_changes_no_older_one_and_every_table_stays_total(released: Released) -> None:
    copy, before = released.copy, released.snapshots
    after = {path.name: path.read_text() for path in (copy.folder / SNAPSHOTS).iterdir()}

    assert (released.printing.returncode, released.printing.stderr) == (0, "")
    assert after.keys() - before.keys() == {"kafka-4.5.txt"}
    assert {name for name, text in before.items() if after[name] != text} == set()
    lines = copy.python("-c", TOTAL).stdout.splitlines()
    assert "kafka-4.5 classic []" in lines
    assert [line for line in lines if not line.endswith(" []")] == []


@pytest.mark.slow
def test_a_cell_of_the_new_release_is_printed_beside_that_of_the_old_one(released: Released) -> None:
    new, old = (released.copy.groupproof("explain", "Heartbeat/CompletingRebalance", "--profile", f"kafka-4.{minor}").stdout for minor in (5, 4))

    assert "27" in new
    assert "27" not in old


@pytest.mark.slow
def test_the_tests_that_a_release_concerns_are_those_that_the_page_names(released: Released) -> None:
    failed = set(re.findall(r"^FAILED (\S+?)::", released.copy.tests("tests/protocol/rules"), re.MULTILINE))
    assert failed == set(OF_THE_NEWEST)
    assert all(f"`{name}`" in PAGE.read_text() for name in OF_THE_NEWEST)


TOY = "tests/harness/toy_dialect"
PLACES = {
    f"{TOY}/lease_dialect.py": "protocol/groupproof/protocol/rules/lease/lease_dialect.py",
    f"{TOY}/lease_functions.py": "coordinator/groupproof/coordinator/machine/lease_functions.py",
    f"{TOY}/lease_judging.py": "harness/groupproof/harness/judging/checkers/lease_judging.py",
    f"{TOY}/lease_simulation.py": "harness/groupproof/harness/simulation/lease_simulation.py",
    f"{TOY}/lease_histories.py": "harness/groupproof/harness/running/fuzzing/histories/lease_histories.py",
}


def module_of(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").partition(".groupproof.")[2]


@pytest.mark.slow
def test_a_dialect_in_the_house_does_what_it_does_in_a_folder_of_its_own(copy: Copy) -> None:
    assert copy.follow("A dialect") == [
        "protocol/groupproof/protocol/rules/dialect_registry.py", "coordinator/groupproof/coordinator/machine/function_registry.py", "pyproject.toml",
        "harness/groupproof/harness/judging/checkers/tracking/reader_registry.py", "harness/groupproof/harness/judging/checkers/checker_registry.py",
        "harness/groupproof/harness/simulation/simulation_registry.py", "harness/groupproof/harness/running/fuzzing/histories/history_registry.py",
    ]  # fmt: skip
    for source, place in PLACES.items():
        (copy.folder / place).parent.mkdir(exist_ok=True)
        (copy.folder / source).rename(copy.folder / place)
        (copy.folder / place).with_name("__init__.py").touch()
    for path in (*(copy.folder / place for place in PLACES.values()), *(copy.folder / TOY).glob("*.py")):
        text = path.read_text()
        for source, place in PLACES.items():
            text = text.replace(source.removesuffix(".py").replace("/", "."), f"groupproof.{module_of(place)}")
        path.write_text(re.sub(r"with registered\(LEASE_FUNCTIONS[^)]*\):\n        yield", "yield", text))

    assert copy.tests(TOY, "tests/protocol/rules/test_dialect.py") == ""
    assert "held-by-another" in copy.groupproof("explain", "ShareGroupHeartbeat/Held", "--profile", "lease-broker").stdout
