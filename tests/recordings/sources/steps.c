#include <math.h>
#include <stdio.h>
__attribute__((noinline)) double one(double x) { return sin(x) + cos(x); }
int main(void)
{
    double total = 0;
    for (int step = 0; step < 3000; step++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++)
            sum += one(i + step);
        total += sum;
    }
    printf("%f\n", total);
}
