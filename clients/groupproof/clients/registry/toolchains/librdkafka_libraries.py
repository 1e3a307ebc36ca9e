"""C: librdkafka in any release that a package registry has, and the shim compiled against it."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.cargo_crates import CARGO, CC, MAKE, crate_sources
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, last_words, run
from groupproof.clients.registry.toolchains.python_wheels import install_wheels
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest

__all__ = ["LibrdkafkaLibraries"]

_APT: Final = Tool(name="apt-get", program="apt-get", needed_for="Debian's librdkafka", remedy="install librdkafka from Debian 12 or newer")
_WITHOUT: Final = ("ssl", "gssapi", "curl", "zstd", "lz4-ext", "zlib", "sasl", "syslog")
"""Optional features that are disabled: a case uses plain text on loopback, and a build must not depend on other libraries of a machine."""
_FLAGS: Final = "-std=gnu99 -O1 -g0 -w -fPIC -fcommon"
_SYSTEM: Final = ("-lm", "-ldl", "-lpthread", "-lrt")
_STRICT: Final = ("-std=c99", "-O1", "-Wall")


class LibrdkafkaLibraries:
    """The toolchain for C. A release is a folder with the header and the library. Its pins say where the library comes from.

    `rdkafka-sys@4.10.0+2.12.1` has its sources, which are built here. `confluent-kafka==2.16.1` is a wheel that contains the library, and
    needs a second pin for a crate with the header. `apt:librdkafka1=2.0.2-1` is a Debian package.
    """

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (CC, MAKE, CARGO)

    def stem(self, client: RegisteredClient) -> str:
        return f"c/{client.name}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        pins = client.pins()

        def install(folder: Path) -> None:
            say(f"fetching {' '.join(pins)}")
            (folder / "include").mkdir()
            (folder / "lib").mkdir()
            kinds = {_kind(pin) for pin in pins}
            for pin in pins:
                _FROM[_kind(pin)](pin, folder, say, "wheel" not in kinds)

        return entry(cache, f"{self.stem(client)}-{client.release}-{digest([*pins, _FLAGS, *_WITHOUT])}", install, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        sources = [path for path in sorted((SHIMS / "c").rglob("*.[ch]")) if not path.stem.endswith("_test")]

        def build(folder: Path) -> None:
            say(f"building the shim of {client}")
            _compile([path for path in sources if path.suffix == ".c"], installed, folder / "program")

        recipe = digest([installed.name, *(source.read_text("utf-8") for source in sources)])
        return entry(cache, f"c/shim-{client.name}-{client.release}-{recipe}", build, say)

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        return StartCommand(argv=(str(built / "program"),))


def _kind(pin: str) -> str:
    if pin.startswith("apt:"):
        return "package"
    return "wheel" if "==" in pin else "crate"


def _from_crate(pin: str, folder: Path, say: Say, is_built: bool) -> None:  # noqa: FBT001 (one of the functions of a table)
    """Copy the header from a crate. If no other pin has the library, build it from the crate's sources."""
    work = folder / "work"
    sources = crate_sources(pin, work) / "librdkafka"
    shutil.copy(sources / "src" / "rdkafka.h", folder / "include")
    if is_built:
        say(f"building librdkafka of {pin}: a minute or two")
        shutil.copytree(sources, work / "librdkafka")
        libraries = _built(work / "librdkafka", pin)
        shutil.copy(work / "librdkafka" / "src" / "librdkafka.a", folder / "lib")
        (folder / "lib" / "needs").write_text(" ".join(libraries), "utf-8")
    shutil.rmtree(work)


def _built(sources: Path, pin: str) -> list[str]:
    """Build the static library. Return the linker flags of its configuration."""
    for argv in (
        ["./configure", *(f"--disable-{feature}" for feature in _offered(sources))],
        [MAKE.required(), "-j2", "-C", "src", "librdkafka.a", f"CFLAGS={_FLAGS}"],
    ):
        done = run(argv, env={"CC": CC.required()}, cwd=sources)
        if done.returncode != 0:
            raise ProvisionError(f"{pin} could not be built: {last_words(done.stderr)}")
    found = re.findall(r"^LIBS\+?=\s*(.*)$", (sources / "Makefile.config").read_text("utf-8"), re.M)
    return [flag for line in found for flag in shlex.split(line) if flag.startswith("-l")]


def _offered(sources: Path) -> list[str]:
    """Return the unwanted features that this release's `configure` can disable."""
    script = (sources / "configure.self").read_text("utf-8", "replace")
    modules = {path.name.removeprefix("configure.lib") for path in (sources / "mklove" / "modules").glob("configure.lib*")}
    words = set(re.findall(r'"--(?:disable|enable)-([\w-]+)"', script)) | set(
        re.findall(r'mkl_toggle_option\s+"[^"]*"\s+\S+\s+"--(?:disable|enable)-([\w-]+)', script)
    )
    return [feature for feature in _WITHOUT if feature in words | modules]


def _from_wheel(pin: str, folder: Path, _say: Say, _is_built: bool) -> None:  # noqa: FBT001 (one of the functions of a table)
    """Copy the library and its companions from a wheel."""
    wheel = folder / "wheel"
    install_wheels([pin], wheel)
    for library in (wheel / "confluent_kafka.libs").glob("*.so*"):
        shutil.copy(library, folder / "lib")
    if not list((folder / "lib").glob("librdkafka*")):
        raise ProvisionError(f"the wheel of {pin} for this platform has no librdkafka in it")
    shutil.rmtree(wheel)


def _from_package(pin: str, folder: Path, _say: Say, _is_built: bool) -> None:  # noqa: FBT001 (one of the functions of a table)
    """Copy the library and the header from Debian packages, without installing them."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    done = run([_APT.required(), "download", pin.removeprefix("apt:")], cwd=work)
    if done.returncode != 0:
        if re.search(r"Version .* was not found|Unable to locate package", done.stderr):
            raise NoSuchRelease(pin)
        raise ProvisionError(f"{pin} could not be fetched: {last_words(done.stderr)}; are apt's lists up to date? (apt-get update)")
    for package in work.glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(work)])
    for found in [*work.glob("usr/lib/*/librdkafka.so.1"), *work.glob("usr/include/librdkafka/rdkafka.h")]:
        shutil.copy(found, folder / ("include" if found.suffix == ".h" else "lib"))
    shutil.rmtree(work)


_FROM: Final[Mapping[str, Callable[[str, Path, Say, bool], None]]] = {"crate": _from_crate, "wheel": _from_wheel, "package": _from_package}


def _compile(sources: Sequence[Path], installed: Path, program: Path) -> None:
    """Compile the shim against an installed release, and check that it starts."""
    libraries = sorted((installed / "lib").glob("librdkafka*"))
    needs = installed / "lib" / "needs"
    system = needs.read_text("utf-8").split() if needs.is_file() else []
    # The path is relative to the program, so that a cache can be moved.
    path = f"-Wl,-rpath,$ORIGIN/../{installed.name}/lib"
    linked = [*map(str, libraries), *system, *_SYSTEM, path, "-Wl,--allow-shlib-undefined"]
    done = run([CC.required(), *_STRICT, f"-I{installed / 'include'}", "-o", str(program), *map(str, sources), *linked])
    if done.returncode != 0:
        raise ProvisionError(f"the shim could not be compiled with {installed.name}: {last_words(done.stderr)}")
    started = run([str(program)])
    if started.returncode != 0:
        raise ProvisionError(f"{installed.name} does not run here: {last_words(started.stderr)}")
