# shellcheck shell=sh
# MAFFT's default way for many sequences (FFT-NS-2), by the program that its script starts: 2800 proteins of one drawn family.
# shellcheck disable=SC2034,SC2154
package=mafft

build() {
    make -C core CC=gcc CFLAGS="$flags" LDFLAGS=-pg disttbfast
}

# family.fa: 70 branches from one ancestor of 320 residues, 40 members of each: residues exchanged, lost, inserted.
input() {
    LC_ALL=C awk "$drawing"'
        # of 1000 residues `exchanged` become others, `lost` go, and after `inserted` come 1 to 8 new ones
        function child(s, exchanged, lost, inserted, at, out, draw, more) {
            out = ""
            for (at = 1; at <= length(s); at++) {
                draw = random(1000)
                if (draw < exchanged) out = out residue()
                else if (draw >= exchanged + lost) out = out substr(s, at, 1)
                if (random(1000) < inserted)
                    for (more = 1 + random(8); more > 0; more--) out = out residue()
            }
            return out
        }
        BEGIN {
            state = 20261123; divisor = 64
            for (i = 0; i < 320; i++) ancestor = ancestor residue()
            for (b = 0; b < 70; b++) {
                branch = child(ancestor, 450, 15, 8)
                for (m = 0; m < 40; m++) printf ">b%d_m%d\n%s\n", b, m, child(branch, 200, 6, 3) >"family.fa"
            }
        }'
}

# The arguments are those that the script "mafft" gives for "mafft --thread 0 family.fa".
run() {
    recorded "$tree/core/disttbfast" -q 0 -E 2 -V -1.53 -s 0.0 -W 6 -O -C 0-0 -b 62 -g 0 -f -1.53 -Q 100.0 -h 0 -F -X 0.1 -x 1000 \
        <"$data/family.fa"
}
