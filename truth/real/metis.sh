# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# METIS: gpmetis cuts a grid into 6000 parts with little to send between them, each with few neighbours.
package=metis

build() {
    # shellcheck disable=SC2086  # the flags are words
    gcc $flags -w -std=gnu99 -DLINUX -D_FILE_OFFSET_BITS=64 -DNDEBUG -DNDEBUG2 -DHAVE_EXECINFO_H -DHAVE_GETLINE -DSVNINFO='""' \
        -IGKlib -Iinclude -Ilibmetis -Iprograms -o gpmetis-pg \
        programs/gpmetis.c programs/cmdline_gpmetis.c programs/io.c programs/stat.c libmetis/*.c GKlib/*.c -lm
}

# The graph of a grid of 90 x 90 x 90 points, each with its six neighbours.
input() {
    LC_ALL=C awk -v side=90 'BEGIN {
        print side ^ 3, 3 * side * side * (side - 1)
        for (z = 0; z < side; z++) for (y = 0; y < side; y++) for (x = 0; x < side; x++) {
            v = 1 + x + side * (y + side * z); line = ""
            if (x > 0) line = line (v - 1) " "
            if (x < side - 1) line = line (v + 1) " "
            if (y > 0) line = line (v - side) " "
            if (y < side - 1) line = line (v + side) " "
            if (z > 0) line = line (v - side * side) " "
            if (z < side - 1) line = line (v + side * side) " "
            print line
        }
    }' >grid.graph
}

run() {
    recorded "$tree/gpmetis-pg" -objtype=vol -minconn -niter=30 -nooutput "$data/grid.graph" 6000
}
