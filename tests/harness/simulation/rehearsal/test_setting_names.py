"""Which settings a rehearsal reads, and which it takes and does nothing with."""

from __future__ import annotations

from groupproof.coordinator.machine.coordinator_settings import setting_names
from groupproof.harness.simulation.rehearsal.setting_names import OWN_PREFIX, SETTINGS, WITHOUT_EFFECT, has_no_effect


def test_no_name_means_two_things() -> None:
    assert SETTINGS.keys() & WITHOUT_EFFECT == set()
    assert SETTINGS.keys() & setting_names("kafka-4.1") == set()


def test_what_a_client_needs_to_reach_its_cluster_has_no_effect_and_a_wrong_name_is_none_of_these() -> None:
    assert has_no_effect("bootstrap.servers")
    assert has_no_effect("ssl.truststore.location")
    assert not has_no_effect("sesion.timeout.ms")


def test_every_setting_of_the_rehearsals_own_says_what_it_is() -> None:
    assert all(bool(setting.words) == name.startswith(OWN_PREFIX) for name, setting in SETTINGS.items())
