#!/bin/sh
# The Fortran example of this repository, as the others are: recorded, instrumented, built again, run, validated.
#   heat.sh [build]       HEAT_SCALE changes the size
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
# shellcheck source=loop.sh
. "$here/loop.sh"

scale=${HEAT_SCALE:-1}
interval=0.2

need gfortran nm
work_dir=$scratch/heat
tree=$work_dir/tree
program=$work_dir/heat

build() {
    [ ! -x "$program" ] || return 0
    mkdir -p "$tree"
    cp -p "$repo/examples/heat.f90" "$tree"
    # shellcheck disable=SC2086  # the flags are words
    logged "$work_dir/build.log" gfortran $pg_flags -J "$work_dir" "$tree/heat.f90" -o "$program"
}

build_heartbeats() {
    # shellcheck disable=SC2046,SC2086  # the flags are words
    logged "$work_dir/build-heartbeats.log" gfortran -O2 $(run_incprof env --fflags) -J "$1" "$1/heat.f90" -o "$1/heat" $libs
}

build
check_mcount "$program"
[ "${1:-}" != build ] || exit 0
record heat "$interval" "$program" "$scale"
heartbeats heat "$tree" heat "$scale"
