# What the scripts in this folder share: where things go, how a Debian source
# package is fetched, how a built program is checked and recorded.
# Sourced by the others; needs `here` (the folder of the scripts) to be set.
# shellcheck shell=sh

# shellcheck disable=SC2154  # set by the script that sources this file
: "${here:?}"
repo=$(cd "$here/../.." && pwd)
scratch=${INCPROF_SCRATCH:-${XDG_CACHE_HOME:-$HOME/.cache}/incprof-realworld}
# shellcheck disable=SC2034  # used by the scripts that source this file
jobs=${INCPROF_JOBS:-2}
# Programs are built with -pg, unless INCPROF_PG is empty; what is linked with it is $pg.
# shellcheck disable=SC2034
pg=${INCPROF_PG--pg}
# shellcheck disable=SC2034
pg_flags="$pg -O2 -g"

# Functions for awk programs that draw inputs, the same bytes on every machine: a number from 0 to n - 1, and an amino
# acid, each as often as proteins have it. `state` is the seed; a `divisor` leaves out the last bits, which are less random.
# shellcheck disable=SC2034
drawing='
    function random(n) {
        state = (state * 16807) % 2147483647
        return int(state / (divisor ? divisor : 1)) % n
    }
    function residue() { return substr("ALGVESIKRDTPNQFYMHCWALGVESIKRDTALGVES", 1 + random(37), 1) }
'

mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)

say() { printf 'realworld: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# exit status 77: the sources cannot be had here (a test harness may skip)
unavailable() { say "$*"; exit 77; }

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || die "$tool is needed and not installed"
    done
}

# Build steps are long and shared machines are busy: give way, keep a log.
logged() {
    log=$1
    shift
    if ! nice -n 10 "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "failed: $* (whole output in $log)"
    fi
}

# apt with package lists and entries of its own. The system's entries are
# read, copied with another type into a temporary folder, and never changed, so
# no root is needed and nothing has to be undone.
own_apt() {
    apt-get -o Dir::Etc::SourceList=/dev/null \
        -o Dir::Etc::SourceParts="$apt_dir/sources" \
        -o Dir::State::Lists="$apt_dir/lists" \
        -o Dir::Cache="$apt_dir/cache" \
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none \
        -o Acquire::Retries=3 "$@"
}

# update_lists TYPE: package lists of that type, deb or deb-src. Until release_lists, or the end of
# the script, nobody else has them: programs may be fetched side by side, and share this folder.
update_lists() {
    command -v apt-get >/dev/null 2>&1 ||
        unavailable "apt-get is needed: the programs are Debian packages"
    need flock
    exec 9>"$scratch/apt.lock"
    flock 9
    apt_dir=$scratch/apt
    rm -rf "$apt_dir/sources"
    mkdir -p "$apt_dir/sources" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        grep -Eqi '^URIs:.*debian' "$file" || continue
        sed "s/^Types:.*/Types: $1/" "$file" >"$apt_dir/sources/$(basename "$file")"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] || continue
        sed -n "s/^deb[[:space:]]\(.*debian.*\)/$1 \1/p" "$file" \
            >"$apt_dir/sources/$(basename "$file" .list)-deb.list"
    done
    own_apt update -qq >"$apt_dir/update.log" 2>&1 ||
        unavailable "apt-get update failed (network?): see $apt_dir/update.log"
}

release_lists() {
    rm -rf "$apt_dir/sources"
    exec 9>&-
}

# fetch_packages PROGRAM PACKAGE...: unpacks packages, with those that they need and this
# system lacks, into $scratch/PROGRAM/root, unless that is there already; installs nothing.
fetch_packages() {
    work_dir=$scratch/$1
    shift
    [ ! -d "$work_dir/root" ] || return 0
    need dpkg-deb
    update_lists deb
    rm -rf "$work_dir/fetch"
    mkdir -p "$work_dir/fetch"
    say "fetching $*"
    names=$(own_apt install -qq -s --no-install-recommends "$@" 2>"$work_dir/fetch.log" | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    # shellcheck disable=SC2086  # the names are words
    (cd "$work_dir/fetch" && own_apt download -qq ${names:-"$@"}) >>"$work_dir/fetch.log" 2>&1 ||
        unavailable "apt-get download failed: see $work_dir/fetch.log"
    for package in "$work_dir/fetch"/*.deb; do
        dpkg-deb -x "$package" "$work_dir/fetch/root"
    done
    mv "$work_dir/fetch/root" "$work_dir/root"
    rm -rf "$work_dir/fetch"
    release_lists
}

# fetch_source PROGRAM [PACKAGE] [upstream]: unpacks the patched source into
# $scratch/PROGRAM/src, unless that is there already; sets work_dir, source_dir.
# upstream: the archive of the authors alone, without Debian's patches (a mirror may lack those).
fetch_source() {
    package=${2:-$1}
    work_dir=$scratch/$1
    source_dir=$work_dir/src
    [ ! -d "$source_dir" ] || return 0
    need dpkg-source
    update_lists deb-src
    rm -rf "$work_dir/fetch"
    mkdir -p "$work_dir/fetch"
    say "fetching the source package $package"
    only=
    [ "${3:-}" != upstream ] || only=--tar-only
    # shellcheck disable=SC2086  # no word where there is no option
    (cd "$work_dir/fetch" && own_apt source -qq --only-source $only "$package") \
        >"$work_dir/fetch.log" 2>&1 ||
        unavailable "apt-get source $package failed: see $work_dir/fetch.log"
    release_lists
    if [ -n "$only" ]; then
        mkdir "$work_dir/fetch/unpacked"
        tar -xf "$work_dir/fetch"/*.orig.tar.* -C "$work_dir/fetch/unpacked" --strip-components=1
    fi
    unpacked=$(find "$work_dir/fetch" -mindepth 1 -maxdepth 1 -type d)
    mv "$unpacked" "$source_dir"
    rm -rf "$work_dir/fetch"
}

# The calls of a -pg program go to mcount; without that import there is nothing
# for a preloaded library to take over.
check_mcount() {
    [ -n "$pg" ] || return 0
    nm -D "$1" | grep -Eq ' U _?mcount' || die "$1 does not import mcount"
}

# $INCPROF, else the installed command, else the one of this tree's own environment.
run_incprof() {
    if [ -n "${INCPROF:-}" ]; then
        "$INCPROF" "$@"
    elif command -v incprof >/dev/null 2>&1; then
        incprof "$@"
    elif [ -x "$repo/.venv/bin/incprof" ]; then
        "$repo/.venv/bin/incprof" "$@"
    else
        die "incprof is not installed: run make once, or set INCPROF to the command"
    fi
}

# record NAME INTERVAL COMMAND...: one run in a clean working folder, then its phases.
record() {
    name=$1
    interval=$2
    shift 2
    run_dir=$scratch/runs/$name
    rm -rf "$run_dir" "$run_dir".[0-9]*
    mkdir -p "$scratch/runs"
    say "recording $name: $*"
    (cd "$work_dir" && run_incprof record -i "$interval" -o "$run_dir" -- "$@" \
        >"$run_dir.out" 2>"$run_dir.err") ||
        { tail -n 20 "$run_dir.err" >&2; die "the recorded run of $name failed"; }
    run_incprof phases "$run_dir" --json >"$run_dir.json"
    run_incprof phases "$run_dir" --details >"$run_dir.txt"
    cat "$run_dir.txt"
    say "$name: run directory $run_dir, phases in $run_dir.json"
}
