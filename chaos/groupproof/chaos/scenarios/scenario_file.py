"""Reads a scenario file (TOML). An error is one line with the place, the unknown value, and the possible ones."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from groupproof.chaos.scenarios.member_names import WORDS
from groupproof.chaos.scenarios.scenario import COORDINATOR, DURATIONS, SETTINGS, Action, Duration, Expectation, Fault, Healing, Phase, Scenario
from groupproof.chaos.scenarios.scenario_expectations import SIGHTS
from groupproof.chaos.scenarios.scenario_faults import KINDS, code_of
from groupproof.chaos.scenarios.scenario_plan import ACTIONS
from groupproof.chaos.scenarios.scenario_waits import UNTIL
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.rules.requirements import UnknownRequirement, by_id
from groupproof.protocol.schemas import SchemaError, validate
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["BadScenario", "load_scenario", "read_scenario"]

_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_OF_ANY_FAULT: Final = frozenset({"name", "kind", "who", "lasts", "optional"})
_SPANS: Final = ("for", "latency", "jitter", "delay", "down", "within", "lasts", "converges_within", "still")
_OF_THE_HEALING: Final = ("converges_within", "members", "still", "requirement")


class BadScenario(WrongUsage):
    """A file that is no scenario; the message says where and why."""


def load_scenario(path: Path) -> Scenario:
    """Return the scenario in a file, with the file's name; raise `BadScenario`."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadScenario(f"can't read the scenario {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return read_scenario(path.stem, text)
    except BadScenario as error:
        raise BadScenario(f"{path}: {error}") from None


def read_scenario(name: str, text: str) -> Scenario:
    """Return the scenario of a TOML text; raise `BadScenario`."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise BadScenario(f"a scenario is called by its file's name, in small letters, digits and hyphens, not {name!r}")
    try:
        value = tomllib.loads(text)
        validate("scenario", value)
    except tomllib.TOMLDecodeError as error:
        raise BadScenario(f"it is no TOML: {error}") from error
    except SchemaError as error:
        raise BadScenario(_by_phase(str(error), text)) from error
    return _Reader(name, value).scenario()


def _by_phase(message: str, text: str) -> str:
    """Return a schema's message with the phase's name instead of its number."""
    found = re.search(r"phase/(\d+)", message)
    if found is None:
        return message
    phase = tomllib.loads(text)["phase"][int(found[1])]
    name = phase.get("name") if isinstance(phase, Mapping) else None
    return message.replace(found[0], f"phase {name!r}") if name else message


class _Reader:
    """Reads a file that fits the schema, and checks what the schema cannot. `where` is the place for error messages."""

    def __init__(self, name: str, value: Mapping[str, Any]) -> None:
        self._name = name
        self._value = value
        self._where = "the head"
        own = value.get("durations", {})
        self._durations = {**DURATIONS, **{key: Duration(virtual_ms=_ms(value["virtual"]), wire_ms=_ms(value["wire"])) for key, value in own.items()}}
        self._dialect = value.get("dialect", CLASSIC_CAPABILITY)
        self._faults: list[str] = []
        self._phases = [phase["name"] for phase in value["phase"]]

    def scenario(self) -> Scenario:
        value = self._value
        requirements = tuple(self._requirement(requirement) for requirement in value["requirements"])
        for words in value.get("settings_of", {}):
            self._words(words)
        if len(set(self._phases)) < len(self._phases):
            self._refuse("two phases have the same name")
        self._check_times(value.get("settings", {}), *value.get("settings_of", {}).values())
        phases = tuple(self._phase(phase) for phase in value["phase"][:-1])
        return Scenario(
            name=self._name,
            title=value["title"],
            story=" ".join(value["story"].split()),
            requirements=requirements,
            members=value["members"],
            partitions=value["partitions"],
            dialect=self._dialect,
            joiners=value.get("joiners", 0),
            twin=value.get("twin", False),
            records=value.get("records", 20),
            begin=value.get("begin", "settled"),
            only_virtual=value.get("only_virtual", ""),
            settings={**SETTINGS, **self._spoken(), **value.get("settings", {})},
            settings_of=value.get("settings_of", {}),
            coordinator={**COORDINATOR[self._dialect], **value.get("coordinator", {})},
            durations=self._durations,
            phases=phases,
            healing=self._healing(value["phase"][-1]),
            expect=tuple(self._expectation(number, item) for number, item in enumerate(value.get("expect", ()), 1)),
        )

    def _spoken(self) -> Mapping[str, Any]:
        return {} if self._dialect == CLASSIC_CAPABILITY else {"group_protocol": self._dialect}

    # Phases.

    def _phase(self, phase: Mapping[str, Any]) -> Phase:
        self._where = f"phase {phase['name']!r}"
        if wrong := [key for key in _OF_THE_HEALING if key in phase]:
            self._refuse(f"{wrong[0]} belongs to the last phase, the healing")
        self._span(phase, "for")
        faults = tuple(self._fault(number, fault) for number, fault in enumerate(phase.get("faults", ()), 1))
        self._where = f"phase {phase['name']!r}"
        actions = tuple(self._action(number, action) for number, action in enumerate(phase.get("actions", ()), 1))
        self._where = f"phase {phase['name']!r}"
        until = self._until(phase["until"]) if "until" in phase else None
        return Phase(name=phase["name"], faults=faults, actions=actions, until=until, lasts=phase.get("for"))

    def _healing(self, phase: Mapping[str, Any]) -> Healing:
        self._where = f"phase {phase['name']!r}"
        if wrong := [key for key in ("faults", "actions", "until", "for") if key in phase]:
            self._refuse(f"the last phase heals everything, and has no {wrong[0]}")
        if "converges_within" not in phase:
            self._refuse("the last phase says within which time the group has to settle: converges_within")
        for key in ("converges_within", "still"):
            self._span(phase, key)
        present = {name: phase[name] for name in ("still", "requirement") if name in phase}
        if "requirement" in present:
            self._requirement(present["requirement"])
        return Healing(name=phase["name"], within=phase["converges_within"], members=self._words(phase.get("members", "all")), **present)

    def _fault(self, number: int, entry: Mapping[str, Any]) -> Fault:
        at, self._where = self._where, f"{self._where}, fault {number}"
        kind = entry["kind"]
        self._check_known("kind of fault", kind, KINDS)
        self._fields(kind, entry, KINDS[kind].fields | _OF_ANY_FAULT, KINDS[kind].needs)
        name = entry.get("name", f"{kind}-{len(self._faults) + 1}" if kind in self._faults or "name" not in entry else kind)
        if name in self._faults:
            self._refuse(f"another fault is called {name!r}")
        self._faults.append(name)
        self._api(entry)
        self._errors(entry.get("error", []))
        for span in _SPANS:
            if span != "lasts":
                self._span(entry, span)
        how = {key: value for key, value in entry.items() if key not in _OF_ANY_FAULT and key != "between"}
        self._where = at
        return Fault(
            name=name, kind=kind, who=self._targets(entry), how=how, lasts=entry.get("lasts", False), optional=entry.get("optional", False)
        )  # fmt: skip

    def _targets(self, entry: Mapping[str, Any]) -> str | None:
        if "between" not in entry:
            return None if "who" not in entry else self._words(entry["who"])
        words = [item for item in entry["between"] if item != "brokers"]
        if len(words) != 1 or "who" in entry:
            self._refuse(
                f'between names the brokers and some members, ["brokers", "minority"], and stands in the place of who; it says {entry["between"]}'
            )
        return self._words(words[0])

    def _action(self, number: int, entry: Mapping[str, Any]) -> Action:
        at, self._where = self._where, f"{self._where}, action {number}"
        do = entry["do"]
        self._check_known("action", do, ACTIONS)
        fields = ACTIONS[do][0]
        self._fields(do, entry, fields | {"do"}, fields & {"who", "until", "fault", "partitions", "settings"})
        if "fault" in entry:
            self._check_known("fault so far", entry["fault"], self._faults)
        if "until" in entry:
            self._until(entry["until"])
        for span in ("for", "down"):
            self._span(entry, span)
        if do == "wait" and "for" not in entry:
            self._refuse("wait says for how long: for")
        who = None if "who" not in entry else self._words(entry["who"])
        self._where = at
        return Action(do=do, who=who, how={key: value for key, value in entry.items() if key not in ("do", "who")})

    def _until(self, until: Mapping[str, Any]) -> Mapping[str, Any]:
        keys = [key for key in UNTIL if key in until]
        if len(keys) != 1:
            self._refuse(f"until waits for one of {', '.join(UNTIL)}, not for {' and '.join(keys) or ', '.join(until)}")
        self._fields(f"until {keys[0]}", until, UNTIL[keys[0]][0] | {keys[0], "within"}, frozenset())
        if "delivered" in until:
            self._check_known("fault so far", until["delivered"], self._faults)
        for key in ("sent", "answered"):
            if key in until:
                self._check_known("API", until[key], [api.title for api in Api])
        for key in ("who", "settled"):
            if key in until:
                self._words(until[key])
        self._errors(until.get("error", []))
        self._span(until, "within")
        return until

    def _expectation(self, number: int, entry: Mapping[str, Any]) -> Expectation:
        self._where = f"expect {number}"
        self._check_known("sight", entry["sees"], SIGHTS)
        needs = SIGHTS[entry["sees"]][0]
        if missing := sorted(needs - set(entry)):
            self._refuse(f"to see what is {entry['sees']} it needs {' and '.join(missing)}")
        self._api(entry)
        self._span(entry, "lasts")
        if "during" in entry:
            self._check_known("phase", entry["during"], self._phases)
        if "requirement" in entry:
            self._requirement(entry["requirement"])
        fields = {key: value for key, value in entry.items() if key not in ("error", "who")}
        return Expectation(**fields, errors=self._errors(entry.get("error", [])), who=self._words(entry.get("who", "all")))

    # Expectations.

    def _refuse(self, why: str) -> None:
        raise BadScenario(f"{self._where}: {why}")

    def _check_known(self, title: str, name: str, names: Collection[str]) -> None:
        if name not in names:
            self._refuse(f"there is no {title} {name!r}{_hint(name, names)}")

    def _fields(self, title: str, entry: Mapping[str, Any], names: Collection[str], needs: Collection[str]) -> None:
        for unknown in (key for key in entry if key not in names):
            self._refuse(f"{title} has no field {unknown!r}{_hint(unknown, sorted(names))}")
        if missing := sorted(set(needs) - set(entry)):
            self._refuse(f"{title} needs {' and '.join(missing)}")

    def _words(self, words: str) -> str:
        for word in words.split("+"):
            self._check_known("group of members called", word.strip(), WORDS)
            if word.strip() in ("joiner", "joiners") and not self._value.get("joiners"):
                self._refuse(f"{word.strip()} are members that come later; say how many there are: joiners = 1")
            if word.strip() == "twin" and not self._value.get("twin"):
                self._refuse("there is no twin; say twin = true")
        return words

    def _span(self, entry: Mapping[str, Any], key: str) -> None:
        value = entry.get(key)
        if isinstance(value, str) and value not in self._durations:
            self._refuse(f"{key}: there is no duration {value!r}{_hint(value, self._durations)}")

    def _check_times(self, *settings: Mapping[str, Any]) -> None:
        for setting in settings:
            for key, value in setting.items():
                if isinstance(value, Mapping):
                    self._check_times(value)
                elif key.endswith("_ms"):
                    self._span(setting, key)

    def _api(self, entry: Mapping[str, Any]) -> None:
        if "api" in entry:
            self._check_known("API", entry["api"], [api.title for api in Api])

    def _errors(self, errors: int | str | Iterable[int | str]) -> tuple[int, ...]:
        named = (errors,) if isinstance(errors, int | str) else tuple(errors)
        for number in named:
            if isinstance(number, str):
                self._check_known("error", number, [code.name for code in ErrorCode])
        return tuple(code_of(item) for item in named)

    def _requirement(self, requirement: str) -> str:
        try:
            return by_id(requirement).id
        except UnknownRequirement as error:
            raise BadScenario(f"{self._where}: {error}") from error


def _ms(value: int | str) -> int:
    if isinstance(value, int):
        return value
    found = re.fullmatch(r"(\d+)(ms|s|m|h)", value)
    assert found is not None, "the schema says so"
    return int(found[1]) * _UNITS_MS[found[2]]


def _hint(name: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(names) or 'none'}"
