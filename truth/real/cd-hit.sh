# shellcheck shell=sh
# CD-HIT: drawn proteins, of which some are copies with few exchanges, are clustered at 60 % identity by two OpenMP threads.
# shellcheck disable=SC2034,SC2154
package=cd-hit
source=upstream

build() {
    make CXXFLAGS="$flags" cd-hit
}

# proteins.fa: 9000 families, each of one drawn protein and copies of it with 5 to 44 % of the residues exchanged.
input() {
    LC_ALL=C awk "$drawing"'
        function protein(length_, s) {
            for (s = ""; length_ > 0; length_--) s = s residue()
            return s
        }
        # a residue exchanged after each 1 to `step` that stay
        function copy(s, step, at, stay, out) {
            out = ""
            for (at = 1; at <= length(s); at += stay + 1) {
                stay = 1 + random(step)
                out = out substr(s, at, stay) residue()
            }
            return out
        }
        BEGIN {
            state = 20261123; divisor = 64
            for (f = 0; f < 9000; f++) {
                first = protein(150 + random(500))
                printf ">p%d_0\n%s\n", f, first >"proteins.fa"
                for (c = 1; c < 8; c++) printf ">p%d_%d\n%s\n", f, c, copy(first, 3 + random(30)) >"proteins.fa"
            }
        }'
}

run() {
    recorded "$tree/cd-hit" -i "$data/proteins.fa" -o clusters -c 0.6 -n 4 -T 2 -M 0 -d 0
}
