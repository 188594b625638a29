#include <stdio.h>
static __attribute__((noinline)) int step(int x) { __asm__ volatile("" : "+r"(x)); return x * 7 + 1; }
static __attribute__((noinline)) int region(void)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 1000; j++)
            sum += step(j);
    return sum;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 300; i++)
        sum += region();
    printf("%d\n", sum);
    return 0;
}
