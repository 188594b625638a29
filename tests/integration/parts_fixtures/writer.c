/* A pipe that is read by fits and starts stands for a file system: what has been put comes out whole and in order, what
 * has found no room does not, and an error ends it all. Prints how much was put and how much was refused. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "sys.h"

#define RECORDS 4000u
#define LONGEST 60000u

static int ends[2];
static uint64_t records, bytes;

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void read_all(void *into, size_t length)
{
    for (size_t at = 0; at < length;) {
        long got = read(ends[0], (char *)into + at, length - at);
        if (got <= 0)
            pthread_exit(NULL);
        at += (size_t)got;
    }
}

/* Each record: its number, its length, and bytes of its number. */
static void *reader(void *unused)
{
    static uint8_t data[LONGEST + 16];
    uint64_t before = 0;
    (void)unused;
    for (;;) {
        uint64_t head[2];
        read_all(head, sizeof head);
        read_all(data, head[1]);
        for (uint64_t i = 0; i < head[1]; i++)
            if (data[i] != (uint8_t)head[0])
                abort();
        if (head[0] <= before)
            abort();
        before = head[0];
        records++;
        bytes += head[1];
        if (head[0] % 500 == 7)
            usleep(100000);
    }
}

int main(int argc, char **argv)
{
    uint64_t state = strtoul(argv[argc - 1], NULL, 10) * 2654435761u + 1, put = 0, put_bytes = 0, refused = 0;
    struct buffer data = {0};
    struct output output = {0};
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, reader, NULL) != 0)
        return 1;
    output.fd = ends[1];
    if (!writer_start(&output))
        return 2;
    for (uint64_t number = 1; number <= RECORDS; number++) {
        uint64_t length = next(&state) % (number % 3 == 0 ? 100 : LONGEST);
        data.length = 0;
        buffer_u64(&data, number);
        buffer_u64(&data, length);
        buffer_reserve(&data, length);
        memset(data.data + data.length, (int)(number & 0xff), length);
        data.length += length;
        bool is_in = writer_put(&data);
        put += is_in;
        put_bytes += is_in ? length : 0;
        refused += !is_in;
        if (!is_in)
            usleep(2000);
        if (number % 1000 == 0 && !writer_flush(monotonic_ns() + 20000000000u))
            return 3;
    }
    if (!writer_flush(monotonic_ns() + 20000000000u) || writer_error() != 0)
        return 4;
    SYS1(SYS_close, ends[1]);
    pthread_join(thread, NULL);
    if (records != put || bytes != put_bytes)
        return 5;
    /* A closed descriptor: an error, after which nothing is waited for. */
    if (!writer_put(&data) || !writer_flush(monotonic_ns() + 20000000000u) || writer_error() != -EBADF)
        return 6;
    if (!writer_end() || writer_waiting() != 0)
        return 7;
    printf("%s\n", put > refused && refused > 0 ? "fine" : "too easy");
    return 0;
}
