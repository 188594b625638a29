# The loop closed: heartbeats at the sites of a recorded run, in a copy of its sources, built by the program's own build
# system, run, and laid over the recorded phases. Sourced by the scripts of this folder, after common.sh.
# shellcheck shell=sh

# heartbeats NAME SOURCE PROGRAM ARGUMENTS...: instruments a copy of SOURCE for the run $scratch/runs/NAME, lets the
# function build_heartbeats build that (its argument is the copy; $cflags and $libs are to be used), runs PROGRAM
# in it, and validates. $interval is that of the heartbeats. Nothing of it is done if INCPROF_NO_LOOP is set.
heartbeats() {
    [ -z "${INCPROF_NO_LOOP:-}" ] || return 0
    name=$1
    copy=$work_dir/heartbeats-$name
    built=$copy/$3
    # shellcheck disable=SC2154  # set by common.sh
    run_dir=$scratch/runs/$name
    ekg_dir=$scratch/runs/$name-ekg
    rm -rf "$copy" "$ekg_dir" "$ekg_dir".[0-9]*
    # With their times: files that were not written since the recording are those that were compiled.
    cp -a "$2" "$copy"
    shift 3
    say "$name: putting heartbeats into $copy"
    run_incprof instrument "$run_dir" --source "$copy" --patch "$run_dir.patch" --force 2>"$run_dir.sites" ||
        { cat "$run_dir.sites" >&2; die "no heartbeats for $name"; }
    (cd "$copy" && patch -s -p1 --binary <"$run_dir.patch") || die "$run_dir.patch does not apply"
    cflags=$(run_incprof env --cflags)
    libs=$(run_incprof env --libs)
    rm -f "$built"
    build_heartbeats "$copy"
    say "$name: running with heartbeats"
    # shellcheck disable=SC2154  # set by the script that sources this file
    (cd "$work_dir" && EKG_DIR=$ekg_dir EKG_INTERVAL=$interval "$built" "$@" >"$run_dir.ekg-out" 2>"$run_dir.ekg-err") ||
        { tail -n 20 "$run_dir.ekg-err" >&2; die "the run of $name with heartbeats failed"; }
    cat "$run_dir.sites"
    run_incprof heartbeats "$ekg_dir"
    run_incprof validate "$run_dir" "$ekg_dir" >"$run_dir.validate"
    cat "$run_dir.validate"
    say "$name: patch $run_dir.patch, heartbeats $ekg_dir, verdict $run_dir.validate"
}
