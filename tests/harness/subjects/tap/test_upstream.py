from __future__ import annotations

import pytest
import trio
from tests.harness.subjects.tap.tapped import SETTINGS, Scene, played

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap import upstream as upstream_module
from groupproof.harness.subjects.tap.upstream import UpstreamInfo, meet_upstream


def met_in(profile: str, *, named: str | None = None) -> UpstreamInfo:
    found: list[UpstreamInfo] = []

    async def main() -> None:
        async with ReferenceBrokers(profile=profile, seed=1).cluster(settings=SETTINGS, brokers=2, topics={}) as cluster:
            found.append(await meet_upstream(cluster.connect, cluster.addresses, profile=named))

    run_virtually(main, seed=1)
    return found[0]


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-4.1"])
def test_the_brokers_tell_who_they_are_and_what_they_speak(profile: str) -> None:
    upstream = met_in(profile)

    assert upstream.profile == profile
    assert [(broker.node, broker.address) for broker in upstream.brokers] == [(0, ("broker-0", 9092)), (1, ("broker-1", 9092))]
    assert upstream.groups == ()


def test_the_release_that_the_user_names_holds() -> None:
    assert met_in("kafka-4.1", named="kafka-3.9").profile == "kafka-3.9"


def test_what_the_brokers_do_not_tell_is_said() -> None:
    fields = met_in("kafka-3.9").to_json()

    assert (fields["name"], fields["groups"], fields["settings"]) == ("upstream", [], None)
    assert fields["untold"] == "the broker does not report its settings: it does not speak DescribeConfigs"


def test_settings_are_asked_where_the_brokers_tell_them() -> None:
    fields = met_in("kafka-4.1").to_json()

    assert fields["settings"]["group.initial.rebalance.delay.ms"] == str(SETTINGS["group.initial.rebalance.delay.ms"])
    assert fields["untold"] == ""


DECISIVE = {"group.initial.rebalance.delay.ms": "500", "group.min.session.timeout.ms": "1000", "group.max.session.timeout.ms": "9000"}


def test_settings_are_those_that_a_groups_rules_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_as(monkeypatch, {**DECISIVE, "group.max.size": "7", "log.dirs": "/tmp"}).settings == {**DECISIVE, "group.max.size": "7"}


def test_no_default_stands_in_for_a_setting_that_decides_when_an_answer_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = told_as(monkeypatch, {**DECISIVE, "group.initial.rebalance.delay.ms": None})

    assert (upstream.settings, upstream.untold) == (None, "the broker does not report group.initial.rebalance.delay.ms")


def test_settings_in_which_the_brokers_differ_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = told_as(monkeypatch, {**DECISIVE, "group.max.size": "7"}, {**DECISIVE, "group.max.size": "9"})

    assert (upstream.settings, upstream.untold) == (None, "the brokers differ in group.max.size")
    sizes = {node: settings["group.max.size"] for node, settings in upstream.to_json()["settings_of_nodes"].items()}
    assert sizes == {str(broker.node): "9" if broker.address[0] == "broker-1" else "7" for broker in upstream.brokers}
    assert "settings_of_nodes" not in told_as(monkeypatch, dict(DECISIVE)).to_json()


def test_settings_that_only_one_broker_reports_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = told_as(monkeypatch, dict(DECISIVE), {})

    assert (upstream.settings, upstream.untold) == (None, f"the broker does not report {', '.join(DECISIVE)}")


def told_as(monkeypatch: pytest.MonkeyPatch, *settings: dict[str, str | None]) -> UpstreamInfo:
    """Meet two brokers that tell these settings, the same ones if there is one sort."""

    async def tell(connect: object, address: tuple[str, int]) -> dict[str, str | None]:
        await trio.lowlevel.checkpoint()
        return settings[-1] if address[0] == "broker-1" else settings[0]

    monkeypatch.setattr(upstream_module, "reported_settings", tell)
    return met_in("kafka-4.1")


def test_groups_that_are_there_are_reported() -> None:
    async def act(scene: Scene) -> None:
        member = scene.shop("m0")
        await member.join()
        upstream = await meet_upstream(scene.hub.connect, scene.cluster.addresses, profile=None)
        assert upstream.groups == ("g",)

    assert played(act)


def test_nobody_at_the_address_is_the_environments_fault() -> None:
    async def connect(host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        raise ConnectionRefusedError("connection refused")

    async def main() -> None:
        with pytest.raises(BrokenEnvironment, match="no broker answers at nowhere:1 within 1 s: connection refused"):
            await meet_upstream(connect, [("nowhere", 1)], profile=None, within_s=1)

    run_virtually(main, seed=1)
