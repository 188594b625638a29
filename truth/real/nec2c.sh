# The antenna code NEC-2, in C: 24 parallel dipoles, lit by plane waves, then fed; their near and their far field.
# shellcheck shell=sh disable=SC2034,SC2154
package=nec2c

build() {
    ./configure CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    LC_ALL=C awk 'BEGIN {
        print "CM an array of dipoles"
        print "CE"
        for (i = 0; i < 24; i++) {
            half = 0.46 - 0.004 * i
            x = 0.31 * (i % 6)
            y = 0.37 * int(i / 6)
            printf "GW %d 87 %.4f %.4f %.4f %.4f %.4f %.4f 0.0005\n", i + 1, x, y, -half, x, y, half
        }
        print "GE 0"
        print "FR 0 1 0 0 300.0 0"
        print "PT -1"
        print "EX 1 20 20 0 2.0 1.0 0.0 4.0 9.0 0.0"
        print "XQ"
        print "EX 0 8 23 0 1.0 0.0"
        print "NE 0 20 16 24 -0.8 -0.7 -1.1 0.13 0.14 0.095"
        print "RP 0 181 361 0 0.0 0.0 1.0 1.0"
        print "EN"
    }' >array.nec
}

run() { recorded "$tree/nec2c" -i "$data/array.nec" -o array.out; }
