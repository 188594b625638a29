# shellcheck shell=sh
# PHYLIP's dnaml: 48 drawn DNA sequences are added to a tree one after the other, then every subtree is tried everywhere.
# shellcheck disable=SC2034,SC2154
package=phylip
source=upstream

build() {
    make -C src -f Makefile.unx CC=gcc CFLAGS="$flags -DUNX -fcommon" LIBS="-lm -pg" dnaml
}

# infile: 48 leaves, each a changed copy of one that was drawn among those before it, which changes then as well.
input() {
    LC_ALL=C awk "$drawing"'
        function change(s, share, at, out) {
            out = ""
            for (at = 1; at <= length(s); at++)
                out = out (random(1000) < share ? substr("ACGT", 1 + random(4), 1) : substr(s, at, 1))
            return out
        }
        BEGIN {
            state = 20261123; divisor = 64
            for (i = 0; i < 1800; i++) leaf[0] = leaf[0] substr("ACGT", 1 + random(4), 1)
            for (n = 1; n < 48; n++) {
                parent = random(n)
                leaf[n] = change(leaf[parent], 30 + random(120))
                leaf[parent] = change(leaf[parent], 30 + random(120))
            }
            printf "48 1800\n" >"infile"
            for (n = 0; n < 48; n++) printf "%-10s%s\n", "leaf" n, leaf[n] >"infile"
        }'
    printf 'G\nY\n' >answers
}

# G: global rearrangements; Y: start
run() {
    cp "$data/infile" .
    recorded "$tree/src/dnaml" <"$data/answers"
}
