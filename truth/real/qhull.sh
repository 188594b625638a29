# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# Qhull: the Delaunay triangulation of 40000 points in four dimensions, facets merged and checked at the end, all printed.
package=qhull

build() {
    # shellcheck disable=SC2086  # the flags are words
    gcc $flags -w -Isrc -o qhull-pg src/qhull/unix_r.c src/libqhull_r/*.c -lm
    # shellcheck disable=SC2086
    gcc $flags -w -Isrc -o rbox-pg src/rbox/rbox_r.c src/libqhull_r/*.c -lm
}

input() {
    "$tree/rbox-pg" 40000 D4 t20261123 >points.txt
    rm -f gmon.out
}

run() {
    recorded "$tree/qhull-pg" d C0 i s TI "$data/points.txt" TO facets.txt
}
