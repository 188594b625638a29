/* A server's log: written, searched by a regular expression, its numbers read, its lines sorted. Nearly all of the time
 * goes to libc: snprintf, regexec, strtod, and qsort with strcmp. */
#include "truth_log.h"
#include <regex.h>
#include <stdint.h>
#include <string.h>

enum { BATCH = 2000, BATCHES = 60, WIDTH = 96 };

static char line[BATCH * BATCHES][WIDTH];
static uint32_t seed = 17;

static unsigned random_below(unsigned limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

KEPT static void write_batch(char (*lines)[WIDTH], int first)
{
    static const char *const verb[] = {"GET", "PUT", "HEAD", "POST"};
    for (int i = 0; i < BATCH; i++)
        snprintf(lines[i], WIDTH, "%010.3f host%05u %s /item/%x/%u?q=%u %u %.6e", (first + i) * 0.017,
                 random_below(50000), verb[random_below(4)], random_below(1 << 20), random_below(900), random_below(99),
                 200 + 100 * random_below(4), 1e-3 * random_below(1000000));
}

KEPT static int search_batch(char (*lines)[WIDTH], const regex_t *pattern)
{
    int found = 0;
    for (int i = 0; i < BATCH; i++) {
        regmatch_t match;
        found += regexec(pattern, lines[i], 1, &match, 0) == 0;
    }
    return found;
}

KEPT static double sum_batch(char (*lines)[WIDTH])
{
    double sum = 0;
    for (int i = 0; i < BATCH; i++)
        sum += strtod(lines[i], NULL) + strtod(strrchr(lines[i], ' '), NULL);
    return sum;
}

static int by_host(const void *a, const void *b)
{
    return strcmp(strchr((const char *)a, 'h'), strchr((const char *)b, 'h'));
}

KEPT static void sort_batch(char (*lines)[WIDTH])
{
    static char copy[BATCH][WIDTH];
    memcpy(copy, lines, sizeof copy);
    qsort(copy, BATCH, WIDTH, by_host);
    memcpy(lines, copy, sizeof copy);
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), sum = 0;
    int found = 0, batches = scale < 1 ? 1 + (int)(scale * BATCHES) : BATCHES, rounds = scale < 1 ? 1 : (int)scale;
    regex_t pattern;
    if (regcomp(&pattern, "host[0-9]*1[0-9]* (PUT|POST) /item/([0-9a-f])[0-9a-f]*\\2/[0-9]+.q=1[0-9] 2",
                REG_EXTENDED) != 0)
        return 1;
    truth_phase("write");
    for (int i = 0; i < 14 * rounds * batches; i++)
        write_batch(&line[i % batches * BATCH], i % batches * BATCH);
    truth_phase("search");
    for (int i = 0; i < 50 * rounds * batches; i++)
        found += search_batch(&line[i % batches * BATCH], &pattern);
    truth_phase("sum");
    for (int i = 0; i < 60 * rounds * batches; i++)
        sum += sum_batch(&line[i % batches * BATCH]);
    truth_phase("sort");
    for (int i = 0; i < 80 * rounds * batches; i++)
        sort_batch(&line[i * 7 % (batches * BATCH - BATCH + 1)]);
    truth_end();
    regfree(&pattern);
    printf("logsearch: %d found, sum %.6f, first %.20s\n", found, sum, line[0]);
    return 0;
}
