"""The colours of a page: distinct for eyes of all kinds, and readable with the text on them."""

from itertools import combinations

import numpy as np
import pytest

from incprof.report.words import colours as palette

# Machado, Oliveira and Fernandes (2009), severity 1: what colours are to eyes that lack a kind of cone. Linear RGB.
EYES = {
    "all": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Ottosson's Oklab: distances as they are seen; 0.02 is just noticed side by side.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
SEEN = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]
LEAST = 0.055


def colours(name, tone=None):
    found = getattr(palette, name)
    found = found[tone] if tone else list(found.values()) if isinstance(found, dict) else found
    return list(found)


def linear(colour):
    part = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def seen(colour, eyes):
    return np.array(SEEN) @ np.cbrt(np.array(CONES) @ np.clip(np.array(EYES[eyes]) @ linear(colour), 0, 1))


def contrast(one, other):
    light, dark = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (one, other)), reverse=True)
    return light / dark


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("name", [("PHASES", None), ("FUNCTIONS", "light"), ("FUNCTIONS", "dark")])
def test_no_two_colours_are_alike(name, eyes):
    found = colours(*name)
    assert len(found) == (6 if name[0] == "PHASES" else 12)
    near = {pair: np.linalg.norm(seen(pair[0], eyes) - seen(pair[1], eyes)) for pair in combinations(found, 2)}
    assert min(near.values()) >= LEAST, min(near, key=near.get)


@pytest.mark.parametrize("name", [("PHASES", None), ("FUNCTIONS", "light"), ("FUNCTIONS", "dark"), ("REST", None)])
def test_names_can_be_read_on_every_colour(name):
    for colour in colours(*name):
        ink = palette.ink_on(colour)
        assert contrast(colour, ink) >= 4.5, colour


@pytest.mark.parametrize("tone", ["light", "dark"])
def test_no_function_has_a_colour_that_a_phase_could_have(tone):
    phases, functions = colours("PHASES"), colours("FUNCTIONS", tone)
    for eyes in EYES:
        assert min(np.linalg.norm(seen(p, eyes) - seen(f, eyes)) for p in phases for f in functions) >= LEAST
    assert max(map(chroma, functions)) < min(map(chroma, phases))


def chroma(colour):
    return float(np.hypot(*seen(colour, "all")[1:]))
