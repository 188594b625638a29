"""Advice for people: what was measured, then what is advised, marked as such."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.advice import Advice
from incprof.report.text.folding import folded
from incprof.report.words import advice as say


def write_text(found: Advice, out: TextIO, *, width: int) -> None:
    """Write the effects of each setting, and the advice."""
    if found.effects:
        runs = f"{found.runs} run{'s' * (found.runs != 1)} of each"
        out.write(f"measured against {found.baseline.name}, {runs}, 95 % intervals\n")
    setting = None
    for effect in found.effects:
        if effect.setting != setting:
            setting = effect.setting
            out.write(f"\n{setting.name}\n")
        hardly = "; hardly depends on it" if effect.hardly else ""
        for line in folded(f"{say.subject(effect)}: {say.change(effect)}{hardly}", width, "  ", "    "):
            out.write(line + "\n")
        for line in folded(f"saves {say.saving(effect.saving)}", width, "    ", "    ") if effect.saving else ():
            out.write(line + "\n")
    if found.effects:
        out.write("\n")
    lines = [say.advice_line(effect) for effect in found.effects if effect.advised]
    lines += [say.rule_line(rule) for rule in found.rules]
    for text in lines or [say.no_advice(found)]:
        for line in folded(text, width, "advice: ", "        "):
            out.write(line + "\n")
    for text in found.not_measured:
        for line in folded(text, width, "note: ", "      "):
            out.write(line + "\n")
