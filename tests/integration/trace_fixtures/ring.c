/* One thread puts records of all lengths into a trace's ring, also such as never fit its first bytes; the other takes
 * them, and compares. Prints how many came. */
#include "lane.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 300u
#define LONGEST ((size_t)6 << 20)

static struct ring ring;

static size_t length_of(unsigned int record)
{
    return record % 50 == 49 ? LONGEST - record : 1 + (record * 7919u) % 60000;
}

static void *put(void *unused)
{
    uint8_t *bytes = malloc(LONGEST);
    for (unsigned int record = 0; record < RECORDS; record++) {
        size_t length = length_of(record);
        memset(bytes, (int)(record % 251), length);
        while (!ring_make_room(&ring, length))
            sched_yield();
        ring_put(&ring, bytes, length);
    }
    free(bytes);
    return unused;
}

int main(void)
{
    struct buffer taken = {0};
    unsigned int record = 0;
    size_t in_record = 0;
    pthread_t thread;
    if (!ring_start(&ring) || pthread_create(&thread, NULL, put, NULL) != 0)
        return 1;
    while (record < RECORDS) {
        size_t count = ring_take(&ring, &taken);
        for (size_t i = 0; i < count; i++) {
            if (taken.data[i] != record % 251)
                return 2;
            if (++in_record == length_of(record)) {
                record++;
                in_record = 0;
            }
        }
        taken.length = 0;
        ring_taken(&ring, count);
    }
    pthread_join(thread, NULL);
    printf("%u\n", record);
    return 0;
}
