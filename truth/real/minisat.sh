# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# MiniSat with its preprocessor: a multiplication that has no solution, beside many easy clauses.
package=minisat2

build() {
    # shellcheck disable=SC2086  # the flags are words
    g++ $flags -w -I. -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -DNDEBUG -o minisat-pg minisat/simp/Main.cc \
        minisat/simp/SimpSolver.cc minisat/core/Solver.cc minisat/utils/Options.cc minisat/utils/System.cc -lz
}

# a * b = N with 20 bits each, for a prime N of 39 bits: cannot be, and takes a search to see (an array of adders, as
# clauses). Beside it clauses of three out of 400000 variables, 2.5 a variable: what variable elimination is for.
input() {
    LC_ALL=C awk -v bits=20 -v N=549755813881 -v easy=400000 -v ratio=2.5 "$drawing"'
        function clause(s) { text[++clauses] = s " 0" }
        function fresh() { return ++vars }
        function both(x, y, z) {
            z = fresh()
            clause(-z " " x); clause(-z " " y); clause(z " " (-x) " " (-y))
            return z
        }
        function differ(x, y, z) {
            z = fresh()
            clause(-z " " x " " y); clause(-z " " (-x) " " (-y)); clause(z " " (-x) " " y); clause(z " " x " " (-y))
            return z
        }
        function two_of(x, y, c, z) {
            z = fresh()
            clause(-z " " x " " y); clause(-z " " x " " c); clause(-z " " y " " c)
            clause(z " " (-x) " " (-y)); clause(z " " (-x) " " (-c)); clause(z " " (-y) " " (-c))
            return z
        }
        function easy_literal() { return (random(2) ? "" : "-") (first + 1 + random(easy)) }
        BEGIN {
            state = 20261123
            for (i = 0; i < bits; i++) a[i] = fresh()
            for (i = 0; i < bits; i++) b[i] = fresh()
            zero = fresh(); clause(-zero)
            for (i = 0; i < bits; i++) s[i] = both(a[i], b[0])
            s[bits] = zero
            for (j = 1; j < bits; j++) {
                carry = zero
                for (i = 0; i < bits; i++) {
                    p = both(a[i], b[j])
                    t = differ(differ(s[i + j], p), carry)
                    carry = two_of(s[i + j], p, carry)
                    s[i + j] = t
                }
                s[bits + j] = carry
            }
            for (i = 0; i < 2 * bits; i++) { clause((N % 2 ? "" : "-") s[i]); N = int(N / 2) }
            first = vars; vars += easy
            for (k = 0; k < easy * ratio; k++) {
                line = easy_literal(); line = line " " easy_literal(); clause(line " " easy_literal())
            }
            print "p cnf", vars, clauses
            for (k = 1; k <= clauses; k++) print text[k]
        }' >factor.cnf
}

# The exit status is the answer: 20 says that there is no solution.
run() {
    recorded sh -c '"$0" "$@"; [ $? -eq 20 ]' "$tree/minisat-pg" "$data/factor.cnf"
}
