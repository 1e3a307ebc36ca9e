"""librdkafka out of crates, wheels and Debian's packages. Fakes on PATH stand for cargo, make, apt-get and the compiler; the tests of the shims have the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains import librdkafka_libraries
from groupproof.clients.registry.toolchains.librdkafka_libraries import LibrdkafkaLibraries
from groupproof.clients.registry.toolchains.programs import NoSuchRelease

# The program that the compiler makes says how it was compiled, and ends well unless a file says otherwise.
CC = 'echo "$*" >> {notes}\nwhile [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done\n'
CC += 'printf "#!/bin/sh\\ntest ! -f {broken} || {{ echo no such library >&2; exit 127; }}\\n" > "$out"; chmod +x "$out"\n'
CONFIGURE = '#!/bin/sh\necho "configure $*" >> {notes}\nprintf "LIBS+=  -lm -lrt -L/x\\nCFLAGS+= -lno\\n" > Makefile.config\n'
MAKE = 'echo "make $*" >> {notes}\necho archive > src/librdkafka.a\n'
APT = 'echo "apt-get $*" >> {notes}\ntouch "$2.deb"\n'
DPKG = 'mkdir -p "$3/usr/lib/any" "$3/usr/include/librdkafka"\necho library > "$3/usr/lib/any/librdkafka.so.1"\necho header > "$3/usr/include/librdkafka/rdkafka.h"\n'


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fakes on PATH, and sources where cargo keeps them; return the notes."""
    path, binaries = tmp_path / "notes", tmp_path / "bin"
    path.touch()
    for name, script in (("cc", CC), ("make", MAKE), ("apt-get", APT), ("dpkg-deb", DPKG)):
        fake_program(binaries / name, "PATH=/usr/bin:/bin\n" + script.format(notes=path, broken=tmp_path / "broken"))
    sources = tmp_path / "crate" / "librdkafka"
    (sources / "src").mkdir(parents=True)
    (sources / "mklove" / "modules").mkdir(parents=True)
    (sources / "mklove" / "modules" / "configure.libssl").touch()
    (sources / "src" / "rdkafka.h").write_text("header")
    (sources / "configure.self").write_text('mkl_toggle_option "Feature" ENABLE_GSSAPI "--enable-gssapi" "Enable SASL GSSAPI"\n')
    (sources / "configure").write_text(CONFIGURE.format(notes=path))
    (sources / "configure").chmod(0o755)

    def fetched(pin: str, work: Path) -> Path:
        work.mkdir()
        path.write_text(path.read_text() + f"crate {pin}\n")
        return sources.parent

    def installed(requires: list[str], folder: Path) -> None:
        path.write_text(path.read_text() + f"wheel {' '.join(requires)}\n")
        (folder / "confluent_kafka.libs").mkdir(parents=True)
        (folder / "confluent_kafka.libs" / "librdkafka-0a1b.so.1").write_text("library")

    monkeypatch.setattr(librdkafka_libraries, "crate_sources", fetched)
    monkeypatch.setattr(librdkafka_libraries, "install_wheels", installed)
    monkeypatch.setenv("PATH", str(binaries))
    return path


def _built(subject: str, cache: Path) -> tuple[Path, str]:
    client, toolchain = resolve(subject), LibrdkafkaLibraries()
    installed = toolchain.install(client, cache, print)
    return installed, toolchain.start(client, installed, toolchain.build(client, installed, cache, print)).argv[0]


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_crates_sources_are_built_without_what_this_release_can_do_without(notes: Path, tmp_path: Path) -> None:
    installed, program = _built("librdkafka@1.8.2", tmp_path / "cache")
    asked = notes.read_text().splitlines()

    assert asked[:2] == ["crate rdkafka-sys@4.2.0+1.8.2", "configure --disable-ssl --disable-gssapi"]
    assert asked[2].startswith("make -j2 -C src librdkafka.a CFLAGS=-std=gnu99 ")
    assert _files(installed) == ["include/rdkafka.h", "lib/librdkafka.a", "lib/needs"]
    assert (installed / "lib" / "needs").read_text() == "-lm -lrt"
    assert asked[3].startswith("-std=c99 ")
    assert f"{installed}/lib/librdkafka.a -lm -lrt " in asked[3]
    assert "json_test.c" not in asked[3]
    assert "/c/shim-librdkafka-1.8.2-" in program


def test_a_wheels_library_is_used_with_the_header_of_a_crate_that_is_not_built(notes: Path, tmp_path: Path) -> None:
    installed, _ = _built("librdkafka@2.16.0", tmp_path / "cache")
    asked = notes.read_text().splitlines()

    assert asked[:2] == ["crate rdkafka-sys@4.5.0+1.9.2", "wheel confluent-kafka==2.16.0"]
    assert _files(installed) == ["include/rdkafka.h", "lib/librdkafka-0a1b.so.1"]
    assert f"-Wl,-rpath,$ORIGIN/../{installed.name}/lib" in asked[2]


def test_debians_packages_are_unpacked_and_not_installed(notes: Path, tmp_path: Path) -> None:
    installed, _ = _built("librdkafka@2.0.2", tmp_path / "cache")

    assert notes.read_text().splitlines()[:2] == ["apt-get download librdkafka1=2.0.2-1", "apt-get download librdkafka-dev=2.0.2-1"]
    assert _files(installed) == ["include/rdkafka.h", "lib/librdkafka.so.1"]


@pytest.mark.parametrize(
    ("complaint", "error", "message"),
    [
        ("E: Version '2.0.2-1' for 'librdkafka1' was not found", NoSuchRelease, "apt:librdkafka1=2.0.2-1"),
        ("E: Failed to fetch http://deb", ProvisionError, r"could not be fetched: E: Failed to fetch .*apt-get update"),
    ],
)
def test_a_refusal_of_apt_has_its_own_error(complaint: str, error: type[Exception], message: str, notes: Path, tmp_path: Path) -> None:
    fake_program(tmp_path / "bin" / "apt-get", f'echo "{complaint}" >&2; exit 100')

    with pytest.raises(error, match=message):
        _built("librdkafka@2.0.2", tmp_path / "cache")


def test_a_library_that_does_not_run_here_says_so(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()

    with pytest.raises(ProvisionError, match=r"librdkafka-2\.16\.0-.* does not run here: no such library"):
        _built("librdkafka", tmp_path / "cache")


def test_what_is_in_the_cache_needs_no_compiler(notes: Path, tmp_path: Path) -> None:
    first = _built("librdkafka", tmp_path / "cache")
    (tmp_path / "bin" / "cc").unlink()

    assert _built("librdkafka", tmp_path / "cache") == first


def test_without_a_compiler_the_error_says_how_to_get_one(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "cc").unlink()

    with pytest.raises(ProvisionError, match=r"no cc here: install a C compiler \(Debian: apt-get install gcc\); it is needed for librdkafka"):
        _built("librdkafka", tmp_path / "cache")


def test_sources_that_cannot_be_built_say_why(notes: Path, tmp_path: Path) -> None:
    fake_program(tmp_path / "bin" / "make", "echo 'error: no space' >&2; exit 2")

    with pytest.raises(ProvisionError, match=r"rdkafka-sys@4\.2\.0\+1\.8\.2 could not be built: error: no space"):
        _built("librdkafka@1.8.2", tmp_path / "cache")
