"""An application's settings, parsed and checked as Kafka's consumer and coordinator check them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.coordinator.machine.coordinator_settings import Settings, UnknownSetting, setting_names
from groupproof.harness.model.selection import nearest
from groupproof.harness.simulation.rehearsal.setting_names import ASSIGNOR_CLASSES, BROKERS_ONLY, SETTINGS, Setting, has_no_effect
from groupproof.harness.simulation.settings import GROUP, TOPIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.profiles import profile as profile_named

__all__ = ["BadSetting", "RehearsedSettings", "settings_of"]

_SWITCH: Final = {"true": True, "false": False}


class BadSetting(ValueError):
    """A setting is unknown, or its value is not allowed. `str()` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedSettings:
    """All settings of a rehearsal. `values` has those of the client and the rehearsal, `broker` the named broker settings.

    `ignored` has the names without effect.
    """

    profile: str
    values: Mapping[str, int | str | bool]
    broker: Mapping[str, int | str]
    ignored: tuple[str, ...] = ()

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def current(self, name: str) -> int | str | bool:
        """Return a setting of the client, the rehearsal or the broker."""
        return self.values[name] if name in self.values else self.of_broker(name)

    def of_broker(self, name: str) -> int:
        value = Settings.of(self.broker, self.profile).by_name()[name]
        assert isinstance(value, int)
        return value

    @property
    def dialect(self) -> str:
        return str(self.values["group.protocol"])

    @property
    def is_consumer(self) -> bool:
        return self.dialect == CONSUMER.name

    @property
    def is_static(self) -> bool:
        return bool(self.values["group.instance.id"])

    @property
    def assignors(self) -> tuple[str, ...]:
        return _assignors(str(self.values["partition.assignment.strategy"]))

    @property
    def session_timeout_ms(self) -> int:
        """The session timeout. With `group.protocol=consumer` it is the broker's."""
        return self.of_broker("group.consumer.session.timeout.ms") if self.is_consumer else self.number("session.timeout.ms")

    @property
    def heartbeat_interval_ms(self) -> int:
        return self.of_broker("group.consumer.heartbeat.interval.ms") if self.is_consumer else self.number("heartbeat.interval.ms")

    def changed(self, changes: Mapping[str, int | str | bool]) -> RehearsedSettings:
        """Return the settings with some changes. Raise `BadSetting` if the result is not allowed."""
        of_broker = {name: value for name, value in changes.items() if name not in SETTINGS}
        found = replace(
            self, values={**self.values, **{name: value for name, value in changes.items() if name in SETTINGS}}, broker={**self.broker, **of_broker}
        )
        _check(found)
        return found

    def member(self, name: str) -> MemberSettings:
        """Return the settings of one member. Each static member has its own instance id."""
        return MemberSettings(
            group=GROUP, topics=(TOPIC,), instance_id=f"{name}-instance" if self.is_static else None, assignors=self.assignors,
            session_timeout_ms=self.session_timeout_ms, heartbeat_interval_ms=self.heartbeat_interval_ms,
            max_poll_interval_ms=self.number("max.poll.interval.ms"), max_poll_records=self.number("max.poll.records"),
            auto_commit=bool(self.values["enable.auto.commit"]), auto_commit_interval_ms=self.number("auto.commit.interval.ms"), auto_offset_reset="earliest",
            retry_backoff_ms=self.number("retry.backoff.ms"), retry_backoff_max_ms=self.number("retry.backoff.max.ms"),
            request_timeout_ms=self.number("request.timeout.ms"), default_api_timeout_ms=self.number("default.api.timeout.ms"),
            metadata_max_age_ms=self.number("metadata.max.age.ms"), by_epochs=self.is_consumer,
            remote_assignor=str(self.values["group.remote.assignor"]) or None,
        )  # fmt: skip


def settings_of(properties: Mapping[str, str], profile: str) -> RehearsedSettings:
    """Parse an application's properties for a broker release. Raise `BadSetting`."""
    values: dict[str, Any] = {name: setting.default for name, setting in SETTINGS.items()}
    broker: dict[str, int | str] = {}
    ignored: list[str] = []
    of_brokers = setting_names(profile)
    for name, text in properties.items():
        if name in SETTINGS:
            values[name] = _value(SETTINGS[name], text.strip())
        elif name in of_brokers:
            broker[name] = text.strip()
        elif has_no_effect(name):
            ignored.append(name)
        else:
            raise BadSetting(f"no setting is called {name!r}{nearest(name, [*SETTINGS, *sorted(of_brokers)])}")
    if values["group.protocol"] == CONSUMER.name and (refused := [name for name in BROKERS_ONLY if name in properties]):
        raise BadSetting(f"{refused[0]} can't be set with group.protocol=consumer: Kafka's consumer refuses it{_instead(refused[0])}")
    found = RehearsedSettings(profile=profile, values=values, broker=broker, ignored=tuple(ignored))
    _check(found)
    return found


def _instead(name: str) -> str:
    return "; group.remote.assignor names the broker's assignor" if name.startswith("partition") else f"; the broker has group.consumer.{name}"


def _value(setting: Setting, text: str) -> int | str | bool:
    if isinstance(setting.default, bool):
        if text.lower() not in _SWITCH:
            raise BadSetting(f"{setting.name} is true or false, not {text!r}")
        return _SWITCH[text.lower()]
    if isinstance(setting.default, int):
        if not text.isdecimal() or int(text) < setting.least:
            raise BadSetting(f"{setting.name} is a whole number, at least {setting.least}, not {text!r}")
        return int(text)
    if setting.choices and text.lower() not in setting.choices:
        raise BadSetting(f"{setting.name} is {' or '.join(filter(None, setting.choices))}, not {text!r}")
    return text.lower() if setting.choices else text


def _assignors(text: str) -> tuple[str, ...]:
    """Return the assignor names of a list of classes, or of librdkafka's short names."""
    names = [part.strip().strip("[]") for part in text.split(",")]
    found = tuple(ASSIGNOR_CLASSES.get(name, name) for name in names if name)
    unknown = [name for name in found if name not in ASSIGNORS]
    if unknown or not found:
        wrong = unknown[0] if unknown else text
        raise BadSetting(
            f"partition.assignment.strategy has no {wrong!r}{nearest(wrong, [*ASSIGNOR_CLASSES, *ASSIGNORS])}; an assignor of one's own can't be rehearsed"
        )
    return found


def _check(settings: RehearsedSettings) -> None:
    """Raise `BadSetting` for settings that a consumer or a coordinator would refuse."""
    if settings.is_consumer and not any(dialect.name == CONSUMER.name for dialect in profile_named(settings.profile).dialects):
        raise BadSetting(f"{settings.profile} has no group.protocol=consumer")
    try:
        Settings.of(settings.broker, settings.profile)
        settings.member("m0")
    except (UnknownSetting, ValueError) as error:
        raise BadSetting(str(error)) from None
    if not settings.is_consumer:
        _check_session(settings)


def _check_session(settings: RehearsedSettings) -> None:
    least, most = settings.of_broker("group.min.session.timeout.ms"), settings.of_broker("group.max.session.timeout.ms")
    if not least <= settings.session_timeout_ms <= most:
        raise BadSetting(
            f"session.timeout.ms={settings.session_timeout_ms}: the broker takes {least} to {most} (group.min.session.timeout.ms, group.max.session.timeout.ms)"
        )
