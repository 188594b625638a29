/* Two threads, each with ten million beats in which next to nothing happens. */
#include <pthread.h>
#include <stddef.h>

#include "appekg.h"

static volatile double sums[2][16];

static void *beat(void *sum)
{
    for (int i = 0; i < 10000000; i++) {
        EKG_SCOPE(1);
        *(volatile double *)sum += i;
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, beat, (void *)sums[1]) != 0)
        return 1;
    beat((void *)sums[0]);
    pthread_join(other, NULL);
    return 0;
}
