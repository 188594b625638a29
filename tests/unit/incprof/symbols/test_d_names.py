"""Names of D, against binutils' c++filt, whose spelling is D's own; and what is none."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.model.names import is_entry, parse
from incprof.report.words.display_names import short
from incprof.symbols.demangle import display_names, longest

# As gdc 12 and ldc 1.30 have made them, and how D spells them.
MADE = {
    "_D6solver3app__T4MeshTdZQi5sweepMFNaNbNiNfiZv": "solver.app.Mesh!(double).Mesh.sweep(int)",
    "_D6solver3app4Deep4stepMFdZd": "solver.app.Deep.step(double)",
    "_D6solver3app__T7reduce2S_DQzQu4workFdZdTdZQBbFAdZd":
        "solver.app.reduce2!(solver.app.work(double), double).reduce2(double[])",
    "_D3std5range__T4iotaTiTiZQkFiiZ6Result5emptyMxFNaNbNdNiNfZb":
        "std.range.iota!(int, int).iota(int, int).Result.empty() const",
    "_D2rt3dso12register_dsoFZv": "rt.dso.register_dso()",
    "_D2rt5minfo11ModuleGroup12sortCtorsOldMFAAiZ8StackRec9__xtoHashFNbNeKxSQCrQCrQCoQCeMFQBtZQBtZm":
        "rt.minfo.ModuleGroup.sortCtorsOld(int[][]).StackRec.__xtoHash"
        "(ref const(rt.minfo.ModuleGroup.sortCtorsOld(int[][]).StackRec))",
}  # fmt: skip
# Written by hand, after the grammar.
WRITTEN = {
    "_D1a1fFiZv": "a.f(int)",
    "_D1a1fFiYv": "a.f(int, ...)",
    "_D1a1fFAiXv": "a.f(int[]...)",
    "_D1a1fFJiKdLaIbMPvNkAhZv": "a.f(out int, ref double, lazy char, in bool, scope void*, return ubyte[])",
    "_D1a1fFHAyaG4fZv": "a.f(float[4][immutable(char)[]])",
    "_D1a1fFDFNaNfiZdPUkZvZv": "a.f(double(int) pure @safe delegate, extern(C) void(uint) function)",
    "_D1a1S4callMxFOmNgtyhZv": "a.S.call(shared(ulong), inout(ushort), immutable(ubyte)) const",
    "_D1a1S6__ctorMFiZv": "a.S.this(int)",
    "_D1a1S6__dtorMFZv": "a.S.~this()",
    "_D1a__T1fVii5VlN7Vbi1Vai99VAyaa2_6f6bZ1fFZv": 'a.f!(5, -7L, true, \'c\', "ok").f()',
    "_D1a__T1fVdeNA8P6VrcNANcINFVS1a1PS2i1i2VAiA2i3N4VHiiA1i5i6VPvnZ1fFZv":
        "a.f!(-0xA.8p6, NaN+Infi, a.P(1, 2), [3, -4], [5:6], null).f()",
    "_D1a__T1gX3absZ1gFZv": "a.g!(abs).g()",
    "_D1a1fFNhG4fzizkZv": "a.f(__vector(float[4]), cent, ucent)",
    "_D1a23__T1gS12_D1a3absFiZiTiZ1gFZv": "a.g!(a.abs(int), int).g()",
    "_D1a1fFB2idZv": "a.f(Tuple!(int, double))",
    "_D1a1bFZ1cMFZ1dFZv": "a.b().c().d()",
}  # fmt: skip


def spelled(name: str) -> str:
    """What D writes, as it is written here: `::` and `<>`, and a template of one thing of its name said once."""
    closing: list[str] = []
    text = ""
    for token in re.findall(r"\"[^\"]*\"|'[^']*'|0x[^,]*|!\(|\.\.\.|.", name):
        if token in ("!(", "("):
            closing.append(">" if token == "!(" else ")")
            text += "<" if token == "!(" else "("
        elif token == ")":
            text += closing.pop()
        else:
            text += "::" if token == "." else token
    before = ""
    while before != text:
        before, text = text, re.sub(r"\b(\w+)(<[^<>]*>)::\1\b(?!<)", r"\1\2", text)
    return text


NAMES = {mangled: spelled(name) for mangled, name in {**MADE, **WRITTEN}.items() if name}


@pytest.mark.parametrize(("mangled", "name"), NAMES.items())
def test_names_of_d(mangled: str, name: str) -> None:
    assert display_names([mangled]) == [name]


def test_binutils_spell_them_as_d_does() -> None:
    tool = shutil.which("c++filt")
    if tool is None:
        pytest.skip("c++filt is not here: install binutils")
    names = {**MADE, **WRITTEN}
    done = subprocess.run([tool, "-s", "dlang"], input="\n".join(names), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(names.values())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("solver::app::Mesh<double>::sweep(int)", "Mesh::sweep"),
        ("std::range::iota<int, int>(int, int)::Result::empty() const", "Result::empty"),
        ("a::g<void(int) pure delegate>(ref int)", "a::g"),
        ("a::S::~this()", "S::~this"),
        ("D main", "main"),
    ],
)  # fmt: skip
def test_short_names(name: str, shown: str) -> None:
    assert short(name) == shown


def test_where_a_program_begins() -> None:
    assert display_names(["_Dmain", "_Dmain.cold"]) == ["D main", "D main [clone .cold]"]
    assert is_entry("_Dmain")
    assert parse("D main [clone .cold]").written == "main"


def test_marks_of_clones() -> None:
    (name,) = display_names(["_D1a1fFiZv.constprop.0"])
    assert (name, parse(name).marks) == ("a::f(int) [clone .constprop.0]", ".constprop.0")


def test_text_that_looks_like_brackets_is_left_out() -> None:
    assert display_names(["_D1a__T1fVAyaa1_3cZ1fFZv"]) == ['a::f<"...">()']


@pytest.mark.parametrize(
    "name",
    [
        "_D", "_DYNAMIC", "_Dmains", "_D1", "_D1aF", "_D1a1fFiZ", "_D1a1fFiZvv", "_D2a", "_D1a1fFQaZv", "_D1a1fFQzZv",
        "_D1a1fFNzZv", "_D1a__T1fTiFZv", "_D1a__T1fVi", "_D1a__T1fVAyaa2_zzzzZ1fFZv", "_D1a22__T1fTiZ1fFZv", "_D0",
        "_D1a1fF" + "P" * 100_000 + "iZv", "_DTi16_D1a1fFZv", "_D1a1fFZv.ä b",
    ],
)  # fmt: skip
def test_other_names_stay_as_they_are(name: str) -> None:
    assert display_names([name]) == [name]


def test_names_that_would_be_too_long_stay_as_they_are() -> None:
    """Each type is two of the one before: the last would have a million million characters."""
    name, last = "_D1a1fFHii", 7
    for _ in range(40):
        start = len(name)
        name += "H"
        name += back(len(name) - last)
        name += back(len(name) - last)
        last = start
    (found,) = display_names([f"{name}Zv"])
    assert found == f"{name}Zv"
    assert display_names(["_D1a1fFHiiHQeQgZv"]) == ["a::f(int[int], int[int][int[int]])"]


def back(distance: int) -> str:
    """A reference to what is so many characters before it."""
    text = chr(ord("a") + distance % 26)
    while distance := distance // 26:
        text = chr(ord("A") + distance % 26) + text
    return f"Q{text}"


@given(st.sampled_from(list(NAMES)), st.data())
def test_damaged_names_are_read_or_left_alone(mangled: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(2, len(mangled)))
    end = data.draw(st.integers(start, len(mangled)))
    middle = data.draw(st.text(st.sampled_from("ADFGHMNPQSTVXZ_0123abcdefx.é"), max_size=6))
    damaged = mangled[:start] + middle + mangled[end:]
    (name,) = display_names([damaged])
    assert len(name) <= longest(damaged.encode()) + 200
