"""The colours and faces of a timeline; one set of names, two sets of values for light and dark."""

from __future__ import annotations

__all__ = ["HATCH", "STYLE"]

STYLE = """
.tl{--ink:#1f2733;--soft:#66717f;--line:#dbe1e8;--paper:#fff;--lane:#f4f6f9;--empty:#dde2e9;--unjoined:#c6ced8;--prep:#f6be56;--comp:#8eaaf6;
--stable:#67c196;--dead:#5b6573;--own:#dcf3e7;--ownline:#3c9a69;--fault:#c2255c;--faultfill:#fbdfe9;--bad:#c92a2a;--mark:#6741d9;--on:#14202c;
font:11px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
@media (prefers-color-scheme:dark){.tl{--ink:#e4e9f0;--soft:#95a1b1;--line:#2d3744;--paper:#141a22;--lane:#1a222c;--empty:#3a4552;--unjoined:#566272;
--prep:#d99a24;--comp:#6d8be8;--stable:#43a873;--dead:#8a94a3;--own:#193527;--ownline:#4fb985;--fault:#f06595;--faultfill:#48202f;--bad:#ff7b7b;
--mark:#a489fb;--on:#0b1017}}
.tl text{dominant-baseline:auto}.tl .paper{fill:var(--paper)}.tl .soft{fill:var(--soft);font-size:10px}.tl .name{font-weight:600;font-size:12px}
.tl .lane{fill:var(--lane)}.tl .grid{stroke:var(--line)}.tl .break{stroke:var(--soft);fill:none;stroke-width:1.2}
.tl .s-Empty{fill:var(--empty)}.tl .s-UNJOINED{fill:var(--unjoined)}.tl .s-PreparingRebalance,.tl .s-PREPARING_REBALANCE{fill:var(--prep)}
.tl .s-CompletingRebalance,.tl .s-COMPLETING_REBALANCE{fill:var(--comp)}.tl .s-Stable,.tl .s-STABLE{fill:var(--stable)}.tl .s-Dead{fill:var(--dead)}
.tl .on{fill:var(--on);font-size:10.5px;pointer-events:none}.tl .held{fill:url(#tl-held)}
.tl .owned{fill:var(--own);stroke:var(--ownline)}.tl .ownlabel{font-size:9.5px;pointer-events:none}
.tl .bar{fill:var(--faultfill);stroke:var(--fault);stroke-width:1.2}.tl .struck{fill:var(--fault)}
.tl .strike{stroke:var(--fault);stroke-dasharray:2 3}.tl .faultname{fill:var(--fault);font-weight:600;font-size:10.5px;pointer-events:none}
.tl .frame{fill:var(--soft)}.tl .beat{stroke:var(--soft);opacity:.55}.tl .bad{fill:var(--bad)}.tl .ev{fill:var(--ownline)}
.tl .badlabel{fill:var(--bad);font-size:9.5px;font-weight:600}.tl .cmd{fill:none;stroke:var(--mark);stroke-width:1.3}.tl .cmdlabel{fill:var(--mark);font-size:9.5px}
.tl .mark{stroke:var(--mark);stroke-dasharray:4 3}.tl .marklabel{fill:var(--mark);font-size:10.5px;font-weight:600}
.tl .late{stroke:var(--bad);stroke-dasharray:4 3}.tl .latelabel{fill:var(--bad);font-size:10.5px;font-weight:600}
.tl .lag{fill:var(--bad);opacity:.6}.tl .flag{fill:var(--bad);stroke:var(--paper);stroke-width:1.5}.tl .flagtext{fill:var(--paper);font-size:11px;font-weight:700;pointer-events:none}
"""

HATCH = (
    '<defs><pattern id="tl-held" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="3" height="6" fill="var(--ink)" opacity=".28"/></pattern></defs>'
)
