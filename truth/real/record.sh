#!/bin/sh
# A real program from its Debian source package: fetched, built with -pg, given a small input, recorded.
#   record.sh NAME [-O LEVEL] [-i SECONDS] [-r HZ] [-l PROCESSES] [-o RUN] [build]
# NAME.sh beside this file says how; it is sourced here and sets or defines
#   package    the Debian source package
#   source     "upstream": the authors' archive without Debian's patches (a mirror may lack those); may be missing
#   build      a function: builds with $flags in the copy of the source that it starts in, $tree
#   input      a function: makes the program's input in $data, where it starts; the same bytes on every machine;
#              may be missing
#   run        a function: starts the program by `recorded COMMAND...`, once, in an empty folder
# -l: that many processes keep the processors busy meanwhile. RUN: the name of the recording, NAME by default.
set -eu
here=$(cd "$(dirname "$0")/../../benchmarks/realworld" && pwd)
recipes=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../benchmarks/realworld/common.sh
. "$here/common.sh"

program=$1
shift
level=2 interval=0.1 rate=100 load=0 recording=
while getopts O:i:r:l:o: option; do
    case $option in
        O) level=$OPTARG ;;
        i) interval=$OPTARG ;;
        r) rate=$OPTARG ;;
        l) load=$OPTARG ;;
        o) recording=$OPTARG ;;
        *) die "usage: record.sh NAME [-O LEVEL] [-i SECONDS] [-r HZ] [-l PROCESSES] [-o RUN] [build]" ;;
    esac
done
shift $((OPTIND - 1))
recording=${recording:-$program}
source=
input() { :; }
[ -f "$recipes/$program.sh" ] || die "there is no recipe $recipes/$program.sh"
# shellcheck source=/dev/null
. "$recipes/$program.sh"
flags="-pg -g -O$level"
fetch_source "$program" "${package:?}" "$source"
tree=$work_dir/tree-O$level
data=$work_dir/data

if [ ! -f "$tree/built" ] || [ "$recipes/$program.sh" -nt "$tree/built" ]; then
    rm -rf "$tree"
    cp -r "$source_dir" "$tree"
    # Copied files have other times than autotools expects.
    find "$tree" -exec touch -r "$tree" {} +
    say "building $program with $flags"
    # Not below `if` or `||`: the shell would not stop at the first command that fails.
    (cd "$tree" && set -e && build) >"$work_dir/build.log" 2>&1 &
    wait $! || { tail -n 20 "$work_dir/build.log" >&2; die "$program cannot be built (whole output in $work_dir/build.log)"; }
    touch "$tree/built"
fi
if [ ! -f "$data/made" ] || [ "$recipes/$program.sh" -nt "$data/made" ]; then
    rm -rf "$data"
    mkdir -p "$data"
    (cd "$data" && set -e && input) >"$work_dir/input.log" 2>&1 &
    wait $! || { tail -n 20 "$work_dir/input.log" >&2; die "the input of $program cannot be made"; }
    touch "$data/made"
fi
[ "${1:-}" != build ] || exit 0

recorded() {
    run_dir=$scratch/runs/$recording
    rm -rf "$run_dir" "$run_dir".[0-9]*
    mkdir -p "$scratch/runs"
    say "recording $recording: $*"
    run_incprof record -i "$interval" -r "$rate" -o "$run_dir" -- "$@" >"$work_dir/run.out" 2>"$work_dir/run.err" ||
        { tail -n 20 "$work_dir/run.err" >&2; die "the recorded run of $program failed"; }
}
busy=
for _ in $(seq "$load"); do
    (while :; do :; done) &
    busy="$busy $!"
done
# shellcheck disable=SC2086  # the numbers are words
trap '[ -z "$busy" ] || kill $busy 2>/dev/null' EXIT
rm -rf "$work_dir/work"
mkdir -p "$work_dir/work"
cd "$work_dir/work"
run
