#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char word[2500000][16];
static __attribute__((noinline)) double step(int n)
{
    double sum = 0;
    for (int i = 1; i < 200000; i++)
        sum += sqrt(i + n);
    return sum;
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 2500; i++)
        sum += step(i);
    for (int i = 0; i < 2500000; i++)
        snprintf(word[i], 16, "%08x", (unsigned)i * 2654435761u);
    qsort(word, 2500000, 16, (int (*)(const void *, const void *))strcmp);
    qsort(word, 2500000, 16, (int (*)(const void *, const void *))strcasecmp);
    printf("%g %s\n", sum, word[77]);
    return 0;
}
