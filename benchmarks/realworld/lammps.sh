#!/bin/sh
# LAMMPS, serial: a Lennard-Jones solid is relaxed, melted, and then its radial
# distribution function is measured while it runs on.
#   lammps.sh [build]     LAMMPS_CELLS, LAMMPS_STEPS, LAMMPS_RDF_STEPS change the size
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

cells=${LAMMPS_CELLS:-20}
steps=${LAMMPS_STEPS:-2000}
rdf_steps=${LAMMPS_RDF_STEPS:-600}

need make g++ nm
fetch_source lammps
tree=$work_dir/build
program=$tree/lmp_serial

# Everything that main.cpp and these styles include, and nothing else: a few
# minutes of compiler time instead of half an hour.
styles='main atom_map fmtlib_format fmtlib_os
    atom_vec_atomic atom_vec_hybrid pair_lj_cut fix_nve region_block compute_temp compute_pe
    compute_pressure compute_rdf verlet min_cg
    run minimize create_box create_atoms displace_atoms velocity
    nbin_standard nstencil_half_bin_3d nstencil_full_bin_3d npair_copy
    npair_half_bin_atomonly_newton npair_half_bin_newton
    npair_full_bin_atomonly npair_halffull_newton'

# neighbor.cpp names these classes whether or not a molecule is simulated
for kind in bond angle dihedral improper; do
    styles="$styles ntopo_${kind}_all ntopo_${kind}_partial ntopo_${kind}_template"
done

copy_closure() {
    todo=$1
    while [ -n "$todo" ]; do
        next=
        for stem in $todo; do
            [ ! -e "$tree/.seen/$stem" ] || continue
            : >"$tree/.seen/$stem"
            for file in "$stem.cpp" "$stem.h"; do
                [ -f "$source_dir/src/$file" ] || continue
                cp -p "$source_dir/src/$file" "$tree/$file"
                next="$next $(sed -n 's/^ *# *include "\([a-z0-9_]*\)\.h".*/\1/p' "$tree/$file")"
            done
        done
        # shellcheck disable=SC2086  # the names are words
        todo=$(printf '%s\n' $next | sort -u)
    done
}

build() {
    [ ! -x "$program" ] || return 0
    say "building lammps (minutes)"
    rm -rf "$tree/.seen"
    mkdir -p "$tree/.seen"
    copy_closure "$styles"
    cp -p "$source_dir/src/Makefile" "$source_dir"/src/Makefile.* "$source_dir"/src/*.sh "$tree"
    cp -pr "$source_dir/src/MAKE" "$source_dir/src/STUBS" "$source_dir/src/DEPEND" \
        "$source_dir/src/fmt" "$tree"
    [ ! -f "$source_dir/src/lmpgitversion.h" ] || cp -p "$source_dir/src/lmpgitversion.h" "$tree"
    logged "$work_dir/stubs.log" make -C "$tree/STUBS"
    logged "$work_dir/build.log" make -C "$tree" -j"$jobs" serial \
        CCFLAGS="$pg_flags -std=c++11" SHFLAGS= LINKFLAGS="$pg_flags -std=c++11" PYTHON=python3
}

# A Lennard-Jones crystal is relaxed, melts, and has its radial distribution measured while it runs on.
input() {
    cat >"$work_dir/in.melt" <<END
units           lj
atom_style      atomic
atom_modify     map array
lattice         fcc 0.8442
region          box block 0 $cells 0 $cells 0 $cells
create_box      1 box
create_atoms    1 box
mass            1 1.0
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    delay 0 every 20 check no
thermo          100
displace_atoms  all random 0.1 0.1 0.1 4711
minimize        0.0 1.0e-8 60 1000
velocity        all create 3.0 87287 loop geom
fix             1 all nve
reset_timestep  0
run             $steps
compute         g all rdf 200
thermo_style    custom step temp pe press c_g[50][2]
thermo          2
run             $rdf_steps
END
}

build
check_mcount "$program"
input
[ "${1:-}" = build ] || record lammps 1 "$program" -in in.melt -log none
