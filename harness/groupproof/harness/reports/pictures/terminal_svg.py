"""Terminal output as a picture that loads nothing. Pure."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["terminal_svg"]

_WIDTH: Final = 150
_FORMAT: Final = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")
"""rich's own format, without the fonts that it would fetch."""


def terminal_svg(content: RenderableType, title: str, *, width: int = _WIDTH) -> str:
    """Return the picture. The same text gives the same picture."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    console.print(content, highlight=False, soft_wrap=False)
    return console.export_svg(title=title, code_format=_FORMAT)
