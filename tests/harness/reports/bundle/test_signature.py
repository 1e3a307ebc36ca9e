from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.reports.bundle.keys import key

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.reports.bundle import signature as signature_module
from groupproof.harness.reports.bundle.signature import BadSignature, check_key, checked, is_there, sign, signed_by

MANIFEST = b'{"schema": "x"}\n'


def test_a_signature_tells_its_key_and_whose_that_is(tmp_path: Path) -> None:
    mine = key(tmp_path, "mine")
    signers = tmp_path / "signers"
    public = mine.with_suffix(".pub").read_text()
    signers.write_text(f"# makers\nsomebody@example.org,releases@example.org {public}")

    signature = sign(MANIFEST, mine)

    assert signed_by(MANIFEST, signature).key.startswith("SHA256:")
    found = checked(MANIFEST, signature, signers)
    assert found.signer in ("somebody@example.org", "releases@example.org")
    assert found.key == signed_by(MANIFEST, signature).key


def test_a_changed_manifest_and_another_signature_are_reported(tmp_path: Path) -> None:
    signature = sign(MANIFEST, key(tmp_path, "mine"))

    with pytest.raises(BadSignature, match="the signature is not one of this manifest"):
        signed_by(MANIFEST + b" ", signature)
    with pytest.raises(BadSignature, match="the signature is not one of this manifest"):
        signed_by(MANIFEST, b"no signature at all")


def test_a_key_that_belongs_to_no_signer_is_reported(tmp_path: Path) -> None:
    signers = tmp_path / "signers"
    signers.write_text(f"releases@example.org {key(tmp_path, 'theirs').with_suffix('.pub').read_text()}")

    with pytest.raises(BadSignature, match="which belongs to no signer in"):
        checked(MANIFEST, sign(MANIFEST, key(tmp_path, "mine")), signers)
    with pytest.raises(WrongUsage, match="can't read the allowed signers"):
        checked(MANIFEST, b"", tmp_path / "none")


def test_a_key_that_can_not_sign_is_reported_before_a_run_and_nobody_is_asked_for_a_passphrase(tmp_path: Path) -> None:
    check_key(key(tmp_path, "mine"))
    (tmp_path / "text").write_text("no key")

    for path, message in (
        (tmp_path / "none", "can't read the key"),
        (tmp_path / "text", "can't sign with"),
        (key(tmp_path, "locked", passphrase="open"), "ssh-agent"),
    ):
        with pytest.raises(WrongUsage, match=message):
            check_key(path)


def test_without_ssh_keygen_there_are_no_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = key(tmp_path, "mine")
    assert is_there()
    monkeypatch.setattr(signature_module, "_TOOL", "ssh-keygen-of-another-machine")

    assert not is_there()
    with pytest.raises(BrokenEnvironment, match="install OpenSSH"):
        sign(MANIFEST, mine)
