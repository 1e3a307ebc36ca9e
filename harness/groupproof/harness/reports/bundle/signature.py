"""The signature of a certificate: made on its manifest and checked by OpenSSH's own `ssh-keygen -Y` (PROTOCOL.sshsig).

The manifest contains the SHA-256 of every other file, so its signature covers all of them. The user is never prompted: a key with a passphrase is
used through ssh-agent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage

__all__ = ["NAMESPACE", "BadSignature", "Signature", "check_key", "checked", "is_there", "sign", "signed_by"]

NAMESPACE: Final = "groupproof-bundle"
"""The purpose of the signature, so that one made for another purpose never passes here."""

_TOOL: Final = "ssh-keygen"
_WITHIN_S: Final = 30.0
_DATA: Final = "manifest.json"


class BadSignature(Exception):
    """The signature does not belong to this manifest, or its signer is not allowed. `str()` says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A signature that fits its manifest. `key` is the fingerprint. `signer` is its owner by a file of allowed signers, if there is one."""

    key: str
    signer: str | None = None


def is_there() -> bool:
    """Return whether signatures can be made and checked here."""
    return shutil.which(_TOOL) is not None


def check_key(key: Path) -> None:
    """Raise `WrongUsage` or `BrokenEnvironment` where `sign` would. Called before a run, so that the run is not wasted."""
    sign(b"{}", key)


def sign(manifest: bytes, key: Path) -> bytes:
    """Return the signature by a private key, or by the key in ssh-agent that belongs to a public key.

    Raise `WrongUsage` for a file that is no such key, and `BrokenEnvironment` where there is no ssh-keygen.
    """
    if not key.is_file():
        raise WrongUsage(f"can't read the key {key}; name a private SSH key, or the public one of a key that ssh-agent holds")
    with _beside(manifest) as data:
        done = _run(["-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE, str(data)])
        if done.returncode:
            raise WrongUsage(f"can't sign with {key}: {_last_lines(done)}; a key with a passphrase must be in ssh-agent: give its .pub")
        return data.with_name(f"{_DATA}.sig").read_bytes()


def signed_by(manifest: bytes, signature: bytes) -> Signature:
    """Return the key that signed the manifest. Its owner is not checked. Raise `BadSignature` where the signature does not belong to this manifest."""
    with _beside(manifest, signature) as data:
        done = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", f"{data}.sig"], manifest)
    if done.returncode:
        raise BadSignature(f"the signature is not one of this manifest: {_last_lines(done)}")
    return Signature(key=_key_in(done))


def checked(manifest: bytes, signature: bytes, signers: Path) -> Signature:
    """Return the signer, by a file of allowed signers (ssh-keygen(1), "ALLOWED SIGNERS").

    Raise `BadSignature` where the signature does not belong to this manifest or to a signer in the file. Raise `WrongUsage` where the file cannot
    be read.
    """
    if not signers.is_file():
        raise WrongUsage(f"can't read the allowed signers {signers}; name a file with lines such as: releases@example.org ssh-ed25519 AAAA…")
    found = signed_by(manifest, signature)
    allowed = str(signers.absolute())
    with _beside(manifest, signature) as data:
        principals = _run(["-Y", "find-principals", "-s", f"{data}.sig", "-f", allowed, "-n", NAMESPACE])
        for signer in principals.stdout.decode(errors="replace").replace(",", "\n").split() if not principals.returncode else ():
            done = _run(["-Y", "verify", "-f", allowed, "-I", signer, "-n", NAMESPACE, "-s", f"{data}.sig"], manifest)
            if not done.returncode:
                return Signature(key=found.key, signer=signer)
    raise BadSignature(f"it is signed by the key {found.key}, which belongs to no signer in {signers}")


@contextmanager
def _beside(manifest: bytes, signature: bytes | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="groupproof-") as folder:
        data = Path(folder) / _DATA
        data.write_bytes(manifest)
        if signature is not None:
            data.with_name(f"{_DATA}.sig").write_bytes(signature)
        yield data


def _run(arguments: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen so that it cannot prompt the user."""
    tool = shutil.which(_TOOL)
    if tool is None:
        raise BrokenEnvironment(f"there is no {_TOOL} here, which makes and checks signatures; install OpenSSH's client")
    silent = {**os.environ, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    try:
        return subprocess.run(
            [tool, *arguments], input=stdin, capture_output=True, env=silent, timeout=_WITHIN_S, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BrokenEnvironment(f"{_TOOL} has not answered within {_WITHIN_S:.0f} s") from error


def _last_lines(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + b"\n" + done.stdout).decode(errors="replace").split("\n")
    return next((line.strip().rstrip(".\r") for line in lines if line.strip()), "it said nothing")


def _key_in(done: subprocess.CompletedProcess[bytes]) -> str:
    words = (done.stdout + b" " + done.stderr).decode(errors="replace").split()
    return next((word for word in words if word.startswith("SHA256:")), "unknown")
