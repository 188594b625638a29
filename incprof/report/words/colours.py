"""How phases look in a terminal."""

from __future__ import annotations

COLOURS = ("blue", "dark_orange3", "green4", "red3", "purple", "cyan4", "deep_pink3", "gold3", "grey50", "navy_blue")


def style(label: int) -> str:
    """Return the colours of a phase's sign; a negative label stands for none."""
    return "dim" if label < 0 else f"bold white on {COLOURS[label % len(COLOURS)]}"
