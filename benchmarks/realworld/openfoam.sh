#!/bin/sh
# OpenFOAM's icoFoam on the cavity case: sampled, not recorded, as it is installed; its time steps are the truth
# for the periods that are found in the samples.
#   openfoam.sh [build]   CELLS (160) along a side, STEPS (150)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

cells=${CELLS:-160}
steps=${STEPS:-150}

fetch_packages openfoam openfoam openfoam-examples
root=$work_dir/root
case_dir=$work_dir/cavity
libraries=$(find "$root/usr/lib" -name '*.so*' -printf '%h:\n' | sort -u | tr -d '\n')
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:-}" WM_PROJECT_DIR="$root/usr/share/openfoam"

# A finer mesh, so that a step takes many samples; a step as short as that asks for (its Courant number stays below
# one); and fields written after each step, as the samples of a machine without hardware counters show little else.
make_case() {
    rm -rf "$case_dir"
    cp -r "$root/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity" "$case_dir"
    sed -i "s/(20 20 1)/($cells $cells 1)/" "$case_dir/system/blockMeshDict"
    awk -v cells="$cells" -v steps="$steps" '
        /^deltaT/ { $0 = sprintf("deltaT %.9g;", 0.08 / cells) }
        /^endTime/ { $0 = sprintf("endTime %.9g;", 0.08 / cells * (steps + 0.5)) }
        /^writeInterval/ { $0 = "writeInterval 1;" }
        /^purgeWrite/ { $0 = "purgeWrite 2;" }
        { print }
    ' "$case_dir/system/controlDict" >"$work_dir/controlDict"
    mv "$work_dir/controlDict" "$case_dir/system/controlDict"
    (cd "$case_dir" && logged "$work_dir/mesh.log" "$root/usr/bin/blockMesh")
}

make_case
[ "${1:-}" != build ] || exit 0
mkdir -p "$scratch/runs"
series=$scratch/runs/openfoam.csv
answer=$scratch/runs/openfoam
say "sampling icoFoam: $cells x $cells cells, $steps steps"
(cd "$case_dir" && run_incprof sample -i 5ms --force -o "$series" -- "$root/usr/bin/icoFoam" 2>"$answer.err" ||
    { tail -n 20 "$answer.err" >&2; die "the sampled run of icoFoam failed"; }) |
    python3 "$here/openfoam_steps.py" stamp >"$answer.steps"
run_incprof periods "$series" --column write-bytes --json >"$answer.json"
run_incprof periods "$series" --column write-bytes >"$answer.txt"
cat "$answer.txt"
python3 "$here/openfoam_steps.py" compare "$answer.steps" "$series" "$answer.json" | tee "$answer.verdict"
say "openfoam: samples $series, periods $answer.json, time steps $answer.steps"
