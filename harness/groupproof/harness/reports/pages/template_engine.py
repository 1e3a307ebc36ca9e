"""The pages' template engine: all text from a client is escaped, and a missing name is an error.

What templates mark as `safe` is made here: the style, the script, and pictures whose texts `svg.py` escapes.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from groupproof.harness.reports.pictures.palette import page_variables, picture_style
from groupproof.harness.reports.pictures.svg import time_label

__all__ = ["environment", "render"]

_TEMPLATES = "groupproof.harness.reports"


@cache
def environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_TEMPLATES, "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["ms"] = time_label
    environment.globals["style"] = page_variables() + _read("page.css") + picture_style(alone=False)
    environment.globals["script"] = _read("page.js")
    return environment


def _read(name: str) -> str:
    return (resources.files(_TEMPLATES) / "templates" / name).read_text(encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """Return the page. `values` are the names that its template uses."""
    return environment().get_template(template).render(**values)
