/* A graph as social networks have it: edges generated, the graph built from them, searched breadth first from several
 * roots, and every tree of a search validated. */
#include "truth_log.h"
#include <stdint.h>
#include <string.h>

enum { LEVELS = 17, VERTICES = 1 << LEVELS, EDGES = 12 * VERTICES, CHUNK = 1 << 14, ROOTS = 24 };

static int from[EDGES], to[EDGES];
static int first_edge[VERTICES + 1], target[2 * EDGES];
static int parent[ROOTS][VERTICES], depth[VERTICES], queue[VERTICES];
static uint64_t seed = 42;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

/* Kronecker: each bit of the two ends falls into one of four quarters of unequal weight. */
static void make_edge(int e)
{
    from[e] = to[e] = 0;
    for (int bit = 0; bit < LEVELS; bit++) {
        double r = uniform();
        from[e] = from[e] << 1 | (r > 0.76);
        to[e] = to[e] << 1 | ((r > 0.57 && r < 0.76) || r > 0.95);
    }
}

KEPT static void generate_edges(int first, int count)
{
    for (int e = first; e < first + count; e++)
        make_edge(e);
}

/* Compressed rows, by counting; both directions of each edge. */
KEPT static void build_graph(int edges)
{
    static int fill[VERTICES];
    memset(first_edge, 0, sizeof first_edge);
    for (int e = 0; e < edges; e++) {
        first_edge[from[e] + 1]++;
        first_edge[to[e] + 1]++;
    }
    for (int v = 0; v < VERTICES; v++)
        first_edge[v + 1] += first_edge[v];
    memcpy(fill, first_edge, sizeof fill);
    for (int e = 0; e < edges; e++) {
        target[fill[from[e]]++] = to[e];
        target[fill[to[e]]++] = from[e];
    }
}

KEPT static int search_from(int root, int *tree)
{
    int head = 0, tail = 0;
    memset(tree, -1, VERTICES * sizeof *tree);
    tree[root] = root;
    queue[tail++] = root;
    while (head < tail) {
        int v = queue[head++];
        for (int k = first_edge[v]; k < first_edge[v + 1]; k++)
            if (tree[target[k]] < 0) {
                tree[target[k]] = v;
                queue[tail++] = target[k];
            }
    }
    return tail;
}

/* The depth of every vertex by its parents; the ends of an edge are at most one level apart. */
KEPT static int validate_tree(int root, const int *tree)
{
    int wrong = 0;
    for (int v = 0; v < VERTICES; v++) {
        depth[v] = tree[v] < 0 ? -1 : 0;
        for (int up = v, steps = 0; tree[v] >= 0 && up != root && steps < VERTICES; up = tree[up], steps++)
            depth[v]++;
    }
    for (int v = 0; v < VERTICES; v++)
        for (int k = first_edge[v]; k < first_edge[v + 1]; k++) {
            int apart = depth[v] - depth[target[k]];
            wrong += apart > 1 || apart < -1;
        }
    return wrong;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    int edges = scale < 1 ? CHUNK * (1 + (int)(scale * (EDGES / CHUNK - 1))) : EDGES, rounds = 1 + (int)(6 * scale);
    int reached = 0, wrong = 0;
    truth_phase("generate");
    for (int round = 0; round < rounds; round++)
        for (int e = 0; e < edges; e += CHUNK)
            generate_edges(e, CHUNK);
    truth_phase("build");
    for (int round = 0; round < 6 * rounds; round++)
        build_graph(edges);
    truth_phase("search");
    for (int i = 0; i < 24 * rounds; i++)
        reached += search_from(from[i * 97], parent[i % ROOTS]);
    truth_phase("validate");
    for (int i = 24 * rounds - 1; i >= 0 && i >= 24 * rounds - ROOTS; i--)
        for (int round = 0; round < 8; round++)
            wrong += validate_tree(from[i * 97], parent[i % ROOTS]);
    truth_end();
    printf("bfs: %d vertices reached, %d edges wrong\n", reached, wrong);
    return 0;
}
