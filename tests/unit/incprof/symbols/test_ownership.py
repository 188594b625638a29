"""Whose code it is: by where it was installed from, and by the names of Rust."""

import numpy as np
import pytest

from incprof.model import Module
from incprof.symbols.demangle import display_names
from incprof.symbols.function_space import (
    FunctionSpace,
    is_runtimes_own,
    is_rusts_own,
    is_shared_code,
    is_shared_module,
    is_shared_source,
)
from incprof.symbols.modules import parse_map

HASH = "17h0123456789abcdefE"


@pytest.mark.parametrize(
    ("file", "shared"),
    [
        ("/usr/lib/python3.11/json/decoder.py", True), ("lib/python3.12/json/decoder.py", True),
        ("/home/me/venv/lib/python3.12/site-packages/numpy/linalg/_linalg.py", True),
        ("<frozen importlib._bootstrap>", True), ("<__array_function__ internals>", True),
        ("/home/me/run.py", False), ("<string>", False),
    ],
)  # fmt: skip
def test_code_of_python(file: str, shared: bool) -> None:
    assert is_shared_code(file) is shared


@pytest.mark.parametrize(
    ("file", "shared"),
    [
        ("/usr/include/c++/12/bits/stl_vector.h", True), ("/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h", True),
        ("/opt/gcc/13/include/c++/13/vector", True), ("/home/me/usr/app/include/mesh.h", False), ("src/sum.c", False),
        ("/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/slice/sort/mod.rs", True),
        ("/rust/deps/hashbrown-0.16.1/src/raw/mod.rs", True), ("/home/me/rust/deps/mesh/src/lib.rs", False),
        ("/home/me/.cargo/registry/src/index.crates.io-6f17d22bba15001f/rayon-1.10.0/src/lib.rs", True),
        ("/opt/cargo/git/checkouts/mesh-0123456789abcdef/1f2e3d4/src/lib.rs", True),
        ("/usr/lib/rustlib/src/rust/library/core/src/iter/mod.rs", True), ("/home/me/registry/src/parse.rs", False),
        ("/usr/lib/go-1.19/src/sort/sort.go", True), ("/usr/local/go/src/runtime/proc.go", True),
        ("/home/me/go/pkg/mod/gonum.org/v1/gonum@v0.15.0/blas/dgemm.go", True), ("/home/me/go/src/mesh/m.go", False),
    ],
)  # fmt: skip
def test_sources(file: str, shared: bool) -> None:
    assert is_shared_source(file) is shared


@pytest.mark.parametrize(
    ("path", "program", "shared"),
    [
        ("/home/me/venv/lib/python3.12/site-packages/scipy/linalg/_flapack.so", "/usr/bin/python3.12", True),
        ("/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.so", "/usr/bin/python3.11", True),
        ("/usr/lib/x86_64-linux-gnu/libsuperlu.so.5", "/home/me/solve", True),
        ("/usr/lib/x86_64-linux-gnu/libsuperlu.so.5", "/usr/bin/python3.11", True),
        ("/lib64/libbz2.so.1", "/usr/local/bin/pack", True),
        ("/usr/lib/x86_64-linux-gnu/liboctinterp.so.10", "/usr/bin/octave-cli-7.3.0", False),
        ("/usr/bin/povray", "/usr/bin/povray", False), ("/usr/local/lib/libmesh.so", "/usr/local/bin/mesh", False),
        ("/home/me/lib/libmesh.so", "/home/me/solve", False), ("/home/me/run/_fast.so", "/usr/bin/python3.11", False),
        ("/opt/site-packages/bin/solve", "/opt/site-packages/bin/solve", False),
    ],
)  # fmt: skip
def test_modules(path: str, program: str, shared: bool) -> None:
    assert is_shared_module(path, program) is shared


@pytest.mark.parametrize(
    ("path", "program", "own"),
    [
        ("/usr/bin/node", "/usr/bin/node", True), ("/home/me/.nvm/v20/bin/node", "/home/me/.nvm/v20/bin/node", True),
        ("/home/me/jdk/lib/server/libjvm.so", "/home/me/jdk/bin/java", True),
        ("/usr/lib/jvm/java-17/lib/server/libjvm.so", "/usr/lib/jvm/java-17/bin/java", True),
        ("/home/me/addon/build/Release/sweep.node", "/usr/bin/node", False),
        ("/usr/local/lib/libmesh.so", "/usr/local/bin/node", False), ("/home/me/solve", "/home/me/solve", False),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/bin/postgres", False),
    ],
)  # fmt: skip
def test_what_runs_the_programs_of_others(path: str, program: str, own: bool) -> None:
    assert is_runtimes_own(path, program) is own


@pytest.mark.parametrize("named", [True, False])
def test_a_run_time_is_no_program_where_what_it_runs_has_names(named: bool) -> None:
    maps = {0: b"1000 40 Builtins_Call\n", 1: b"1000 40 JS:~sweep /home/me/run.js:3:1\n"}
    node = Module(0, "/usr/bin/node", None, 0x1000, 0x2000, app=True)
    made = Module(1, "[jit]", None, 0x1000, 0x2000, app=True, map="perf-7.map")
    space = FunctionSpace([node, *([made] if named else [])], lambda module: parse_map(maps[module.id]))
    modules = np.arange(1 + named)
    functions = space.describe(space.resolve(modules, np.full(len(modules), 0x1000, dtype=np.uint64)))
    assert [(f.name, f.is_library) for f in functions] == [("Builtins_Call", named), ("run.js:sweep", False)][
        : 1 + named
    ]


@pytest.mark.parametrize(
    ("mangled", "own"),
    [
        ("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$" + HASH, True),
        ("_ZN78_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..iter..FromIterator$LT$T$GT$$GT$9from_iter" + HASH, True),
        ("_ZN54_$LT$$LP$$RP$$u20$as$u20$std..process..Termination$GT$6report" + HASH, True),
        ("_ZN46_$LT$mesh..Quad$u20$as$u20$core..ops..Drop$GT$4drop" + HASH, False),
        ("_ZN56_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$mesh..Shape$GT$4area" + HASH, False),
        ("_ZN4mesh4step" + HASH, False),
        ("_ZN4core4stepEv", False),  # a namespace of C++
        ("_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc3vec3VecNtCs1_4mesh4QuadEEB2_", True),
        ("_RNvCsgXJBiI1rxih_4mesh4step", False),
        ("_RNvXCsgXJBiI1rxih_4featINtB2_1PRSfENtB2_2Go2goB2_", False),
        ("main", False),
    ],
)  # fmt: skip
def test_names_of_rust(mangled: str, own: bool) -> None:
    assert is_rusts_own(mangled, display_names([mangled])[0]) is own
