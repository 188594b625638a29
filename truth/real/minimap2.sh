# shellcheck shell=sh
# minimap2: an index of a drawn genome of 24 pieces is built; noisy long reads of it are aligned, then reads of something else.
# shellcheck disable=SC2034,SC2154
package=minimap2
source=upstream

build() {
    make CC=gcc CFLAGS="$flags -Wall" LDFLAGS=-pg minimap2
}

# genome.fa; reads.fa: one error in eight bases, places drawn; strangers.fa: bases of no genome.
input() {
    LC_ALL=C awk "$drawing"'
        # bases, six at a time
        function bases(blocks, s, chunk, i) {
            s = ""
            while (blocks > 0) {
                chunk = ""
                for (i = 0; i < 200 && blocks > 0; i++) {
                    chunk = chunk six[int(random(2147483646) / 8) % 4096]
                    blocks--
                }
                s = s chunk
            }
            return s
        }
        # a substitution, an insertion or a loss after each 1 to 15 bases
        function noisy(s, at, step, out, kind) {
            out = ""
            for (at = 1; at <= length(s); at += step) {
                step = 1 + random(15)
                out = out substr(s, at, step)
                kind = random(3)
                if (kind != 1) out = out letter[random(4)]
                if (kind != 2) step++
            }
            return out
        }
        BEGIN {
            state = 20261123
            split("A C G T", l, " ")
            for (i = 0; i < 4; i++) letter[i] = l[i + 1]
            for (i = 0; i < 4096; i++) {
                six[i] = ""
                for (j = i; length(six[i]) < 6; j = int(j / 4)) six[i] = six[i] letter[j % 4]
            }
            for (c = 0; c < 24; c++) {
                piece[c] = bases(350000)
                printf ">piece%d\n%s\n", c, piece[c] >"genome.fa"
            }
            for (n = 0; n < 3600; n++)
                printf ">read%d\n%s\n", n, noisy(substr(piece[random(24)], 1 + random(2080000), 2000 + random(16000))) >"reads.fa"
            for (n = 0; n < 8000; n++) printf ">stranger%d\n%s\n", n, bases(600 + random(1400)) >"strangers.fa"
        }'
}

run() {
    recorded "$tree/minimap2" -a -x map-ont -w 5 -t 1 -o out.sam "$data/genome.fa" "$data/reads.fa" "$data/strangers.fa"
}
