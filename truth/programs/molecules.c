/* Lennard-Jones molecules in a box: a few milliseconds per time step, with the pair forces inlined into the time loop;
 * at the end, how far the molecules are from each other, which is one long loop over all pairs. */
#include "truth_log.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SIDE = 16, MOLECULES = SIDE * SIDE * SIDE, CELLS = 7, NEIGHBOURS = 160, BINS = 200 };

static const float box = CELLS * 2.7f, cutoff = 2.7f;
static float at[3][MOLECULES], velocity[3][MOLECULES], force[3][MOLECULES];
static int cell_head[CELLS * CELLS * CELLS], cell_next[MOLECULES];
static int neighbour[MOLECULES][NEIGHBOURS], neighbours[MOLECULES];
static long histogram[BINS];

static void place_molecules(void)
{
    uint32_t seed = 99;
    for (int i = 0; i < MOLECULES; i++)
        for (int d = 0; d < 3; d++) {
            int place = d == 0 ? i % SIDE : d == 1 ? i / SIDE % SIDE : i / SIDE / SIDE;
            seed = seed * 1664525u + 1013904223u;
            at[d][i] = ((float)place + 0.5f) * box / SIDE;
            velocity[d][i] = (float)(seed >> 8) * 0x1p-24f - 0.5f;
        }
}

static float wrapped(float distance)
{
    return distance - box * (float)((distance > box / 2) - (distance < -box / 2));
}

static float squared_distance(int i, int j, float *apart)
{
    float sum = 0;
    for (int d = 0; d < 3; d++) {
        apart[d] = wrapped(at[d][i] - at[d][j]);
        sum += apart[d] * apart[d];
    }
    return sum;
}

static int cell_of(int i)
{
    return (int)(at[0][i] / 2.7f) % CELLS + CELLS * ((int)(at[1][i] / 2.7f) % CELLS) +
           CELLS * CELLS * ((int)(at[2][i] / 2.7f) % CELLS);
}

/* Pairs closer than the cutoff: only cells next to each other hold any. */
KEPT static void find_neighbours(void)
{
    memset(cell_head, -1, sizeof cell_head);
    for (int i = 0; i < MOLECULES; i++) {
        cell_next[i] = cell_head[cell_of(i)];
        cell_head[cell_of(i)] = i;
    }
    for (int i = 0; i < MOLECULES; i++) {
        int c = cell_of(i), x = c % CELLS, y = c / CELLS % CELLS, z = c / CELLS / CELLS;
        neighbours[i] = 0;
        for (int near = 0; near < 27; near++) {
            int nx = (x + near % 3 + CELLS - 1) % CELLS, ny = (y + near / 3 % 3 + CELLS - 1) % CELLS;
            int nz = (z + near / 9 + CELLS - 1) % CELLS;
            for (int j = cell_head[nx + CELLS * (ny + CELLS * nz)]; j >= 0; j = cell_next[j]) {
                float apart[3];
                if (j < i && squared_distance(i, j, apart) < cutoff * cutoff && neighbours[i] < NEIGHBOURS)
                    neighbour[i][neighbours[i]++] = j;
            }
        }
    }
}

/* Inlined on purpose: the step that takes most of the time has no call. */
static inline __attribute__((always_inline)) void add_pair_forces(void)
{
    memset(force, 0, sizeof force);
    for (int i = 0; i < MOLECULES; i++)
        for (int k = 0; k < neighbours[i]; k++) {
            int j = neighbour[i][k];
            float apart[3], squared = fmaxf(squared_distance(i, j, apart), 0.6f);
            float inverse = 1 / squared, sixth = inverse * inverse * inverse;
            float strength = 24 * inverse * sixth * (2 * sixth - 1);
            for (int d = 0; d < 3; d++) {
                force[d][i] += strength * apart[d];
                force[d][j] -= strength * apart[d];
            }
        }
}

KEPT static void move_molecules(float dt)
{
    for (int substep = 0; substep < 8; substep++) /* with a thermostat */
        for (int d = 0; d < 3; d++)
            for (int i = 0; i < MOLECULES; i++) {
                velocity[d][i] += dt / 8 * (force[d][i] - 0.05f * velocity[d][i]);
                at[d][i] += dt / 8 * velocity[d][i];
                at[d][i] -= box * floorf(at[d][i] / box);
            }
}

KEPT static void count_distances(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < MOLECULES; i++)
            for (int j = 0; j < i; j++) {
                float apart[3], distance = sqrtf(squared_distance(i, j, apart)) * (1 + 0.001f * (float)round);
                histogram[(int)(distance * 10) % BINS]++;
            }
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    place_molecules();
    truth_phase("run");
    for (int step = 0; step < 1 + (int)(1100 * scale); step++) {
        if (step % 10 == 0)
            find_neighbours();
        add_pair_forces();
        move_molecules(0.002f);
    }
    truth_phase("analyse");
    count_distances(1 + (int)(16 * scale));
    truth_end();
    printf("molecules: %ld pairs at 1.1, %ld at 5\n", histogram[11], histogram[50]);
    return 0;
}
