from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest
from tests.project import ROOT


def test_spark_finds_a_module_at_the_top_with_the_source_that_it_looks_for() -> None:
    datasource = pytest.importorskip("pyspark.sql.datasource", reason="PySpark is not installed: pip install 'groupproof[spark]'")

    found = [iter_module.name for iter_module in iter_modules() if iter_module.name.startswith("pyspark_")]
    source = import_module("pyspark_groupproof").DefaultSource

    assert "pyspark_groupproof" in found
    assert issubclass(source, datasource.DataSource)
    assert source.name() == "groupproof"


def test_it_is_in_the_wheel() -> None:
    assert '"chaos/pyspark_groupproof.py" = "pyspark_groupproof.py"' in (ROOT / "pyproject.toml").read_text("utf-8")
