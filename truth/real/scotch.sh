# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# Scotch's gord: the unknowns of a grid are put into an order for elimination, by nested dissection.
package=scotch

# The parser needs flex and bison: those of Debian's packages are unpacked, where the machine has none.
if ! command -v flex >/dev/null || ! command -v bison >/dev/null; then
    (fetch_packages scotch flex bison)
    PATH=$PATH:$scratch/scotch/root/usr/bin BISON_PKGDATADIR=$scratch/scotch/root/usr/share/bison
    M4=$(command -v m4)
    export PATH BISON_PKGDATADIR M4
fi

# Debian's Makefile makes shared libraries as well; without those lines only the static ones are there to link with.
build() {
    cd src
    cat >Makefile.inc <<END
EXE =
LIB = .a
OBJ = .o
MAKE = make
AR = ar
ARFLAGS = -ruv
CAT = cat
CCS = gcc
CCD = gcc
CFLAGS = $flags -DCOMMON_FILE_COMPRESS_GZ -DCOMMON_RANDOM_FIXED_SEED -DSCOTCH_RENAME -Drestrict=__restrict -DIDXSIZE64
LDFLAGS = -pg -lz -lm -lrt -pthread
CP = cp
FLEX = flex
LN = ln
MKDIR = mkdir -p
MV = mv
RANLIB = ranlib
BISON = bison
END
    sed -i '/-shared -Wl/d; /ln -s lib.*\.so/d' libscotch/Makefile
    make libscotch
    make -C scotch VERSION=7 RELEASE=0 PATCHLEVEL=3 CODENAME=gord CC=gcc SCOTCHLIB=scotch gord
}

# The graph of a grid of 100 x 100 x 100 points, each with its six neighbours.
input() {
    LC_ALL=C awk -v side=100 'BEGIN {
        print 0; print side ^ 3, 6 * side * side * (side - 1); print "0 000"
        for (z = 0; z < side; z++) for (y = 0; y < side; y++) for (x = 0; x < side; x++) {
            v = x + side * (y + side * z); line = ""; degree = 0
            if (x > 0) { line = line " " (v - 1); degree++ }
            if (x < side - 1) { line = line " " (v + 1); degree++ }
            if (y > 0) { line = line " " (v - side); degree++ }
            if (y < side - 1) { line = line " " (v + side); degree++ }
            if (z > 0) { line = line " " (v - side * side); degree++ }
            if (z < side - 1) { line = line " " (v + side * side); degree++ }
            print degree line
        }
    }' >grid.grf
}

run() {
    recorded "$tree/src/scotch/gord" "$data/grid.grf" grid.ord
}
