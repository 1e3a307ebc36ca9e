"""The releases of Apache Kafka's broker that can be started, and what each needs, as data in `apache_kafka.toml`."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from groupproof.harness.model.errors import WrongUsage

__all__ = ["NEW", "Needs", "NewCoordinator", "Releases", "releases"]

NEW: Final = "-new"
_TABLE = Path(__file__).with_name("apache_kafka.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the brokers of a range of releases need.

    `scala` is the suffix of its artifact, `instead` are Maven coordinates that stand in for those it names itself, `logging` is that of what
    carries its log out and `log4j` whether that reads a log4j.properties; `zookeeper` tells that it can't do without one; `java` is a specifier of JDK releases; `settings` are broker settings
    beyond those that every release gets.
    """

    releases: SpecifierSet
    scala: str
    instead: tuple[str, ...]
    logging: str
    log4j: bool
    zookeeper: bool
    java: SpecifierSet
    settings: Mapping[str, str]

    def artifacts(self, release: str) -> tuple[str, ...]:
        return (f"org.apache.kafka:kafka_{self.scala}:{release}", *self.instead, self.logging)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCoordinator:
    """Which releases can be had with the coordinator that is not their default, and by which broker settings."""

    releases: SpecifierSet
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The table: `known` are the releases that this kit is tried with, `images` those of which there is an official image.

    A release that is followed by `-new` is that release with its `new` coordinator. Those of `elections` move coordinators by one; `several` are settings
    of clusters that have more than one broker.
    """

    default: str
    numbers: tuple[str, ...]
    images: SpecifierSet
    image: str
    own_image: str
    main_class: str
    elections: SpecifierSet
    settings: Mapping[str, str]
    several: Mapping[str, str]
    new: NewCoordinator
    needs: tuple[Needs, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the known releases, and those of them that can be had with another coordinator under that name too."""
        return tuple(name for text in self.numbers for name in ((text, text + NEW) if self.new.releases.contains(text) else (text,)))

    def with_new(self, asked: str) -> tuple[str, bool]:
        """Return the release that `asked` names, and whether with its new coordinator; raise `WrongUsage` where it has none."""
        release = asked.removesuffix(NEW)
        if release != asked and not self.new.releases.contains(release):
            raise WrongUsage(
                f"apache-kafka@{asked}: brokers of {self.new.releases} are available with a new coordinator, others have only one coordinator"
            )
        return release, release != asked

    def needs_of(self, release: str) -> Needs:
        """Return what `release` needs; raise `WrongUsage` for one that is no release number, or older than any that can be run."""
        try:
            Version(release)
        except InvalidVersion:
            near = difflib.get_close_matches(release, self.numbers, n=3, cutoff=0.3) or self.numbers
            raise WrongUsage(f"{release!r} is not a release number; of apache-kafka there are {', '.join(near)}") from None
        for need in self.needs:
            if need.releases.contains(release, prereleases=True):
                return need
        raise WrongUsage(f"apache-kafka@{release} cannot be run by this kit; {', '.join(self.numbers)} can, and what lies between")


@cache
def releases() -> Releases:
    """Return the table."""
    data: dict[str, Any] = tomllib.loads(_TABLE.read_text("utf-8"))
    return Releases(
        default=data["default"],
        numbers=tuple(data["known"]),
        images=SpecifierSet(data["images"]),
        image=data["image"],
        own_image=data["own_image"],
        main_class=data["main_class"],
        elections=SpecifierSet(data["elections"]),
        settings=data["settings"],
        several=data["several"],
        new=NewCoordinator(releases=SpecifierSet(data["new"]["releases"]), settings=data["new"]["settings"]),
        needs=tuple(_needs(need) for need in data["needs"]),
    )


def _needs(data: Mapping[str, Any]) -> Needs:
    return Needs(
        releases=SpecifierSet(data["releases"]),
        scala=data["scala"],
        instead=tuple(data.get("instead", ())),
        logging=data["logging"],
        log4j=data.get("log4j", False),
        zookeeper=data.get("zookeeper", False),
        java=SpecifierSet(data["java"]),
        settings=data.get("settings", {}),
    )
