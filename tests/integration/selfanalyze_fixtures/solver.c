/* Time steps; in each a method of Newton whose length varies, in each of its iterations a conjugate-gradient solver
 * whose length varies. Prints how often each loop went round. argv: time steps, the fewest iterations of the solver and
 * how many more there may be, and of Newton's method; a limit of 0 iterations more is a loop that is always alike. */
#include <stdio.h>
#include <stdlib.h>

static double x[256], y[256];
static unsigned int state = 12345;

static int between(int least, int more)
{
    state = state * 1664525u + 1013904223u;
    return least + (more > 0 ? (int)(state >> 16) % (more + 1) : 0);
}

static void source(void)
{
#pragma omp parallel for
    for (int i = 0; i < 256; i++)
        x[i] += i;
}

static void assemble(void)
{
#pragma omp parallel for
    for (int i = 0; i < 256; i++)
        y[i] = 0.5 * x[i];
}

static void matvec(void)
{
#pragma omp parallel for
    for (int i = 0; i < 256; i++)
        y[i] = 0.25 * x[i] + 0.5 * y[i];
}

static double dot(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 256; i++)
        sum += x[i] * y[i];
    return sum;
}

static void axpy(void)
{
#pragma omp parallel for
    for (int i = 0; i < 256; i++)
        x[i] = 0.5 * x[i] + 0.1 * y[i];
}

static void update(void)
{
#pragma omp parallel for
    for (int i = 0; i < 256; i++)
        x[i] -= 0.1 * y[i];
}

int main(int count, char **words)
{
    if (count < 6)
        return 2;
    int steps = atoi(words[1]), newton = 0, solver = 0;
    for (int step = 0; step < steps; step++) {
        source();
        for (int i = between(atoi(words[4]), atoi(words[5])); i > 0; i--, newton++) {
            assemble();
            matvec();
            dot();
            for (int j = between(atoi(words[2]), atoi(words[3])); j > 0; j--, solver++) {
                matvec();
                dot();
                axpy();
                axpy();
                dot();
            }
            update();
        }
    }
    printf("steps %d\nnewton %d\nsolver %d\n", steps, newton, solver);
    return 0;
}
