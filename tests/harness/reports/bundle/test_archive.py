from __future__ import annotations

import io
import tarfile
from functools import partial

import pytest
import zstandard
from tests.harness.reports.bundle.made import Files, packed, unpacked

from groupproof.harness.reports.bundle import archive
from groupproof.harness.reports.bundle.archive import DamagedBundle, NotACertificate, pack, unpack

FILES: Files = {"manifest.json": b"{}", "report.json": b"x" * 513, "cases/a/trace.ndjson": bytes(range(256)) * 8, "cases/a/empty": b""}


def plain(contents: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(contents)


def frame(contents: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(contents)


def tar_of(*members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for tar_info in members:
            made.addfile(tar_info, io.BytesIO(b"x" * tar_info.size))
    return frame(out.getvalue())


def member(name: str, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def test_what_is_packed_comes_out_the_manifest_first() -> None:
    assert unpacked(packed(FILES)) == FILES
    assert list(unpacked(packed(FILES))) == ["manifest.json", "report.json", "cases/a/empty", "cases/a/trace.ndjson"]


def test_the_same_files_are_the_same_bytes_in_any_order_without_a_date_or_an_owner() -> None:
    assert packed(FILES) == packed(dict(reversed(FILES.items())))
    with tarfile.open(fileobj=io.BytesIO(plain(packed(FILES)))) as read:
        assert {(tar_info.mtime, tar_info.uid, tar_info.gid, tar_info.uname, tar_info.mode) for tar_info in read} == {(0, 0, 0, "", 0o644)}


def test_any_other_tar_reads_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(plain(packed(FILES)))) as read:
        assert {tar_info.name: tar_info.size for tar_info in read} == {name: len(data) for name, data in FILES.items()}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "not compressed by Zstandard"),
        (b"PK\3\4 and more", "not compressed by Zstandard"),
        (frame(b"no archive" * 100), "holds no tar archive"),
        (tar_of(member("/etc/passwd")), "'/etc/passwd' in it links to another place"),
        (tar_of(member("../evil")), "'../evil' in it links to another place"),
        (tar_of(member("cases/../../evil")), "links to another place"),
        (tar_of(member("a\\b")), "links to another place"),
        (tar_of(member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd")), "'link' in it is no plain file"),
        (tar_of(member("link", type=tarfile.LNKTYPE, linkname="x")), "'link' in it is no plain file"),
        (tar_of(member("null", type=tarfile.CHRTYPE)), "'null' in it is no plain file"),
        (tar_of(member("folder", type=tarfile.DIRTYPE)), "'folder' in it is no plain file"),
        (tar_of(member("a/" * 200 + "b")), "has a name that groupproof doesn't give"),
    ],
)
def test_what_groupproof_never_packs_is_no_certificate(contents: bytes, message: str) -> None:
    with pytest.raises(NotACertificate, match=message.replace("/", "/")):
        unpacked(contents)


def test_a_size_beyond_the_limit_is_refused_before_it_is_read() -> None:
    header = member("manifest.json", size=1 << 40).tobuf(tarfile.GNU_FORMAT)

    with pytest.raises(NotACertificate, match="no file of a certificate has more than 64 MiB"):
        unpacked(frame(header + bytes(1024)))


def test_a_bomb_is_refused_once_it_is_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "TOTAL_BYTES_MAX", 1 << 20)

    with pytest.raises(NotACertificate, match="unpacks to more than 1 MiB"):
        unpacked(packed({f"cases/{number}": bytes(1 << 18) for number in range(9)}))


def test_more_files_than_a_certificate_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "FILES_MAX", 3)

    with pytest.raises(NotACertificate, match="more than 3 files"):
        unpacked(packed(FILES))


@pytest.mark.parametrize("cut", [5, 40, -1, -4])
def test_one_that_is_cut_short_is_damaged(cut: int) -> None:
    with pytest.raises(DamagedBundle, match="cut short"):
        unpacked(packed(FILES)[:cut])


def test_something_behind_its_end_is_damage() -> None:
    for more in (b"x", packed(FILES)):
        with pytest.raises(DamagedBundle, match="there is data after its end"):
            unpacked(packed(FILES) + more)


def test_a_file_in_another_place_or_twice_is_damage() -> None:
    manifest, report = (archive._header(name, 0) for name in ("manifest.json", "report.json"))

    for headers in (report + manifest, manifest + manifest):
        with pytest.raises(DamagedBundle, match="where groupproof does not put it"):
            unpacked(frame(headers + archive._end(len(headers))))


@pytest.mark.parametrize("at", [0o136 + 10, 512 + 2 + 5, -1])
def test_a_date_padding_or_an_end_that_was_changed_is_damage(at: int) -> None:
    """Nothing of it is contents, so that no hash of a file sees it."""
    changed = bytearray(plain(packed({"manifest.json": b"{}"})))
    if 0 < at < 512:
        changed[:512] = member("manifest.json", size=2, mtime=7).tobuf(tarfile.USTAR_FORMAT)
    else:
        changed[at] ^= 1

    with pytest.raises(DamagedBundle, match="not as it was packed"):
        unpacked(frame(bytes(changed)))


def test_no_bit_can_be_flipped_that_changes_the_contents_unseen() -> None:
    whole = packed(FILES)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        try:
            assert unpacked(bytes(changed)) == FILES
        except (DamagedBundle, NotACertificate):
            continue


def test_a_name_that_no_header_takes_is_not_packed() -> None:
    with pytest.raises(ValueError, match="name is too long"):
        pack([("x" * 300, 0, partial(io.BytesIO, b""))], io.BytesIO())


def test_nothing_is_read_before_it_is_asked_for() -> None:
    files = unpack(io.BytesIO(b"nothing of the kind"))

    with pytest.raises(NotACertificate):
        next(files)
