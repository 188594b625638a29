"""Names of linkers, as the symbols of a program may have them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from soak.mutate import TEXT, Mutator, mutate
from soak.subject import Command, Subject

NAMES = b"""main
_ZN4mesh5applyIdEEvRKSt6vectorIT_SaIS2_EE
_ZNSt6vectorIiSaIiEE9push_backERKi
_ZZN4mesh5applyIdEEvRKSt6vectorIT_SaIS2_EEENKUlT_E_clIiEEDaS5_
_ZNK3foo3barILi3EEclEv.isra.0.cold
_ZTv0_n24_N1AD0Ev
_Z1fIJidcEEvDpT_
_Z3addIiEDTplfp_fp_ET_S0_
_ZNSt8functionIFviEEC1IZ4mainEUliE_vvEET_
_Z1gDv4_fPFivE
_ZGVZ1fvE1x
__heat_MOD_step
heat_
step_.constprop.0
"""
PIECES = (
    b"S_", b"S0_", b"SZ_", b"T_", b"T0_", b"TL0__", b"Dp", b"sp", b"I", b"J", b"E", b"N", b"Z", b"St", b"Sa", b"L",
    b"Li0E", b"X", b"DT", b"dt", b"fp_", b"cl", b"cv", b"Ul", b"Ut_", b"F", b"P", b"R", b"K", b"M", b"A", b"A9_",
    b"Dv4_", b"999999999a", b"1a", b"_Z", b"W", b"B3abi", b".clone.0", b"@@V", b"U8__vector", b"on", b"gs", b"sr",
    b"sZ", b"il", b"tl", b"nw", b"aSE", b"__", b"_MOD_", b"_ZGR", b"Q",
)  # fmt: skip


def insert_piece(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A part of a mangled name stands somewhere, or many times."""
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(PIECES) * dice.choice((1, 1, 1, 1, 2, 8, 40, 900)) + data[at:]


MUTATORS: tuple[Mutator, ...] = (*TEXT, *[insert_piece] * 2 * len(TEXT))


def mutate_names(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage to a list of names."""
    return mutate(dice, data, others, MUTATORS)


def subjects() -> list[Subject]:
    """A list of names: each alone, and all."""
    commands: tuple[tuple[float, Command], ...] = ((1, ("read-names", "names")),)
    seeds = [{"names": line} for line in NAMES.splitlines()]
    return [Subject("mangled", 8, [*seeds, {"names": NAMES}], "names", mutate_names, commands)]
