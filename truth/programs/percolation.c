/* Does water find a way through a porous stone? Nearly all of the run joins open cells into clusters; before that the
 * stones are made, a tenth of the run, and at the end the clusters are counted, one or two hundredths. */
#include "truth_log.h"
#include <stdint.h>

enum { SIDE = 400, CELLS = SIDE * SIDE, STONES = 40 };

static uint8_t stone[STONES][CELLS];
static int cluster[CELLS];
static int through[STONES];
static uint64_t seed = 271828182845904523u;

KEPT static void make_stone(uint8_t *open)
{
    for (int i = 0; i < CELLS; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        open[i] = seed % 1000 < 593;
    }
}

static int root_of(int cell)
{
    while (cluster[cell] != cell)
        cell = cluster[cell] = cluster[cluster[cell]];
    return cell;
}

static void join(int a, int b)
{
    cluster[root_of(a)] = root_of(b);
}

/* Union and find over all neighbours; then, whether a cluster of the first row reaches the last one. */
KEPT static int find_way(const uint8_t *open)
{
    for (int i = 0; i < CELLS; i++)
        cluster[i] = i;
    for (int i = 0; i < CELLS; i++) {
        if (open[i] && i % SIDE > 0 && open[i - 1])
            join(i, i - 1);
        if (open[i] && i >= SIDE && open[i - SIDE])
            join(i, i - SIDE);
    }
    for (int i = 1; i < SIDE; i++)
        join(i, 0);
    for (int i = CELLS - SIDE; i < CELLS; i++)
        if (open[i] && root_of(i) == root_of(0))
            return 1;
    return 0;
}

KEPT static int count_clusters(const uint8_t *open)
{
    int count = 0;
    for (int i = 0; i < CELLS; i++)
        count += open[i] && root_of(i) == i;
    return count;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    int ways = 0, clusters = 0;
    truth_phase("make");
    for (int i = 0; i < STONES * (1 + (int)(26 * scale)); i++)
        make_stone(stone[i % STONES]);
    truth_phase("join");
    for (int i = 0; i < 1 + (int)(2800 * scale); i++)
        ways += through[i % STONES] = find_way(stone[i % STONES]);
    truth_phase("count");
    for (int i = 0; i < 1 + (int)(120 * scale); i++)
        clusters += count_clusters(stone[i % STONES]);
    truth_end();
    printf("percolation: %d ways, %d clusters\n", ways, clusters);
    return 0;
}
