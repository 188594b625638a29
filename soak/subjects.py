"""A table of all kinds of input: share of the cases, undamaged seeds, damage, and the commands that read it."""

from __future__ import annotations

import random
from pathlib import Path, PurePosixPath

from soak.arguments import VERBS, draw_words
from soak.mutate import mutate_binary, mutate_text, mutate_with
from soak.mutate_beats import mutate_beats
from soak.mutate_elf import mutate_elf
from soak.mutate_json import HOSTILE_TEXTS, mutate_json_lines, mutate_json_text
from soak.mutate_stream import METADATA, MODULES, gathered, images, mutate_gathered, mutate_stream
from soak.mutate_trace import mutate_trace
from soak.seeds import (
    FORTRAN,
    all_runs,
    arrays,
    beat_runs,
    gmon_trees,
    history,
    loop_runs,
    made,
    placed,
    programs,
    runs,
    sources,
    tables,
    texts,
    traces,
    with_source,
)
from soak.subject import Command, Subject, Tree

LONGEST = 200
NUMBERS = ("0", "00000", "99999", "00001", "-1", "4294967296", "18446744073709551616", "1e3", "\u0663", "")
RUN_NAMES = ("rank-{}.gmon", "rank-{}.4711.gmon", "rank-00000.{}.gmon", "gmon-{}.0", "gmon-0.{}", "gmon.out.{}",
             "launch{}", "symbols/{}.elf", "symbols/{}.json", "symbols/path-{}.elf", "{}",
             "rank-00000.4711-{}.gmon")  # fmt: skip


