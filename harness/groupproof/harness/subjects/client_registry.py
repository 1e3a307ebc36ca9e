"""Turns the words on a command line into a runnable subject: a registered client in a release, the reference, or any program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import Launch, ProvisionError, provision
from groupproof.clients.registry.registered_clients import RegisteredClient, UnknownClient, WrongPairing, check_profile, newest_fitting, resolve
from groupproof.clients.shims.reference import run_shim
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.model.selection import nearest
from groupproof.harness.subjects.shims.shim_process import Program
from groupproof.harness.subjects.subject import ProcessSubject, ReferenceSubject, Subject
from groupproof.harness.subjects.verifiable_consumer import VerifiableSubject
from groupproof.protocol.rules.profiles import NEWEST, known_profiles, relatives

__all__ = ["Candidate", "candidate", "check_profile_name", "check_reading", "default_profile", "installed", "kind_of", "reference_subject", "shim_of"]

Say = Callable[[str], None]

_JOBS_VIRTUAL = 16
_JOBS_MULTI = 64
_JOBS_ALONE = 128
"""For programs with one member each; their weight reduces it (`jobs_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is to be certified. `words` name it on a command line. `jobs` is the maximum number of parallel cases on this computer.

    `jobs_given`: the user set `jobs`. `is_shim_ours`: the project's own tests verify what its shim reports.
    """

    name: str
    release: str | None
    subject: Subject
    words: tuple[str, ...]
    jobs: int
    jobs_given: bool = False
    expectations: Path | None = None
    is_shim_ours: bool = False

    @property
    def spec(self) -> str | Sequence[str]:
        """Return its name in reports and schedules: a registered name with its release, or a command line."""
        return self.words[0] if len(self.words) == 1 else self.words[1:]


def check_profile_name(profile: str) -> None:
    """Raise `WrongUsage` for an unknown profile, with the nearest known ones."""
    if profile not in known_profiles():
        hint = nearest(profile, known_profiles()) or f"; there are {', '.join(known_profiles())}"
        raise WrongUsage(f"no profile is called {profile!r}{hint}")


def default_profile(named: str | None) -> str:
    """Return the default profile: the newest one, or for an old client the newest that it works with."""
    try:
        client = resolve(named) if named is not None else None
    except UnknownClient:
        client = None  # `candidate` refuses it
    if client is None or client.environment.brokers.contains(NEWEST.removeprefix("kafka-")):
        return NEWEST
    return newest_fitting(client, known_profiles()) or NEWEST


def check_reading(reading: str | None, profile: str) -> None:
    """Raise `WrongUsage` for an unknown reading of DataLink's design, or where the profile is not DataLink's."""
    from groupproof.coordinator.planted.datalink_readings import READINGS

    names = [reading.name for reading in READINGS]
    if reading is not None and profile not in relatives():
        raise WrongUsage(f"a reading is about DataLink's design: use it with --profile {' or '.join(relatives())}, not {profile}")
    if reading is not None and reading not in names:
        raise WrongUsage(f"no reading is called {reading!r}{nearest(reading, names)}; there are {', '.join(names)}")


def candidate(
    named: str | None, program: tuple[str, ...], *, profile: str, seed: int, shim_level: int | None = None, jobs: int | None = None, say: Say
) -> Candidate:
    """Return the subject that `named` or `program` means, installed where needed.

    Raise `WrongUsage` (no such client, release or pairing) and `BrokenEnvironment` (it cannot be installed here).
    """
    check_profile_name(profile)
    if named is None:
        return _of_program(program, 1 if shim_level is None else shim_level, seed, jobs)
    with _blamed():
        client = resolve(named)
        check_profile(client, profile)
        if client.shim is None:
            return _reference(client, jobs)
        return _of_client(client, provision(client, default_cache(), say), shim_level, seed, jobs)


def kind_of(named: str | None) -> str:
    """Return the kind of a registered client; "" for a consumer and for any other program. Raise `WrongUsage`."""
    if named is None:
        return ""
    with _blamed():
        return resolve(named).kind


def shim_of(named: str, say: Say) -> Program:
    """Return the installed shim of a registered client. Raise as `candidate` does, and `WrongUsage` for a client of level 0."""
    with _blamed():
        launch = provision(resolve(named), default_cache(), say)
    if launch.level == 0:
        raise WrongUsage(f"{named} speaks level 0, which has no commands to check")
    return Program(argv=launch.argv, env=launch.env, cwd=launch.cwd)


def installed(named: str, say: Say) -> tuple[RegisteredClient, Launch]:
    """Return a registered client and how its release starts, installed. Raise as `candidate` does."""
    with _blamed():
        client = resolve(named)
        return client, provision(client, default_cache(), say)


@contextmanager
def _blamed() -> Iterator[None]:
    """Turn the registry's errors into errors by blame."""
    try:
        yield
    except (UnknownClient, WrongPairing) as error:
        raise WrongUsage(str(error)) from error
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error


def reference_subject(*, is_virtual: bool) -> Subject:
    """Return the subject that runs the reference peers: the reference member."""
    return ReferenceSubject(run_shim, is_virtual=is_virtual)


def _reference(client: RegisteredClient, jobs: int | None) -> Candidate:
    return Candidate(
        name=client.name,
        release=client.release,
        subject=reference_subject(is_virtual=True),
        words=(client.name,),
        jobs=jobs or _JOBS_VIRTUAL,
        jobs_given=jobs is not None,
        expectations=client.expectations,
        is_shim_ours=True,
    )


def _of_client(client: RegisteredClient, launch: Launch, shim_level: int | None, seed: int, jobs: int | None) -> Candidate:
    level = launch.level if shim_level is None else shim_level
    if level != launch.level:
        raise WrongUsage(f"{client.name} speaks level {launch.level} of the shim contract; leave --shim-level out")
    jobs_given = jobs is not None
    jobs = jobs or (_JOBS_MULTI if launch.multi else _JOBS_ALONE)
    program = Program(argv=launch.argv, env=launch.env, cwd=launch.cwd)
    subject: Subject = ProcessSubject(str(client), program, seed=seed, processes=max(1, -(-2 * jobs // launch.members_max)))
    if level == 0:
        subject = VerifiableSubject(
            client.name, program, version=client.release, language=client.language, template=launch.arguments, error_line=client.error_line
        )
    return Candidate(
        name=client.name,
        release=client.release,
        subject=subject,
        words=(str(client),),
        jobs=jobs,
        jobs_given=jobs_given,
        expectations=client.expectations,
        is_shim_ours=True,
    )


def _of_program(argv: tuple[str, ...], level: int, seed: int, jobs: int | None) -> Candidate:
    program, name = Program(argv=argv), Path(argv[0]).name
    return Candidate(
        name=name,
        release=None,
        subject=VerifiableSubject(name, program) if level == 0 else ProcessSubject(str(program), program, seed=seed),
        words=("--", *argv),
        jobs=jobs or _JOBS_ALONE,
        jobs_given=jobs is not None,
    )
