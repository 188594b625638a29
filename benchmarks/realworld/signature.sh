#!/bin/sh
# MPI programs as Debian ships them, through trace, signature and predict: the prediction from a run's beginning against
# what the same run took in the end. Debian builds them for Open MPI alone; a program of benchmarks/programs stands in
# for MPICH. Ranks share the processors if there are fewer of these.
#   signature.sh [lammps|espresso|steps]...    SIGNATURE_RANKS (4), SIGNATURE_RUNS (5),
#                                              SIGNATURE_SECONDS (600) at most for each, SIGNATURE_STEPS (5000)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

ranks=${SIGNATURE_RANKS:-4}
runs=${SIGNATURE_RUNS:-5}
# A launch that hangs is ended.
most=${SIGNATURE_SECONDS:-600}
need python3 timeout
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# launch MPI COMMAND...
launch() {
    flags=
    [ "$1" != openmpi ] || flags='--oversubscribe --allow-run-as-root'
    launcher=mpirun.$1
    shift
    # shellcheck disable=SC2086  # the flags are words
    timeout "$most" "$launcher" $flags -n "$ranks" "$@"
}

# predicted NAME MPI COMMAND...: one run for the signature, then runs that are predicted from their beginning.
predicted() {
    name=$1 mpi=$2
    shift 2
    answer=$scratch/runs/signature-$name-$mpi
    rm -rf "$answer" "$answer".*
    mkdir -p "$answer"
    say "$name, $mpi, $ranks ranks: $*"
    (cd "$work_dir"
    launch "$mpi" "$incprof" trace -o "$answer/base" -- "$@" >"$answer/base.out" 2>"$answer/base.err" ||
        { tail -n 5 "$answer/base.err" >&2; die "the traced run of $name failed"; }
    "$incprof" signature "$answer/base" -o "$answer/signature" >"$answer/signature.txt"
    cat "$answer/signature.txt"
    answered short "$@"
    for run in $(seq "$runs"); do
        answered "full-$run" "$@"
    done
    )
    python3 "$here/signature_errors.py" "$name, $mpi" "$answer"/short.json "$answer"/full-*.json |
        tee "$answer.verdict"
}

# answered FILE COMMAND...: a prediction as FILE.json; a name that begins with full has the program run on to its end.
answered() {
    file=$answer/$1
    full=
    [ "$1" = short ] || full=--full
    shift
    # shellcheck disable=SC2086  # no word where there is no option
    launch "$mpi" "$incprof" predict "$answer/signature" -o "$file" $full --json -- "$@" >"$file.out" 2>"$file.err" ||
        { tail -n 5 "$file.err" >&2; die "a run of $name failed, or took more than $most seconds"; }
    # The program's own output comes before it.
    tail -n 1 "$file.out" >"$file.json"
    rm -rf "$file"
}

lammps() {
    fetch_packages lammps lammps
    cat >"$work_dir/in.signature" <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 14 0 14 0 14
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 100
run 1000
END
    predicted lammps openmpi "$work_dir/root/usr/bin/lmp" -in in.signature -log none
}

# Molecular dynamics of diamond: in each step the electrons converge anew.
espresso() {
    fetch_packages espresso quantum-espresso quantum-espresso-data
    gunzip -c "$work_dir/root/usr/share/doc/quantum-espresso/examples/EPW/diamond/pp/C_3.98148.UPF.gz" >"$work_dir/C.UPF"
    cat >"$work_dir/in.signature" <<'END'
&control
 calculation='md', prefix='diamond', pseudo_dir='./', outdir='./out', nstep=20, dt=20, disk_io='none'
/
&system
 ibrav=2, celldm(1)=6.64, nat=2, ntyp=1, ecutwfc=30, nosym=.true., occupations='smearing', degauss=0.02
/
&electrons
 conv_thr=1d-8
/
&ions
/
ATOMIC_SPECIES
C 12.01 C.UPF
ATOMIC_POSITIONS alat
C 0.00 0.00 0.00
C 0.26 0.25 0.25
K_POINTS automatic
2 2 2 0 0 0
END
    predicted espresso openmpi "$work_dir/root/usr/bin/pw.x" -in in.signature
}

# A stencil of six calls a step, by whichever MPI has a compiler here.
steps() {
    work_dir=$scratch/steps
    mkdir -p "$work_dir"
    for mpi in openmpi mpich; do
        command -v "mpicc.$mpi" >/dev/null || continue
        "mpicc.$mpi" -O2 -g "$repo/benchmarks/programs/mpi_steps.c" -o "$work_dir/steps-$mpi" -ldl
        predicted steps "$mpi" "$work_dir/steps-$mpi" "${SIGNATURE_STEPS:-5000}"
    done
}

incprof=${INCPROF:-$(command -v incprof || echo "$repo/.venv/bin/incprof")}
need "$incprof"
[ "${1:-}" != build ] || exit 0
for program in ${*:-lammps espresso steps}; do
    case $program in
        lammps | espresso | steps) "$program" ;;
        *) die "signature.sh [lammps|espresso|steps]..." ;;
    esac
done
