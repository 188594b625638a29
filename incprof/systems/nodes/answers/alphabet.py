"""An alphabet in a file (docs/reference/formats.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from incprof.errors import IncprofError, NoDataError
from incprof.model import FloatArray
from incprof.safe.atomic import replacing
from incprof.safe.inputs import read_input
from incprof.safe.jsontext import parse_json
from incprof.systems.nodes.analyse.comparable_rates import Scale
from incprof.systems.nodes.analyse.decode import Emissions
from incprof.systems.nodes.analyse.node_states import Alphabet, KnownRun, State, Stretch
from incprof.systems.nodes.analyse.power import PowerModel

SCHEMA = "incprof.dna-alphabet/1"
MOST_BYTES = 256 << 20
# Significant digits of numbers: measurements have fewer.
DIGITS = 9


def write_alphabet(alphabet: Alphabet, path: str) -> None:
    """Write an alphabet; equal alphabets produce identical bytes.

    Raises: OSError.
    """
    emissions = alphabet.emissions
    content = {
        "schema": SCHEMA,
        "simulated": alphabet.simulated,
        "counters": [{"name": n, "matters_from": _short(f)} for n, f in zip(*_scale(alphabet.scale), strict=True)],
        "whitening": _table(emissions.whitening),
        "stay": _short(emissions.stay),
        "strange": _short(emissions.strange),
        "states": [
            _state(s, m, d) for s, m, d in zip(alphabet.states, emissions.means, emissions.scatters, strict=True)
        ],
        "runs": [
            {
                "application": run.application,
                "node": run.node,
                "stretches": [
                    [s.state, round(s.begins_s, 6), round(s.ends_s, 6), _number(s.energy_j)] for s in run.stretches
                ],
            }
            for run in alphabet.runs
        ],
    }
    with replacing(Path(path)) as file:
        file.write(json.dumps(content, allow_nan=False).encode("ascii") + b"\n")


def read_alphabet(path: str) -> Alphabet:
    """Read an alphabet.

    Raises:
        NoDataError: it is not an alphabet, or is damaged.
        IncprofError: it cannot be read.
    """
    try:
        found = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise IncprofError(
            f"{path}: {error.strerror or error}: expected what incprof dna learn -o has written"
        ) from None
    except ValueError:
        raise NoDataError(f"{path}: no alphabet: expected what incprof dna learn -o has written") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise NoDataError(f"{path}: no alphabet of this release ({SCHEMA}): learn it again")
    try:
        return _understood(found)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise NoDataError(f"{path}: a damaged alphabet ({str(error)[:80]}): learn it again") from None


def _understood(found: dict[str, Any]) -> Alphabet:
    """Convert a JSON object to an alphabet, assuming that it is valid.

    Raises: KeyError, TypeError, ValueError, IndexError if it is not.
    """
    names = tuple(str(each["name"]) for each in found["counters"])
    scale = Scale(names, _array([each["matters_from"] for each in found["counters"]], (len(names),)))
    states = found["states"]
    shape = (len(states), len(names))
    emissions = Emissions(
        _array(found["whitening"], (len(names), len(names))), _array([s["mean"] for s in states], shape),
        _array([s["scatter"] for s in states], shape), float(found["stay"]), float(found["strange"]),
    )  # fmt: skip
    if not states or np.any(scale.floor <= 0) or np.any(emissions.scatters <= 0):
        raise ValueError("numbers that cannot be")
    made = tuple(
        State(
            at,
            str(s["name"]),
            bool(s["idle"]),
            _array(s["rates"], (len(names),)),
            s["letter"],
            _power(s["power"], len(names)),
        )
        for at, s in enumerate(states)
    )
    runs = tuple(
        KnownRun(str(run["application"]), str(run["node"]), tuple(_stretch(s, len(states)) for s in run["stretches"]))
        for run in found["runs"]
    )
    return Alphabet(scale, emissions, made, runs, bool(found["simulated"]))


def _stretch(found: list[Any], states: int) -> Stretch:
    state, begins, ends, joules = found
    if not -1 <= int(state) < states or not float(begins) < float(ends):
        raise ValueError("a stretch that cannot be")
    return Stretch(int(state), float(begins), float(ends), None if joules is None else float(joules))


def _state(state: State, mean: FloatArray, scatter: FloatArray) -> dict[str, object]:
    power = state.power
    return {
        "name": state.name,
        "idle": state.idle,
        "letter": state.letter,
        "rates": _table(state.rates),
        "mean": _table(mean),
        "scatter": _table(scatter),
        "power": None if power is None else {
            "base_w": _short(power.base_w), "watts_per": _table(power.watts_per), "mean_w": _short(power.mean_w),
            "low_w": _short(power.low_w), "high_w": _short(power.high_w),
        },
    }  # fmt: skip


def _power(found: dict[str, Any] | None, counters: int) -> PowerModel | None:
    if found is None:
        return None
    watts_per = _array(found["watts_per"], (counters,))
    return PowerModel(
        float(found["base_w"]), watts_per, float(found["mean_w"]), float(found["low_w"]), float(found["high_w"])
    )


def _scale(scale: Scale) -> tuple[tuple[str, ...], list[float]]:
    return scale.names, scale.floor.tolist()


def _array(found: object, shape: tuple[int, ...]) -> FloatArray:
    made = np.array(found, dtype=np.float64)
    if made.shape != shape or not np.isfinite(made).all():
        raise ValueError(f"{made.shape} numbers, {shape} expected")
    return made


def _table(values: FloatArray) -> list[Any]:
    return [_table(each) if np.ndim(each) else _short(each) for each in values]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _number(value: float | None) -> float | None:
    return None if value is None else _short(value)
