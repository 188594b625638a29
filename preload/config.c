#define _GNU_SOURCE
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"

#define NANO 1000000000u
#define SHORTEST_INTERVAL (NANO / 1000)
#define LONGEST_INTERVAL (86400ull * NANO)
#define HIGHEST_RATE 10000u

/* Takes one entry (3 or 8-15) and the comma behind it, if there is more. False if there is none. */
static bool take_ranks(const char **list, long *first, long *last)
{
    char *end;
    if (**list < '0' || **list > '9')
        return false;
    *first = *last = strtol(*list, &end, 10);
    if (*end == '-') {
        const char *upper = end + 1;
        if (*upper < '0' || *upper > '9')
            return false;
        *last = strtol(upper, &end, 10);
    }
    if (*end == ',' && end[1] != '\0')
        end++;
    else if (*end != '\0')
        return false;
    *list = end;
    return *first <= *last;
}

bool config_has_rank(const char *list, int rank)
{
    long first;
    long last;
    if (list == NULL)
        return true;
    while (*list != '\0' && take_ranks(&list, &first, &last))
        if (rank >= first && rank <= last)
            return true;
    return false;
}

/* The list in INCPROF_RANKS, or NULL for all. */
static const char *rank_list(void)
{
    const char *value = environment_text("INCPROF_RANKS");
    long first;
    long last;
    if (value == NULL)
        return NULL;
    for (const char *at = value; *at != '\0';) {
        if (!take_ranks(&at, &first, &last)) {
            environment_complain("INCPROF_RANKS", value, "all ranks");
            return NULL;
        }
    }
    return value;
}

void config_read(struct config *config)
{
    static const char *const clocks[] = {"cpu", "perf", NULL};
    static const char *const formats[] = {"stream", "gmon", NULL};
    static const char *const gatherings[] = {"rank", "node", NULL};
    static const char *const libraries[] = {"caller", "named", "separate", "drop", NULL};

    environment_log_level("INCPROF_LOG");
    config->directory = getenv("INCPROF_DIR");
    config->ranks = rank_list();
    config->exe = getenv("INCPROF_EXE");
    config->interval_ns = environment_time("INCPROF_INTERVAL", SHORTEST_INTERVAL, LONGEST_INTERVAL, NANO, "1");
    config->rate_hz =
        environment_rate("INCPROF_RATE", NANO, (uint64_t)HIGHEST_RATE * NANO, 100ull * NANO, "100") / NANO;
    config->overhead = environment_nano("INCPROF_OVERHEAD", NANO / 10, 100ull * NANO, 5ull * NANO, "5");
    config->rank = environment_rank("INCPROF_RANK");
    config->clock = environment_choice("INCPROF_CLOCK", clocks) == 1 ? CLOCK_PERF : CLOCK_CPU;
    config->clock_given = environment_text("INCPROF_CLOCK") != NULL;
    config->format = environment_choice("INCPROF_FORMAT", formats) == 1 ? FORMAT_GMON : FORMAT_STREAM;
    config->gather = environment_choice("INCPROF_GATHER", gatherings) == 1 ? GATHER_NODE : GATHER_RANK;
    if (config->gather == GATHER_NODE && config->format == FORMAT_GMON)
        environment_complain("INCPROF_GATHER", "node", "rank (gmon: a process's own files)");
    // A histogram cannot name who was called: such time is the caller's as well.
    config->charge_libraries = environment_choice("INCPROF_LIBS", libraries) < 2;
    config->follow = environment_flag("INCPROF_FOLLOW", true);
    config->disabled = environment_flag("INCPROF_DISABLE", false);
}
