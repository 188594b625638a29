# The loop closed: heartbeats at the sites of a recorded run, in a copy of its sources, built by the program's own build
# system, run, and laid over the recorded phases. Sourced by the scripts of this folder, after common.sh.
# shellcheck shell=sh

# heartbeats NAME SOURCE COMMAND...: instruments a copy of SOURCE for the run $scratch/runs/NAME, lets the function
# build_heartbeats TREE build it, runs COMMAND there ({} is the copy), and validates.
heartbeats() {
    name=$1
    source=$2
    shift 2
    run_dir=$scratch/runs/$name
    copy=$work_dir/heartbeats-$name
    ekg_dir=$scratch/runs/$name-ekg
    rm -rf "$copy" "$ekg_dir" "$ekg_dir".[0-9]*
    # With their times: files that were not written since the recording are those that were compiled.
    cp -a "$source" "$copy"
    say "$name: putting heartbeats into $copy"
    run_incprof instrument "$run_dir" --source "$copy" --patch "$run_dir.patch" --force 2>"$run_dir.sites" ||
        { cat "$run_dir.sites" >&2; die "no heartbeats for $name"; }
    (cd "$copy" && patch -s -p1 --binary <"$run_dir.patch") || die "$run_dir.patch does not apply"
    build_heartbeats "$copy"
    say "$name: running with heartbeats"
    (cd "$work_dir" && EKG_DIR=$ekg_dir EKG_INTERVAL=${EKG_INTERVAL:-$interval} \
        "$@" >"$run_dir.ekg-out" 2>"$run_dir.ekg-err") ||
        { tail -n 20 "$run_dir.ekg-err" >&2; die "the run of $name with heartbeats failed"; }
    cat "$run_dir.sites"
    run_incprof heartbeats "$ekg_dir"
    run_incprof validate "$run_dir" "$ekg_dir" | tee "$run_dir.validate"
    say "$name: patch $run_dir.patch, heartbeats $ekg_dir, verdict $run_dir.validate"
}
