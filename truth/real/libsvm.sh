# LIBSVM's svm-train: forty-fold cross validation on generated points of four overlapping classes.
# shellcheck shell=sh disable=SC2034,SC2154
package=libsvm
source=upstream

build() {
    # shellcheck disable=SC2086  # the flags are words
    g++ $flags -o svm-train svm-train.c svm.cpp -lm
}

input() {
    LC_ALL=C awk "$drawing"'
        BEGIN {
            state = 20261123
            for (class = 0; class < 4; class++)
                for (f = 1; f <= 20; f++) centre[class, f] = random(1000)
            for (i = 0; i < 2800; i++) {
                class = i % 4
                line = class + 1
                for (f = 1; f <= 20; f++) {
                    value = centre[class, f]
                    for (k = 0; k < 4; k++) value += random(1600) - 800
                    line = line " " f ":" value / 1000
                }
                print line
            }
        }' >points.txt
}

run() { recorded "$tree/svm-train" -q -v 40 -c 10 -g 0.1 "$data/points.txt"; }
