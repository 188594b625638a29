/* Functions that are chosen by resolvers, which are instrumented and run before anything is set up. */
#include "host.h"

static int by_hand_plain(int x)
{
    return x + 1;
}
static int by_hand_other(int x)
{
    return x + 2;
}
__attribute__((noinline)) static int wants_other(void)
{
    return 1;
}
static int (*choose(void))(int)
{
    return wants_other() ? by_hand_other : by_hand_plain;
}
int by_hand(int x) __attribute__((ifunc("choose")));

__attribute__((target_clones("avx2", "default"), noinline)) long total(const int *values, int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

int main(void)
{
    int values[100];
    for (int i = 0; i < 100; i++)
        values[i] = i;
    printf("%d %ld\n", by_hand(3), total(values, 100));
    work(77);
    burn(80);
    return 0;
}
