#!/bin/sh
# Fails a CI job when a program has become slower than its baseline, and says where.
#
#     diff-ci.sh BASELINE PROGRAM [ARGS...]
#
# BASELINE is a directory that the job keeps from one run to the next (an artefact, a cache). Without recordings in it, it
# gets them, and the job passes. Else PROGRAM is recorded as often, and compared. By CPU time: CI machines are shared.
#
# Environment: RUNS recordings of a side (3), GATES conditions (phase>10% run>5%), INTERVAL seconds (1), RATE Hz (100),
# SUMMARY file that Markdown is added to ($GITHUB_STEP_SUMMARY, else none), PAGE file for a page (none).
# Exit: 0 passed or baseline made, 3 a gate failed, else an error.
set -eu
[ $# -ge 2 ] || { echo "usage: diff-ci.sh BASELINE PROGRAM [ARGS...]" >&2; exit 2; }
baseline=$1
shift
runs=${RUNS:-3}
summary=${SUMMARY:-${GITHUB_STEP_SUMMARY:-}}

# record DIR PROGRAM ARGS: RUNS recordings, DIR/1 and so on.
record() {
    into=$1
    shift
    mkdir -p "$into"
    n=1
    while [ "$n" -le "$runs" ]; do
        # 3 is for gates, whatever the program ends with.
        incprof record -i "${INTERVAL:-1}" -r "${RATE:-100}" -o "$into/$n" -- "$@" >&2 ||
            { echo "$1 ended with status $?: nothing compared" >&2; exit 1; }
        n=$((n + 1))
    done
}

if [ ! -d "$baseline/1" ]; then
    # Whole or not at all: a job that was ended in between must not leave half of a baseline.
    rm -rf "$baseline.new"
    record "$baseline.new" "$@"
    rm -rf "$baseline"
    mv "$baseline.new" "$baseline"
    echo "baseline recorded in $baseline"
    exit 0
fi

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
record "$new" "$@"
page=${PAGE:-}
set -- # what follows are the options of the comparison
set -f # a * in a condition is for names of functions, not of files
for gate in ${GATES:-phase>10% run>5%}; do
    set -- "$@" --fail-on "$gate"
done
set +f
[ -z "$page" ] || set -- "$@" --html "$page" --force

status=0
incprof diff "$baseline"/[0-9]* --against "$new"/[0-9]* --time cpu --markdown "$@" >"$new/summary.md" || status=$?
cat "$new/summary.md"
[ -z "$summary" ] || cat "$new/summary.md" >>"$summary"
exit "$status"
