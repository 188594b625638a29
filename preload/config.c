#define _GNU_SOURCE
#include "config.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define NANO 1000000000u
#define SHORTEST_INTERVAL (NANO / 1000)
#define LONGEST_INTERVAL (86400ull * NANO)
#define HIGHEST_RATE 10000u

bool config_parse_nano(const char *text, uint64_t limit, uint64_t *nano)
{
    uint64_t value = 0;
    uint64_t unit = NANO;
    bool digits = false;
    for (; *text >= '0' && *text <= '9'; text++, digits = true) {
        value = value * 10 + (uint64_t)(*text - '0') * NANO;
        if (value > limit)
            return false;
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, digits = true) {
            unit /= 10;
            value += (uint64_t)(*text - '0') * unit;
        }
    }
    if (!digits || *text != '\0' || value > limit)
        return false;
    *nano = value;
    return true;
}

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

static void complain(const char *name, const char *value, const char *fallback)
{
    char text[256] = "";
    strncat(text, name, 40);
    strcat(text, "=");
    strncat(text, value, 100);
    strcat(text, " is not valid, using ");
    strncat(text, fallback, 40);
    log_warn(text, NULL);
}

/* The index of the variable's value in `choices`, or of the first one. */
static int choose(const char *name, const char *const *choices)
{
    const char *value = getenv(name);
    if (value == NULL || *value == '\0')
        return 0;
    for (int i = 0; choices[i] != NULL; i++)
        if (strcmp(value, choices[i]) == 0)
            return i;
    complain(name, value, choices[0]);
    return 0;
}

static bool flag(const char *name, bool fallback)
{
    static const char *const words[] = {"0", "no", "off", "false", "1", "yes", "on", "true"};
    const char *value = getenv(name);
    if (value == NULL || *value == '\0')
        return fallback;
    for (int i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0)
            return i >= 4;
    complain(name, value, fallback ? "1" : "0");
    return fallback;
}

static uint64_t nano(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown)
{
    const char *value = getenv(name);
    uint64_t parsed;
    if (value == NULL || *value == '\0')
        return fallback;
    if (config_parse_nano(value, high, &parsed) && parsed >= low)
        return parsed;
    complain(name, value, shown);
    return fallback;
}

static int rank_number(void)
{
    const char *value = getenv("INCPROF_RANK");
    if (value == NULL || *value == '\0')
        return -1;
    char *end;
    long rank = strtol(value, &end, 10);
    if (*end == '\0' && rank >= 0 && rank <= INT_MAX)
        return (int)rank;
    complain("INCPROF_RANK", value, "the launcher's rank");
    return -1;
}

/* The list in INCPROF_RANKS, or NULL for all. */
static const char *rank_list(void)
{
    const char *value = getenv("INCPROF_RANKS");
    long first;
    long last;
    if (value == NULL || *value == '\0')
        return NULL;
    for (const char *at = value; *at != '\0';) {
        if (!take_ranks(&at, &first, &last)) {
            complain("INCPROF_RANKS", value, "all ranks");
            return NULL;
        }
    }
    return value;
}

void config_read(struct config *config)
{
    static const char *const levels[] = {"warn", "quiet", "debug", NULL};
    static const char *const clocks[] = {"cpu", "perf", NULL};
    static const char *const formats[] = {"stream", "gmon", NULL};
    static const char *const libraries[] = {"caller", "separate", "drop", NULL};
    static const enum log_level level_of[] = {LOG_WARN, LOG_QUIET, LOG_DEBUG};

    log_set_level(level_of[choose("INCPROF_LOG", levels)]);
    config->directory = getenv("INCPROF_DIR");
    config->ranks = rank_list();
    config->exe = getenv("INCPROF_EXE");
    config->interval_ns = nano("INCPROF_INTERVAL", SHORTEST_INTERVAL, LONGEST_INTERVAL, NANO, "1");
    config->rate_hz = nano("INCPROF_RATE", NANO, (uint64_t)HIGHEST_RATE * NANO, 100ull * NANO, "100") / NANO;
    config->rank = rank_number();
    config->clock = choose("INCPROF_CLOCK", clocks) == 1 ? CLOCK_PERF : CLOCK_CPU;
    config->format = choose("INCPROF_FORMAT", formats) == 1 ? FORMAT_GMON : FORMAT_STREAM;
    config->charge_libraries = choose("INCPROF_LIBS", libraries) == 0;
    config->follow = flag("INCPROF_FOLLOW", true);
    config->disabled = flag("INCPROF_DISABLE", false);
}
