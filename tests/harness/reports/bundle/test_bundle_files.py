from __future__ import annotations

from groupproof.harness.reports.bundle.bundle_files import FILE_BYTES_MAX, MANIFEST, REPORT, SIGNATURE, TOTAL_BYTES_MAX, rank


def test_what_says_how_to_read_the_rest_comes_first_and_the_rest_by_name() -> None:
    names = ["cases/b/trace.ndjson", REPORT, "expectations/1-x.toml", SIGNATURE, "cases/a/plan.json", MANIFEST]

    assert sorted(names, key=rank) == [MANIFEST, SIGNATURE, REPORT, "cases/a/plan.json", "cases/b/trace.ndjson", "expectations/1-x.toml"]


def test_one_file_never_fills_a_certificate() -> None:
    assert FILE_BYTES_MAX < TOTAL_BYTES_MAX
