/* A landscape, on several threads: worn down by water, lit from many directions, counted by height. Each is a function
 * with parallel regions, called again and again. */
#include "truth_log.h"
#include <math.h>
#include <string.h>

enum { SIZE = 768, LEVELS = 64 };

static float height[SIZE][SIZE], worn[SIZE][SIZE], light[SIZE][SIZE];
static long area[LEVELS];

static void raise_land(void)
{
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            height[y][x] =
                30 + 10 * sinf(0.02f * (float)x) * cosf(0.03f * (float)y) + 3 * sinf(0.3f * (float)(x + 2 * y));
}

KEPT static void erode(void)
{
#pragma omp parallel for schedule(static)
    for (int y = 1; y < SIZE - 1; y++)
        for (int x = 1; x < SIZE - 1; x++) {
            float flow = 0;
            for (int k = 0; k < 9; k++) {
                float drop = height[y - 1 + k / 3][x - 1 + k % 3] - height[y][x];
                flow += drop / (1 + drop * drop);
            }
            worn[y][x] = height[y][x] + 0.05f * flow;
        }
#pragma omp parallel for schedule(static)
    for (int y = 1; y < SIZE - 1; y++)
        memcpy(&height[y][1], &worn[y][1], (SIZE - 2) * sizeof(float));
}

/* The horizon in one direction, by walking against it. */
KEPT static void cast_light(int direction)
{
    float dx = cosf(0.1f * (float)direction), dy = sinf(0.1f * (float)direction);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            float horizon = 0;
            for (int walk = 1; walk < 12; walk++) {
                int wx = x + (int)((float)walk * dx), wy = y + (int)((float)walk * dy);
                if (wx >= 0 && wy >= 0 && wx < SIZE && wy < SIZE)
                    horizon = fmaxf(horizon, (height[wy][wx] - height[y][x]) / (float)walk);
            }
            light[y][x] += 1 / (1 + horizon);
        }
}

KEPT static void count_levels(void)
{
    long counted[LEVELS] = {0};
#pragma omp parallel for schedule(static) reduction(+ : counted)
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            counted[(int)fabsf(height[y][x] + 3 * logf(1 + light[y][x])) % LEVELS]++;
    for (int i = 0; i < LEVELS; i++)
        area[i] += counted[i];
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    raise_land();
    for (int cycle = 0; cycle < 2; cycle++) {
        truth_phase("erode");
        for (int i = 0; i < 1 + (int)(130 * scale); i++)
            erode();
        truth_phase("light");
        for (int i = 0; i < 1 + (int)(55 * scale); i++)
            cast_light(i);
    }
    truth_phase("count");
    for (int i = 0; i < 1 + (int)(250 * scale); i++)
        count_levels();
    truth_end();
    printf("stencil: %ld %ld %ld\n", area[20], area[30], area[40]);
    return 0;
}
