/* Programs with heartbeats, one per word: host WORD [ARGUMENTS]
 *   one                            one beat of id 1
 *   beat-until-eof                 beats and sleeps, until stdin ends
 *   options DIR INTERVAL RATE OFF  100 beats of id 1 after ekg_init with these options; prints "init RESULT"
 *   sleeps                         five beats of two milliseconds; prints "ns" and how long they took at most */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "appekg.h"

static int one(char **unused)
{
    (void)unused;
    ekg_begin(1);
    ekg_end(1);
    return 0;
}

static int beat_until_eof(char **unused)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    (void)unused;
    do {
        ekg_begin(1);
        ekg_end(1);
    } while (poll(&input, 1, 2) == 0);
    return 0;
}

static int options(char **arguments)
{
    const struct ekg_options options = {
        .directory = arguments[0],
        .interval_s = atof(arguments[1]),
        .rate_factor = (uint32_t)atoi(arguments[2]),
        .start_off = (uint32_t)atoi(arguments[3]),
    };
    printf("init %d\n", ekg_init(&options));
    for (int i = 0; i < 100; i++) {
        ekg_begin(1);
        ekg_end(1);
    }
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int sleeps(char **unused)
{
    uint64_t sum = 0;
    (void)unused;
    for (int i = 0; i < 5; i++) {
        uint64_t start = now_ns();
        ekg_begin(1);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        ekg_end(1);
        sum += now_ns() - start;
    }
    printf("ns %llu\n", (unsigned long long)sum);
    return 0;
}

static const struct word {
    const char *word;
    int (*run)(char **arguments);
    int count;
} words[] = {{"one", one, 0},
             {"beat-until-eof", beat_until_eof, 0},

             {"options", options, 4},
             {"sleeps", sleeps, 0}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, argv[1]) == 0 && argc == words[i].count + 2)
            return words[i].run(argv + 2);
    return 2;
}
