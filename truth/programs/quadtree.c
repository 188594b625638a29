/* A vortex in a square that is divided where it turns fast: a quadtree of cells. Every time step moves the vorticity,
 * balances it with the neighbours and finds the next time step; from time to time the tree is built anew. */
#include "truth_log.h"
#include <math.h>
#include <string.h>

enum { FINEST = 9, SIDE = 1 << FINEST, MOST = 400000 };

struct leaf {
    int x, y, size; /* in finest cells */
    int neighbour[4];
    float vorticity, moved;
};

static struct leaf leaf[MOST];
static int leaves, owner[SIDE][SIDE];
static float fine[SIDE][SIDE];
static double angle;

static float swirl(int x, int y)
{
    float cx = SIDE * (0.5f + 0.25f * (float)cos(angle)), cy = SIDE * (0.5f + 0.25f * (float)sin(angle));
    float dx = ((float)x - cx) / SIDE, dy = ((float)y - cy) / SIDE, r = sqrtf(dx * dx + dy * dy);
    return expf(-40 * r) + 0.2f * sinf(40 * r) * expf(-9 * r);
}

/* A square becomes a leaf, or four squares where values differ. */
static void divide(int x, int y, int size)
{
    float low = fine[y][x], high = low;
    for (int i = 0; i < size * size && high - low < 0.003f; i++) {
        low = fminf(low, fine[y + i / size][x + i % size]);
        high = fmaxf(high, fine[y + i / size][x + i % size]);
    }
    if (size > 1 && high - low >= 0.003f) {
        for (int quarter = 0; quarter < 4; quarter++)
            divide(x + quarter % 2 * size / 2, y + quarter / 2 * size / 2, size / 2);
        return;
    }
    leaf[leaves].x = x, leaf[leaves].y = y, leaf[leaves].size = size;
    leaf[leaves].vorticity = low;
    for (int i = 0; i < size * size; i++)
        owner[y + i / size][x + i % size] = leaves;
    leaves++;
}

KEPT static void rebuild_tree(void)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            fine[y][x] = swirl(x, y);
    leaves = 0;
    divide(0, 0, SIDE);
    for (int i = 0; i < leaves; i++)
        for (int side = 0; side < 4; side++) {
            int step = side % 2 ? leaf[i].size : -1;
            int x = (leaf[i].x + (side < 2 ? step : 0) + SIDE) % SIDE,
                y = (leaf[i].y + (side < 2 ? 0 : step) + SIDE) % SIDE;
            leaf[i].neighbour[side] = owner[y][x];
        }
}

KEPT static void move_vorticity(float dt)
{
    for (int i = 0; i < leaves; i++) {
        float u = 0.5f - (float)leaf[i].y / SIDE, v = (float)leaf[i].x / SIDE - 0.5f, flux = 0;
        for (int side = 0; side < 4; side++) {
            float speed = (side < 2 ? u : v) * (side % 2 ? -1.0f : 1.0f);
            flux += fmaxf(speed, 0) * leaf[leaf[i].neighbour[side]].vorticity - fmaxf(-speed, 0) * leaf[i].vorticity;
        }
        leaf[i].moved = leaf[i].vorticity + dt * flux;
    }
}

KEPT static void balance_leaves(void)
{
    for (int i = 0; i < leaves; i++) {
        float sum = 0;
        for (int side = 0; side < 4; side++)
            sum += leaf[leaf[i].neighbour[side]].moved;
        leaf[i].vorticity = 0.98f * leaf[i].moved + 0.005f * sum;
    }
}

KEPT static float next_time_step(void)
{
    float fastest = 1e-3f;
    for (int i = 0; i < leaves; i++)
        fastest = fmaxf(fastest, powf(fabsf(leaf[i].vorticity), 0.7f) / (float)leaf[i].size);
    return 0.01f / fastest;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), time = 0;
    float dt = 0.01f;
    for (int cycle = 0; cycle < 3; cycle++) {
        truth_phase("rebuild");
        for (int pass = 0; pass < 1 + (int)(60 * scale); pass++) {
            angle += 0.01;
            rebuild_tree();
        }
        truth_phase("steps");
        for (int step = 0; step < 1 + (int)(1000 * scale); step++) {
            move_vorticity(dt);
            balance_leaves();
            dt = fminf(0.1f, next_time_step());
            time += dt;
        }
    }
    truth_end();
    printf("quadtree: %d leaves, time %.6f\n", leaves, time);
    return 0;
}
