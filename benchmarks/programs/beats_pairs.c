/* What a beat costs in one thread, beside its peer: batches of both in turn. Prints nanoseconds of both per round.
 *
 *     beats_pairs CASE ROUNDS
 */
#include <stdio.h>
#include <string.h>

#include "beats.h"

enum { FULL = 1, RATED, PULSED, COUNTED };

BATCH_OF(two_reads, read_counter(); read_counter())
BATCH_OF(full_pairs, ekg_begin(FULL); ekg_end(FULL))
BATCH_OF(rated_pairs, ekg_begin(RATED); ekg_end(RATED))
BATCH_OF(pulses, ekg_pulse(PULSED))
BATCH_OF(scopes, EKG_SCOPE(FULL))

static void disabled_pairs(void)
{
    ekg_disable();
    full_pairs();
    ekg_enable();
}

#ifdef WITH_FORTRAN
void fortran_pairs(int id, int count);

static void called_pairs(void)
{
    fortran_pairs(COUNTED, BATCH);
}
#endif

static const struct {
    const char *name;
    void (*peer)(void), (*ours)(void);
} cases[] = {
    {"reads", two_reads, full_pairs},
    {"scope", two_reads, scopes},
    {"rate", full_pairs, rated_pairs},
    {"disabled", full_pairs, disabled_pairs},
    {"pulse", full_pairs, pulses},
#ifdef WITH_FORTRAN
    {"fortran", full_pairs, called_pairs},
#endif
};

static void measure(void (*peer)(void), void (*ours)(void), int rounds)
{
    peer();
    ours();
    for (int round = 0; round < rounds; round++) {
        full_pairs(); /* the first beat after a switch sets the record up again */
        double limit = time_batch(peer);
        double cost = time_batch(ours);
        printf("%.4f %.4f\n", limit, cost);
    }
}

int main(int argc, char **argv)
{
    ekg_rate(RATED, 100);
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            measure(cases[i].peer, cases[i].ours, atoi(argv[2]));
            return 0;
        }
    }
    return 2;
}
