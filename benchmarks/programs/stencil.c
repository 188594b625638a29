/* Heat in a square, by Jacobi's method, with a file of every hundredth step. Arguments: points on a side, steps. */
#include <stdio.h>
#include <stdlib.h>

static double sweep(const double *from, double *to, size_t side)
{
    double change = 0;
    for (size_t row = 1; row + 1 < side; row++)
        for (size_t column = 1; column + 1 < side; column++) {
            size_t at = row * side + column;
            to[at] = 0.25 * (from[at - 1] + from[at + 1] + from[at - side] + from[at + side]);
            change += (to[at] - from[at]) * (to[at] - from[at]);
        }
    return change;
}

static void save(const double *field, size_t side)
{
    FILE *file = fopen("field.bin", "wb");
    if (file == NULL)
        exit(1);
    for (size_t row = 0; row < side; row++)
        fwrite(field + row * side, sizeof *field, side, file);
    fclose(file);
}

int main(int count, char **words)
{
    size_t side = count > 1 ? strtoul(words[1], NULL, 10) : 1000,
           steps = count > 2 ? strtoul(words[2], NULL, 10) : 1000;
    double *now = calloc(side * side, sizeof *now), *next = calloc(side * side, sizeof *next), change = 0;
    for (size_t at = 0; at < side; at++)
        now[at] = next[at] = 1;
    for (size_t step = 0; step < steps; step++) {
        change = sweep(now, next, side);
        double *old = now;
        now = next;
        next = old;
        if (step % 100 == 0)
            save(now, side);
    }
    printf("%g\n", change);
    return 0;
}
