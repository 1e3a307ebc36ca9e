"""Builds images from local files, where the official ones are not available: Apache Kafka, Toxiproxy, and clients with their shims.

    python -m groupproof.chaos.images.build_images apache-kafka@4.1.0 toxiproxy kafka-python@2.2.3

It uses no image registry: the jars come from Maven, Toxiproxy from its source, clients from their own registries, as without containers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from groupproof.chaos.images.container_engine import Engine, engine
from groupproof.chaos.images.rootfs import RootFs
from groupproof.chaos.wire.toxiproxy_server import OWN_IMAGE, build_toxiproxy
from groupproof.clients.registry.install_cache import ProvisionError, Say, default_cache
from groupproof.clients.registry.provision import Launch, provision
from groupproof.clients.registry.registered_clients import RegisteredClient, UnknownClient, resolve
from groupproof.clients.registry.toolchains.java_archives import java_tool
from groupproof.clients.registry.toolchains.toolchain import SHIMS
from groupproof.harness.model.errors import BrokenEnvironment, RunError
from groupproof.harness.subjects.brokers.apache.broker_releases import releases
from groupproof.harness.subjects.brokers.apache.maven_kafka import provision_maven

__all__ = ["build_client", "build_kafka", "client_image", "main"]

_ENVIRONMENTS: Final = Path(__file__).with_name("environments")
_SHELL: Final = Path("/bin/sh")
_JAVA: Final = "/opt/java"
_PYTHON: Final = "/opt/python"
_MODULES: Final = "java.se,jdk.crypto.ec,jdk.management,jdk.net,jdk.security.auth,jdk.unsupported,jdk.zipfs"
_LINK_S: Final = 300
_UNWANTED: Final = frozenset({
    "__pycache__", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests", "tkinter", "turtledemo",
})  # fmt: skip


def build_kafka(containers: Engine, release: str, cache: Path, say: Say) -> str:
    """Build a broker's image, with the configuration of the official one; return its name. Raise `BrokenEnvironment`."""
    name = releases().own_image.format(release=release)
    jars = provision_maven(release, cache, say)
    if jars.needs.zookeeper:
        raise BrokenEnvironment(f"apache-kafka {release} needs ZooKeeper, and is run without containers")
    with _context("kafka") as (folder, files):
        _add_java(files, folder)
        files.add(_SHELL)
        files.add(jars.jars, "/opt/kafka/libs")
        files.add_libraries()
        files.write()
        say(f"building {name}")
        containers.build(name, folder)
    return name


def build_proxy(containers: Engine, cache: Path, say: Say) -> str:
    """Build Toxiproxy's image; return its name. Raise `BrokenEnvironment`."""
    with _context("toxiproxy") as (folder, _):
        shutil.copy(build_toxiproxy(cache, say), folder / "server")
        say(f"building {OWN_IMAGE}")
        containers.build(OWN_IMAGE, folder)
    return OWN_IMAGE


def client_image(client: RegisteredClient) -> str:
    """Return the image name of a client with its shim."""
    return f"groupproof/client-{client.name}:{client.release}"


def build_client(containers: Engine, client: RegisteredClient, cache: Path, say: Say) -> str:
    """Build a registered client's image, which speaks the shim contract on its standard streams; return its name. Raise `BrokenEnvironment`."""
    if client.shim is None:
        raise BrokenEnvironment(f"{client.name} runs in the kit's own process, and has no container image")
    add = _ADDERS.get(client.language)
    if add is None:
        raise BrokenEnvironment(f"no image is built for clients in {client.language}; {client.name} runs without containers")
    name, launch = client_image(client), provision(client, cache, say)
    with _context("client") as (folder, files):
        argv = add(files, launch, folder)
        files.add_libraries()
        files.write()
        with (folder / "Dockerfile").open("a") as dockerfile:
            dockerfile.writelines(f"ENV {key}={value}\n" for key, value in launch.env.items())
            dockerfile.write(f"ENTRYPOINT {json.dumps(argv)}\n")
        say(f"building {name}")
        containers.build(name, folder)
    return name


@contextmanager
def _context(environment: str) -> Iterator[tuple[Path, RootFs]]:
    """Yield the folder and the files from which the engine builds an environment."""
    with tempfile.TemporaryDirectory(prefix="groupproof-image-") as folder:
        shutil.copytree(_ENVIRONMENTS / environment, folder, dirs_exist_ok=True)
        yield Path(folder), RootFs(Path(folder) / "files.tar")


def _add_java_client(files: RootFs, launch: Launch, work: Path) -> list[str]:
    _add_java(files, work)
    path = launch.argv[launch.argv.index("-cp") + 1]
    for part in path.split(os.pathsep):
        files.add(Path(part.removesuffix(f"{os.sep}*")))
    return [f"{_JAVA}/bin/java", *launch.argv[1:]]


def _add_python_client(files: RootFs, launch: Launch, work: Path) -> list[str]:
    program = Path(sys.executable).resolve()
    standard = Path(sysconfig.get_path("stdlib"))
    files.add(program, f"{_PYTHON}/bin/python3")
    files.add(standard, f"{_PYTHON}/lib/{standard.name}", wanted=lambda path: path.name not in _UNWANTED and not path.name.startswith("config-"))
    files.add(SHIMS / "python", wanted=_is_wanted)
    files.add(Path(launch.env["PYTHONPATH"]), wanted=_is_wanted)
    return [f"{_PYTHON}/bin/python3", *launch.argv[1:]]


_ADDERS: Final = {"java": _add_java_client, "python": _add_python_client}


def _is_wanted(path: Path) -> bool:
    return path.name != "__pycache__"


def _add_java(files: RootFs, work: Path) -> None:
    """Add a Java runtime with the modules that brokers and clients need, made by the local JDK's jlink."""
    runtime = work / "runtime"
    options = ["--strip-debug", "--no-header-files", "--no-man-pages", "--add-modules", _MODULES, "--output", str(runtime)]
    argv = [java_tool("jlink"), *options]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LINK_S, check=False)
    if done.returncode != 0:
        raise BrokenEnvironment(f"jlink made no Java runtime: {' '.join((done.stdout + done.stderr).split())[-300:]}; a whole JDK is needed")
    files.add(runtime, _JAVA)
    (work / ".dockerignore").write_text("runtime\n")


def _builder(spec: str) -> Callable[[Engine, Path, Say], str]:
    name, _, release = spec.partition("@")
    if name == "toxiproxy":
        return build_proxy
    if name == "apache-kafka":
        return lambda containers, cache, say: build_kafka(containers, release or releases().default, cache, say)
    client = resolve(spec)
    return lambda containers, cache, say: build_client(containers, client, cache, say)


def main(specs: Sequence[str]) -> int:
    """Build the named images; return 0, or 2 where one cannot be built."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        with engine() as containers:
            for spec in specs or ("apache-kafka", "toxiproxy"):
                print(_builder(spec)(containers, default_cache(), say))
    except (RunError, ProvisionError, UnknownClient) as error:
        say(f"groupproof: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
