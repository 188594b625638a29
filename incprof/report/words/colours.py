"""Colours of phases, the same in a terminal, on a page and in a plot, and of functions, which differ from them.

Phases have Okabe and Ito's colours (Color Universal Design, 2008), without their yellow and black; then the same again
with a mark. Functions have muted colours. All are distinguishable with any kind of colour vision.
"""

from __future__ import annotations

PHASES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
FUNCTIONS = {
    "light": (
        "#2a6b4c #9cfaf1 #cf9eb8 #422400 #4d3871 #1b5331 #d3f1b6 #9caf75 #82dbff #feba8d #00303f #b5ccc8"
    ).split(),
    "dark": ("#8a5a83 #c1ffdb #033d5e #96b898 #663006 #4e643e #ebe99a #ccbfe3 #075a5e #4b2d33 #c9dfe8 #edc2b4").split(),
}
# Of intervals without a phase, and of all other functions.
NO_PHASE = {"light": "#c9cdcb", "dark": "#4a5157"}
REST = {"light": "#d6d9d8", "dark": "#454c52"}
DARK_INK, LIGHT_INK = "#101418", "#ffffff"


def phase_colour(label: int) -> str:
    """Return the colour of a phase; empty for no phase."""
    return "" if label < 0 else PHASES[label % len(PHASES)]


def marked(label: int) -> bool:
    """Return whether a phase reuses the colour of an earlier one, with a mark."""
    return label >= len(PHASES)


def ink_on(colour: str) -> str:
    """Return a legible text colour for a background."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return DARK_INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 else LIGHT_INK


def style(label: int) -> str:
    """Return the terminal colours of a phase's sign; a negative label stands for no phase."""
    if label < 0:
        return "dim"
    colour = phase_colour(label)
    return f"bold{' underline' if marked(label) else ''} {ink_on(colour)} on {colour}"
