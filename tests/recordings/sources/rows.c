#include <math.h>
#include <stdio.h>
#define N 20000
static double y[N];
int main(int argc, char **argv)
{
    int step = 0;
    (void)argv;
    if (argc > 5)
        goto inside;
    for (; step < 4000; step++) {
        y[step] += 1;
    inside:
#pragma omp parallel for
        for (int row = 0; row < N; row++) {
            double sum = 0;
            for (int k = 0; k < 9; k++)
                sum += sqrt(row + k + y[row]);
            y[row] = sum;
        }
    }
    printf("%f\n", y[7]);
}
