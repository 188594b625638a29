#!/bin/sh
# Builds programs that nobody here wrote with -pg, records them, prints their
# phases, and closes the loop with heartbeats. Sources come from Debian packages into a scratch folder
# (INCPROF_SCRATCH, else the user's cache); nothing is installed or committed.
#   run.sh                all programs
#   run.sh zstd [build]   one of them [built and its input made, not recorded]
set -eu
here=$(cd "$(dirname "$0")" && pwd)

case ${1:-all} in
    zstd | sqlite | hmmer | lammps)
        program=$1
        shift
        exec sh "$here/$program.sh" "$@"
        ;;
    all | build)
        for program in zstd sqlite hmmer lammps; do
            sh "$here/$program.sh" "${1:-}"
        done
        ;;
    *)
        echo "usage: run.sh [zstd|sqlite|hmmer|lammps|all|build] [build]" >&2
        exit 2
        ;;
esac
