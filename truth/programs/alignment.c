/* Two strands of DNA: mutated, aligned by dynamic programming, and searched for the longest repeat; each of the two
 * last ones is a single call that runs for seconds. */
#include "truth_log.h"
#include <stdint.h>
#include <string.h>

enum { LONGEST = 50000 };

static char first[LONGEST], second[LONGEST];
static int row[LONGEST + 1];
static uint16_t run_length[LONGEST + 1];
static uint64_t seed = 1442695040888963407u;

static unsigned random_below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1;
    return (unsigned)(seed >> 33) % limit;
}

static void make_strands(int length)
{
    for (int i = 0; i < length; i++)
        first[i] = "acgt"[random_below(4)];
    for (int i = 0, from = 0; i < length; i++, from = (from + 1) % length) {
        if (random_below(50) == 0)
            from = (from + 1) % length;
        second[i] = random_below(20) == 0 ? "acgt"[random_below(4)] : first[from];
    }
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Needleman and Wunsch, one row of the table at a time. */
KEPT static int align(int length)
{
    for (int j = 0; j <= length; j++)
        row[j] = -2 * j;
    for (int i = 1; i <= length; i++) {
        int diagonal = row[0];
        row[0] = -2 * i;
        for (int j = 1; j <= length; j++) {
            int matched = diagonal + (first[i - 1] == second[j - 1] ? 1 : -1);
            diagonal = row[j];
            row[j] = most(matched, most(row[j - 1], row[j]) - 2);
        }
    }
    return row[length];
}

/* The longest stretch that occurs twice in a strand: common suffixes of all pairs of places. */
KEPT static int longest_repeat(const char *strand, int length)
{
    int longest = 0;
    memset(run_length, 0, sizeof run_length);
    for (int i = 1; i < length; i++)
        for (int j = i; j > 0; j--) {
            run_length[j] = strand[i] == strand[j - 1] ? (uint16_t)(run_length[j - 1] + 1) : 0;
            longest = most(longest, run_length[j]);
        }
    return longest;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), root = 1;
    while (root * root > scale) /* the work grows with the square of the length */
        root *= 0.99;
    int length = 100 + (int)(42000 * root);
    make_strands(length);
    truth_phase("align");
    int score = align(length);
    truth_phase("repeat");
    int repeat = longest_repeat(second, length);
    truth_end();
    printf("alignment: score %d, longest repeat %d\n", score, repeat);
    return 0;
}
