/* A call-heavy program in the way of object code: a tree of small records, walked, compared and changed through many
 * short functions, a dozen calls deep. Small enough for a core's own cache: its time does not hang on the neighbours.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    unsigned key, weight;
};

static unsigned state = 1;

__attribute__((noinline)) static unsigned next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

__attribute__((noinline)) static int compare(unsigned a, unsigned b)
{
    return a < b ? -1 : a > b;
}

__attribute__((noinline)) static unsigned weight_of(const struct node *node)
{
    return node != NULL ? node->weight : 0;
}

__attribute__((noinline)) static void update(struct node *node)
{
    node->weight = 1 + weight_of(node->left) + weight_of(node->right);
}

__attribute__((noinline)) static struct node *insert(struct node *node, unsigned key)
{
    if (node == NULL) {
        node = calloc(1, sizeof *node);
        node->key = key;
        node->weight = 1;
        return node;
    }
    int order = compare(key, node->key);
    if (order < 0)
        node->left = insert(node->left, key);
    else if (order > 0)
        node->right = insert(node->right, key);
    update(node);
    return node;
}

__attribute__((noinline)) static unsigned long visit(const struct node *node, unsigned depth)
{
    if (node == NULL)
        return depth;
    return visit(node->left, depth + 1) + visit(node->right, depth + 1) + node->key;
}

__attribute__((noinline)) static void discard(struct node *node)
{
    if (node == NULL)
        return;
    discard(node->left);
    discard(node->right);
    free(node);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    unsigned long sum = 0;
    for (int round = 0; round < rounds; round++) {
        struct node *tree = NULL;
        for (int i = 0; i < 4000; i++)
            tree = insert(tree, next_random());
        for (int pass = 0; pass < 60; pass++)
            sum += visit(tree, 0);
        discard(tree);
    }
    printf("%lu\n", sum);
    return 0;
}
