/* The Ising model at its critical temperature, by Metropolis sweeps from start to end: a program with one phase. */
#include "truth_log.h"
#include <math.h>
#include <stdint.h>

enum { SIZE = 512 };

static int8_t spin[SIZE][SIZE];
static double accept[2][5]; /* by own spin and number of neighbours up */
static uint64_t seed = 0x9e3779b97f4a7c15u;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

static int neighbours_up(int row, int column)
{
    int up = (row + SIZE - 1) % SIZE, down = (row + 1) % SIZE;
    int left = (column + SIZE - 1) % SIZE, right = (column + 1) % SIZE;
    return spin[up][column] + spin[down][column] + spin[row][left] + spin[row][right];
}

KEPT static int sweep(void)
{
    int flips = 0;
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            if (uniform() < accept[spin[row][column]][neighbours_up(row, column)]) {
                spin[row][column] ^= 1;
                flips++;
            }
    return flips;
}

static double magnetisation(void)
{
    int sum = 0;
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            sum += 2 * spin[row][column] - 1;
    return (double)sum / (SIZE * SIZE);
}

int main(int argc, char **argv)
{
    int sweeps = 1 + (int)(4500 * scale_argument(argc, argv));
    double temperature = 2 / log(1 + sqrt(2));
    for (int own = 0; own < 2; own++)
        for (int up = 0; up < 5; up++)
            accept[own][up] = exp(-2.0 * (2 * own - 1) * (2 * up - 4) / temperature);
    truth_phase("sweep");
    long flips = 0;
    for (int i = 0; i < sweeps; i++)
        flips += sweep();
    truth_end();
    printf("ising: %ld flips, magnetisation %.6f\n", flips, magnetisation());
    return 0;
}
