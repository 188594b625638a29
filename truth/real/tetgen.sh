# TetGen: 700 000 points in a box become a Delaunay tetrahedralization, which is refined, optimized, written and judged.
# shellcheck shell=sh disable=SC2034,SC2154
package=tetgen

build() {
    # without optimization, as its makefile has it: the exact arithmetic relies on how numbers are rounded
    g++ -pg -g -O0 -c predicates.cxx
    # shellcheck disable=SC2086  # the flags are words
    g++ $flags -c tetgen.cxx
    # shellcheck disable=SC2086
    g++ $flags -o tetgen tetgen.o predicates.o
}

input() {
    LC_ALL=C awk "$drawing"'
        function place() { return 60 + random(880000) / 1000 }
        BEGIN {
            state = 20261123
            points = 700000
            print points + 8, 3, 0, 0
            for (i = 0; i < 8; i++) print i + 1, i % 2 * 1000, int(i / 2) % 2 * 1000, int(i / 4) * 1000
            for (i = 0; i < points; i++) {
                x = place()
                y = place()
                print i + 9, x, y, place()
            }
            print "6 0\n1\n4 1 2 4 3\n1\n4 5 6 8 7\n1\n4 1 2 6 5\n1\n4 3 4 8 7\n1\n4 1 3 7 5\n1\n4 2 4 8 6\n0\n0"
        }' >box.poly
}

run() {
    # TetGen writes beside its input
    ln -s "$data/box.poly" box.poly
    recorded "$tree/tetgen" -pq1.8S200000V box.poly
}
