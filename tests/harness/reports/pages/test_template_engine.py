from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from groupproof.harness.reports.pages.template_engine import environment, render


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("report.html.j2", run=None)


def test_the_engine_knows_times_and_brings_style_and_script() -> None:
    template = environment().from_string("{{ 1250 | ms }} {{ '<b>' }} {{ style | length > 1000 }} {{ script | length > 1000 }}")

    assert template.render() == "1.25 s &lt;b&gt; True True"
