/* Two clusters of stars fall into each other: a Barnes-Hut tree code. Every time step sorts the bodies along a curve,
 * builds the tree, computes the forces and moves the bodies: four steps, a few to tens of milliseconds each. */
#include "truth_log.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BODIES = 30000, NODES = 4 * BODIES, RELAXATION = 400 };

struct body {
    float at[3], velocity[3], force[3];
    uint32_t key;
};
struct node {
    float centre[3], mass, size;
    int child[8]; /* > 0: a node; < 0: body -1-child; 0: nothing */
};

static struct body body[BODIES], sorted[BODIES];
static struct node node[NODES];
static int nodes;
static uint32_t seed = 4711;

static float uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) * 0x1p-24f;
}

/* A body of a Plummer sphere; the velocity by rejection. */
KEPT static void place_body(struct body *b, float shift)
{
    float r = 0, g = 1, q = 0;
    for (int draw = 0; draw < RELAXATION; draw++) { /* the median of some: few far outliers */
        float radius = 1 / sqrtf(powf(0.05f + 0.9f * uniform(), -0.667f) - 0.98f);
        r += (radius - r) / (float)(draw + 1);
    }
    while (g > q * q * powf(1 - q * q, 3.5f)) {
        q = uniform();
        g = 0.1f * uniform();
    }
    r *= 0.5f + uniform();
    float z = 2 * uniform() - 1, angle = 6.2832f * uniform(), flat = sqrtf(1 - z * z);
    float direction[3] = {flat * cosf(angle), flat * sinf(angle), z};
    for (int d = 0; d < 3; d++) {
        b->at[d] = r * direction[d] + (d == 0 ? shift : 0);
        b->velocity[d] = 0.3f * q * direction[(d + 1) % 3] - (d == 0 ? 0.1f * shift : 0);
    }
}

/* Radix sort by interleaved bits of the coordinates: neighbours in space become neighbours in memory. */
KEPT static void decompose_domain(void)
{
    for (int i = 0; i < BODIES; i++) {
        body[i].key = 0;
        for (int bit = 9; bit >= 0; bit--)
            for (int d = 0; d < 3; d++)
                body[i].key = body[i].key << 1 | ((uint32_t)((body[i].at[d] + 16) * 32) >> bit & 1);
    }
    for (int shift = 0; shift < 30; shift += 2) {
        int start[5] = {0};
        for (int i = 0; i < BODIES; i++)
            start[(body[i].key >> shift & 3) + 1]++;
        for (int k = 1; k < 4; k++)
            start[k + 1] += start[k];
        for (int i = 0; i < BODIES; i++)
            sorted[start[body[i].key >> shift & 3]++] = body[i];
        memcpy(body, sorted, sizeof body);
    }
}

static int new_node(float x, float y, float z, float size)
{
    node[nodes] = (struct node){.centre = {x, y, z}, .size = size};
    return nodes++;
}

static int octant(const struct node *n, const float *at)
{
    return (at[0] > n->centre[0]) + 2 * (at[1] > n->centre[1]) + 4 * (at[2] > n->centre[2]);
}

static int child_node(const struct node *n, int o)
{
    float h = n->size / 4;
    return new_node(n->centre[0] + (o & 1 ? h : -h), n->centre[1] + (o & 2 ? h : -h), n->centre[2] + (o & 4 ? h : -h),
                    n->size / 2);
}

static void insert_body(int b)
{
    int at = 0, o = octant(&node[0], body[b].at);
    while (node[at].child[o] > 0) {
        at = node[at].child[o];
        o = octant(&node[at], body[b].at);
    }
    while (node[at].child[o] < 0 && node[at].size > 1e-4f && nodes < NODES) {
        int other = node[at].child[o], next = child_node(&node[at], o);
        node[at].child[o] = next;
        node[next].child[octant(&node[next], body[-1 - other].at)] = other;
        at = next;
        o = octant(&node[at], body[b].at);
    }
    node[at].child[o] = -1 - b;
}

/* Centres of mass, children first: they have higher numbers. */
static void sum_masses(void)
{
    for (int i = nodes - 1; i >= 0; i--) {
        float sum[3] = {0}, mass = 0;
        for (int o = 0; o < 8; o++) {
            int c = node[i].child[o];
            float m = c > 0 ? node[c].mass : c < 0 ? 1.0f / BODIES : 0;
            for (int d = 0; d < 3 && c != 0; d++)
                sum[d] += m * (c > 0 ? node[c].centre[d] : body[-1 - c].at[d]);
            mass += m;
        }
        node[i].mass = mass;
        for (int d = 0; d < 3 && mass > 0; d++)
            node[i].centre[d] = sum[d] / mass;
    }
}

KEPT static void build_tree(void)
{
    nodes = 0;
    new_node(0, 0, 0, 32);
    for (int b = 0; b < BODIES; b++)
        insert_body(b);
    sum_masses();
}

static void attract(float *force, const float *at, const float *to, float mass)
{
    float dx = to[0] - at[0], dy = to[1] - at[1], dz = to[2] - at[2];
    float squared = dx * dx + dy * dy + dz * dz + 0.01f, pull = mass / (squared * sqrtf(squared));
    force[0] += pull * dx;
    force[1] += pull * dy;
    force[2] += pull * dz;
}

static void walk_tree(struct body *b)
{
    int stack[256], depth = 0;
    stack[depth++] = 0;
    memset(b->force, 0, sizeof b->force);
    while (depth > 0) {
        const struct node *n = &node[stack[--depth]];
        float dx = n->centre[0] - b->at[0], dy = n->centre[1] - b->at[1], dz = n->centre[2] - b->at[2];
        if (n->size * n->size < 2.0f * (dx * dx + dy * dy + dz * dz)) {
            attract(b->force, b->at, n->centre, n->mass);
            continue;
        }
        for (int o = 0; o < 8; o++)
            if (n->child[o] > 0)
                stack[depth++] = n->child[o];
            else if (n->child[o] < 0)
                attract(b->force, b->at, body[-1 - n->child[o]].at, 1.0f / BODIES);
    }
}

KEPT static void compute_forces(void)
{
    for (int b = 0; b < BODIES; b++)
        walk_tree(&body[b]);
}

KEPT static void move_bodies(float dt)
{
    for (int substep = 0; substep < 15; substep++) /* in an outer potential, which turns fast */
        for (int b = 0; b < BODIES; b++)
            for (int d = 0; d < 3; d++) {
                body[b].velocity[d] += dt / 15 * (body[b].force[d] - 0.01f * body[b].at[d]);
                body[b].at[d] = fmaxf(-15.9f, fminf(15.9f, body[b].at[d] + dt / 15 * body[b].velocity[d]));
            }
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), sum = 0;
    int steps = 1 + (int)(90 * scale), rounds = 1 + (int)(10 * scale);
    truth_phase("place");
    for (int i = 0; i < rounds * BODIES; i++)
        place_body(&body[i % BODIES], i % 2 ? 2 : -2);
    truth_phase("evolve");
    for (int step = 0; step < steps; step++) {
        decompose_domain();
        build_tree();
        compute_forces();
        move_bodies(0.02f);
    }
    truth_end();
    for (int b = 0; b < BODIES; b++)
        sum += fabsf(body[b].at[0]);
    printf("galaxy: mean |x| %.4f, %d nodes\n", sum / BODIES, nodes);
    return 0;
}
