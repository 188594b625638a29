/* A program whose calls are mostly comparisons, in numbers that differ each time. argv: qsort, own, search, steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

static unsigned int state = 1;
static int numbers[512];

APART int draw(int below)
{
    state = state * 1103515245u + 12345;
    return (int)((state >> 8) % (unsigned int)below);
}

APART void fill(int n)
{
    for (int i = 0; i < n; i++)
        numbers[i] = draw(65536);
}

APART int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

APART int find(int n, int wanted)
{
    return bsearch(&wanted, numbers, (size_t)n, sizeof *numbers, compare) != NULL;
}

APART void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b;
    *b = kept;
}

APART int less(int a, int b)
{
    return a < b;
}

APART void sort(int *a, int n)
{
    if (n < 2)
        return;
    int pivot = a[n / 2], i = 0, j = n - 1;
    while (i <= j) {
        while (less(a[i], pivot))
            i++;
        while (less(pivot, a[j]))
            j--;
        if (i <= j)
            swap(a + i++, a + j--);
    }
    sort(a, j + 1);
    sort(a + i, n - i);
}

APART double step(double x)
{
    return x * 1.0001 + 1;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "qsort";
    double x = 0;
    int found = 0;
    for (int round = 0; round < 400; round++) {
        int n = 50 + draw(400);
        if (strcmp(what, "steps") != 0)
            fill(n);
        if (strcmp(what, "own") == 0)
            sort(numbers, n);
        else if (strcmp(what, "steps") != 0)
            qsort(numbers, (size_t)n, sizeof *numbers, compare);
        for (int i = 0; i < 50 && strcmp(what, "search") == 0; i++)
            found += find(n, draw(65536));
        for (int i = draw(60) + 5; i > 0 && strcmp(what, "steps") == 0; i--)
            x = step(x);
    }
    printf("%g %d\n", x, found);
    return 0;
}
