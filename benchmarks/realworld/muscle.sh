#!/bin/sh
# MUSCLE: aligns generated protein families; it says on stderr which of its stages it is in.
#   muscle.sh [build]      MUSCLE_MEMBERS changes the size
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
# shellcheck source=loop.sh
. "$here/loop.sh"

members=${MUSCLE_MEMBERS:-140}

need make g++ nm awk
fetch_source muscle muscle3
tree=$work_dir/tree
muscle=$tree/muscle

build() {
    [ ! -x "$muscle" ] || return 0
    say "building muscle"
    rm -rf "$tree"
    cp -r "$source_dir" "$tree"
    logged "$work_dir/build.log" make -C "$tree" -j"$jobs" CXXFLAGS="$pg_flags" CFLAGS="$pg_flags" LDFLAGS="$pg"
}

# Three ancestors of 350 residues; of each, members with 60 of 100 residues kept, some lost.
input() {
    file=$work_dir/families-$members.fa
    [ ! -s "$file" ] || return 0
    say "generating 3 x $members family members"
    LC_ALL=C awk -v members="$members" "$drawing"'
        BEGIN {
            state = 20261121
            for (f = 0; f < 3; f++) {
                for (i = 1; i <= 350; i++) ancestor[i] = residue()
                for (n = 0; n < members; n++) {
                    s = ""
                    for (i = 1; i <= 350; i++)
                        s = s (random(100) < 60 ? ancestor[i] : random(100) < 8 ? "" : residue())
                    printf ">f%d_%d\n%s\n", f, n, s
                }
            }
        }' >"$file.tmp"
    mv "$file.tmp" "$file"
}

build
check_mcount "$muscle"
input
[ "${1:-}" != build ] || exit 0
interval=0.25
record muscle "$interval" "$muscle" -in "$file" -out "$work_dir/aligned.fa" -maxiters 6
# Its stages, by its own clock (whole seconds).
tr '\r' '\n' <"$scratch/runs/muscle.err" | sed -n 's/^\([0-9:]*\).*Iter *\([0-9]*\) .*%  *\(.*[^ ]\) *$/\1 iteration \2: \3/p' |
    awk '{ stage = $0; sub(/^[^ ]* /, "", stage) } stage != last { print } { last = stage }' >"$scratch/runs/muscle.stages"
cat "$scratch/runs/muscle.stages"

# build_heartbeats builds muscle in a copy of the tree.
build_heartbeats() {
    rm -f "$1"/*.o
    logged "$work_dir/build-heartbeats.log" make -C "$1" -j"$jobs" CXXFLAGS="-O2 $cflags" CFLAGS="-O2 $cflags" \
        LDLIBS="-lm $libs"
}
heartbeats muscle "$tree" muscle -in "$file" -out "$work_dir/aligned-heartbeats.fa" -maxiters 6
[ -n "${INCPROF_NO_LOOP:-}" ] || cmp "$work_dir/aligned.fa" "$work_dir/aligned-heartbeats.fa" || die "heartbeats changed what muscle writes"