def file_name(dice: random.Random) -> str:
    """Return a file name that a file system accepts."""
    text = dice.choice((*HOSTILE_TEXTS, *NUMBERS))
    text = dice.choice(RUN_NAMES).format(text).replace("\0", "\x01").encode("utf-8", "replace").decode()
    parts = [part for part in text.split("/")[-2:] if part not in ("", ".", "..")]
    return "/".join(part[: LONGEST // 4] for part in parts) or "x"


def rename(dice: random.Random, tree: Tree) -> Tree:
    """Rename files, or the names that a stream contains."""
    if dice.random() < 0.5:
        path = dice.choice([path for path in tree if path.endswith(".gmon")])
        found = images(tree[path])
        out = b""
        for image in found:
            named = image.kind in (METADATA, MODULES)
            payload = mutate_json_text(dice, image.payload, ()) if named else image.payload
            out += type(image)(image.kind, payload, image.module, image.interval).encoded()
        return {**tree, path: out}
    out_tree = dict(tree)
    for _ in range(dice.choice((1, 2, 5))):
        path = dice.choice(list(out_tree))
        new = str(PurePosixPath("run") / file_name(dice))
        if any(other.startswith(f"{new}/") or new.startswith(f"{other}/") for other in out_tree):
            continue
        out_tree[new] = out_tree[path] if dice.random() < 0.5 else out_tree.pop(path)
    return out_tree


Commands = tuple[tuple[float, Command], ...]


def commands(text: str) -> Commands:
    """Parse lines of a share and a command."""
    lines = (line.split() for line in text.strip().splitlines())
    return tuple((float(share), tuple(words)) for share, *words in lines)


RUN = commands("""
    3000  read-stream run
    60    read-run run
""")
STREAM = (*commands("9000 read-images run/rank-00000.gmon"), *RUN)
EXPORTS = commands("""
    3     export run --format csv
    3     export run --format folded --libs separate
    3     export run --format speedscope
    2     export run --format gprof -o {new}
    1     export run --format parquet --table samples -o {new}
    1     periods run --json
    0.5   top --once run
""")
ANSWERS = commands("""
    1     phases run
    1     phases run --json --libs drop
    0.5   phases run --method paper --explain
    0.5   phases run --card --json
    0.5   sites run --json
    0.5   report run -o -
    0.5   diff run run --json
    0.3   export run --format trace --all-ranks
    0.3   export run --format hatchet
    0.3   validate run ekg --json
""")
PLACED = commands("""
    2     sites run --source src
    2     sites run --source src --allow-changed --json
    1     instrument run --source src
    1     instrument run --source src --site solve:loop --style calls
    1     report run --source src -o -
    1     phases run
""")
GMON = commands("""
    1000  read-stream run app
    1000  read-gmon run/gmon-1
    10    export run --format csv --exe app
    1     phases run --exe app
""")
GMON_META = commands("""
    500   read-metadata run/gmon-meta.0.json
    200   read-stream run
    1     export run --format csv
""")
HISTORY = commands("3 heartbeats ekg --history history --json")
BEATS = (
    *commands("""
    8000  read-beats ekg
    10    heartbeats ekg
    10    heartbeats ekg --json
    5     heartbeats ekg --csv -
    2     heartbeats ekg --sqlite {new}
    2     heartbeats ekg --parquet {new}
    3     heartbeats other ekg --json
    3     periods ekg --column 1:mean --json
    0.5   validate run ekg
    0.5   top --once run --heartbeats ekg
"""),
    *HISTORY,
)
LOOPS = commands("""
    800   read-loops sa
    5     selfanalyze sa
    5     selfanalyze sa --json
    3     selfanalyze one --baseline sa --json --iterations 1000
""")
TRACE = commands("""
    2000  read-trace run/rank-00000.mpi
    5     trace --show run
    5     trace --show run --json
    1     trace --show run --rank 1
    2     signature run --method paper --jobs 1
""")
PROGRAM = commands("""
    100   read-program app
    1     check app
    1     check app --json
""")
SETTINGS = commands("""
    3000  read-settings incprof.toml
    3     config show
    3     config show --json
    2     env -i 0.5
    1     heartbeats nothing
    1     phases nothing
""")
# Whole commands look for phases, which takes most of their time.
SOURCE = commands("""
    5     instrument run --source src --site solve:loop
    5     instrument run --source src --site solve:body --style calls
    3     instrument run --source src --site main:loop --macro-blank TWICE
    5     instrument --source src --remove
    2     instrument run --source src --site write_out:loop --write
""")
# The detector of periods: of events, which any text has, and of numbers.
DETECTED = commands("""
    1     periods series.csv --events
    1     periods series.csv --events --tolerance --column 2 --json
    1     periods series.csv --method dpd --window 30
    1     periods series.csv --method dpd --follow --idle 0 --json --column ipc
""")


def series(name: str, *columns: str) -> Commands:
    """Return several ways to read a series."""
    each = [f"100 read-series {name} {column}\n1 periods {name} --column {column}" for column in columns]
    plain = [
        f"100 read-series {name}",
        *(f"1 periods {name} {option}" for option in ("", "--json", "--most 1000 --json")),
    ]
    return commands("\n".join([*plain, *each]))


SETTINGS_FILE = b"""# settings
[record]
interval = 0.5
rate = 200
ranks = [0, "8-15"]
libs = "caller"
clock = "cpu"
dir = "gmon-x"

[phases]
method = "paper"
k = 3
seed = 7
json = true
overhead = 1.5

[instrument]
site = ["solve:loop", "exchange"]

[heartbeats]
rank = "0,4-7"
time = "10:20"
"""
OF_SETTINGS = (b"[record]\n", b"[phases]\n", b"[[record]]\n", b"[a.b]\n", b"x = 1\n", b"interval = ", b"nan", b"inf",
               b"1e400", b"true", b"[]", b"{}", b"''", b'"""', b"1979-05-27", b"= ", b"[env]\n", b"[no]\n",
               b"exe = \"\\u0000\"\n", b"rate = -0\n", b"ranks = [\"9-1\"]\n", b"0x7fffffffffffffffffff", b"1_000",
               b"[" * 500)  # fmt: skip
MANGLED = b"""main
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
OF_NAMES = (
    b"S_", b"S0_", b"SZ_", b"T_", b"T0_", b"TL0__", b"Dp", b"sp", b"I", b"J", b"E", b"N", b"Z", b"St", b"Sa", b"L",
    b"Li0E", b"X", b"DT", b"dt", b"fp_", b"cl", b"cv", b"Ul", b"Ut_", b"F", b"P", b"R", b"K", b"M", b"A", b"A9_",
    b"Dv4_", b"999999999a", b"1a", b"_Z", b"W", b"B3abi", b".clone.0", b"@@V", b"U8__vector", b"on", b"gs", b"sr",
    b"sZ", b"il", b"tl", b"nw", b"aSE", b"__", b"_MOD_", b"_ZGR", b"Q",
)  # fmt: skip
OF_SOURCES = (
    b"{", b"}", b"(", b")", b";", b"#if 0\n", b"#endif\n", b"#else\n", b"/*", b"*/", b"//", b"\\\n", b'"', b"'",
    b"EKG_SCOPE(1);", b"ekg_begin(1);", b"ekg_end(1);", b"call ekg_begin(1)\n", b"call ekg_end(1)\n",
    b"#include <appekg.h>\n", b"return x;", b"goto a;", b"a:", b"switch (x) { case 1:", b"while (1)", b"do {",
    b"} while (0);", b"for (;;)", b"R\"x(", b")x\"", b"??/", b"template <", b"operator()", b"[&](auto x) -> int {",
    b"end do\n", b"do 10 i = 1, n\n", b"10 continue\n", b"contains\n", b"end subroutine\n", b"&\n",
    b"!$omp parallel do\n", b"if (a) return\n", b"exit outer\n", b"select case (x)\n", b"C     old comment\n",
    b"include 'x'\n", b"#define X(a) \\\n", b"\t", b"\r\n", b"\xef\xbb\xbf", b"_Pragma(\"omp\")",
    b"__attribute__((x))", b"extern \"C\" {",
)  # fmt: skip
mutate_settings = mutate_with(OF_SETTINGS)
mutate_names = mutate_with(OF_NAMES, (1, 1, 1, 1, 2, 8, 40, 900), weight=2)
mutate_source = mutate_with(OF_SOURCES, (1, 1, 1, 3, 300), rb"\b|\n")


def all_subjects(scratch: Path) -> list[Subject]:
    """Return every kind of input. Programs and recordings are made the first time, and kept in `scratch`."""
    ekg = beat_runs()
    small = [tree | ekg[0] for tree in runs()]
    recorded = [tree | ekg[0] for tree in all_runs(scratch)]
    with_symbols = [tree for tree in recorded if any(path.endswith(".elf") for path in tree)]
    sourced = [with_source(tree) for tree in small]
    other = {path.replace("ekg/", "other/"): data for path, data in ekg[0].items()}
    beside = other | made(history, "") | runs()[0]
    beating = [tree | beside for tree in ekg]
    stream = r"run/rank-.*\.gmon"
    every_verb = tuple((1.0, words) for words in VERBS)
    table = [
        Subject("stream", 11, small, stream, mutate_stream, (*STREAM, *EXPORTS)),
        Subject("stream-recorded", 1, recorded, stream, mutate_stream, (*STREAM, *EXPORTS)),
        Subject("gathered", 3, [gathered(tree) for tree in small], r"run/node-.*\.gmon", mutate_gathered,
                (*RUN, *EXPORTS)),
        Subject("stream-verbs", 0.03, small, stream, mutate_stream, ANSWERS),
        Subject("symbols", 0.4, with_symbols, r"run/symbols/.*\.elf", mutate_elf, (*RUN, *EXPORTS)),
        Subject("stores", 0.05, sourced, r"run/(symbols/)?.*\.json", mutate_json_text, PLACED),
        Subject("gmon", 14, gmon_trees(), r"run/gmon-\d+.*", mutate_binary, GMON),
        Subject("gmon-meta", 10, gmon_trees()[2:], r"run/gmon-meta.*", mutate_json_text, GMON_META),
        Subject("names", 0.3, small, stream, mutate_stream, (*RUN, *EXPORTS, *ANSWERS), rename),
        Subject("heartbeats", 9, [*beating[:3] * 30, beating[3]], r"ekg/.*\.ekg", mutate_beats, BEATS),
        Subject("history", 0.1, beating[:1], "history", mutate_binary, HISTORY),
        Subject("loops", 12, loop_runs(), r"sa/.*", mutate_json_lines, LOOPS),
        Subject("series-text", 12, texts(), ".*", mutate_text,
         (*series("series.csv", "2", "ipc", "instructions/ref-cycles"), *DETECTED)),
        Subject("series-array", 10, arrays(), ".*", mutate_binary, series("series.npy", "1", "2/1")),
        Subject("series-parquet", 10, tables(), ".*", mutate_binary, series("series.parquet", "ipc", "ipc/time")),
        Subject("trace", 8, traces(), r"run/rank-.*\.mpi", mutate_trace, TRACE),
        Subject("programs", 0.4, programs(scratch), "app", mutate_elf, PROGRAM),
        Subject("mangled", 12, [{"names": line} for line in (*MANGLED.splitlines(), MANGLED)], "names", mutate_names,
         commands("1 read-names names")),
        Subject("settings", 10, [{"incprof.toml": SETTINGS_FILE}], ".*", mutate_settings, SETTINGS),
        Subject("arguments", 0.2, [sourced[0] | loop_runs()[0]], "nothing", mutate_binary, every_verb,
                words=draw_words),
        *(Subject(f"source-{suffix}", share, placed(seeds, f".{suffix}"), r"src/app\..*", mutate_source,
           (*commands(f"500 read-source src/app.{suffix}"), *SOURCE)) for suffix, share, seeds in _sources()),
    ]  # fmt: skip
    return [subject for subject in table if subject.seeds]


def _sources() -> list[tuple[str, float, list[bytes]]]:
    """Return sources of C, C++ and Fortran of both forms, with their shares."""
    own = with_source(runs()[0])["src/app.c"]
    fixed = b"\n".join(b"      " + line.strip() for line in FORTRAN.splitlines()).replace(b"outer: ", b"")
    return [
        ("c", 0.3, [own] * 20 + sources("*.c")),
        ("cpp", 0.2, [own] * 5 + sources("*.cpp")),
        ("f90", 0.3, [FORTRAN] * 20 + sources("*.f90")),
        ("f", 0.15, [fixed]),
    ]
