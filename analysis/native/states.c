/* The most probable sequence of states if every change has the same cost (Viterbi). */
#include "native.h"

#include <stdint.h>
#include <stdlib.h>

NATIVE_API int incprof_states(const float *evidence, int64_t rows, int32_t states, float stay, int32_t *out);

static int32_t largest(const float *score, int32_t states)
{
    int32_t best = 0;
    for (int32_t s = 1; s < states; s++)
        if (score[s] > score[best])
            best = s;
    return best;
}

/*
 * evidence: rows x states log likelihoods; out: rows. A state is entered from the best one or continues, so a row takes
 * `states` steps, and one bit per state and row is stored: whether it was entered. Returns -1 if out of memory.
 * Thread-safe; allocates, so not async-signal-safe.
 */
int incprof_states(const float *evidence, int64_t rows, int32_t states, float stay, int32_t *out)
{
    if (rows <= 0 || states <= 0)
        return 0;
    size_t words = ((size_t)states + 63) / 64;
    uint64_t *entered = calloc((size_t)rows * words, sizeof *entered);
    int32_t *from = calloc((size_t)rows, sizeof *from);
    float *score = calloc((size_t)states, sizeof *score);
    int failed = entered == NULL || from == NULL || score == NULL;
    if (!failed) {
        for (int32_t s = 0; s < states; s++)
            score[s] = evidence[s];
        for (int64_t row = 1; row < rows; row++) {
            const float *now = evidence + row * states;
            uint64_t *bits = entered + (size_t)row * words;
            int32_t best = largest(score, states);
            /* The best score is reset to 0 before each row, so that sums stay small and exact. */
            float top = score[best], moved = top - stay;
            from[row] = best;
            for (int32_t s = 0; s < states; s++) {
                if (moved > score[s]) {
                    score[s] = moved;
                    bits[s / 64] |= UINT64_C(1) << (s % 64);
                }
                score[s] = score[s] - top + now[s];
            }
        }
        out[rows - 1] = largest(score, states);
        for (int64_t row = rows - 1; row > 0; row--) {
            int32_t s = out[row];
            int moved = (int)(entered[(size_t)row * words + (size_t)s / 64] >> (s % 64) & 1);
            out[row - 1] = moved ? from[row] : s;
        }
    }
    free(entered);
    free(from);
    free(score);
    return failed ? -1 : 0;
}
