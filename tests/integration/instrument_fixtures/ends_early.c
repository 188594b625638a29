/* Ends in the middle: what is open then has begun, and never ends. */
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(int status)
{
    printf("giving up\n");
    exit(status);
}

static int work(int n)
{
    if (n > 5)
        give_up(9);
    return n + 1;
}

int main(void)
{
    int i, sum = 0;
    for (i = 0; i < 10; i++)
        sum += work(i);
    return sum;
}
