#define _GNU_SOURCE
#include "config.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"

#define NANO 1000000000u
#define SHORTEST_INTERVAL (NANO / 1000)
#define LONGEST_INTERVAL (86400ull * NANO)
#define HIGHEST_RATE 10000u
/* The fastest that a CPU timer, which needs no descriptor, reaches on kernels with HZ=250. */
#define DEFAULT_RATE 250ull
#define MOST_WAITS 1000u
#define DEFAULT_WAITS 20ull
#define DEFAULT_BUDGET 2ull /* percent */

struct entry {
    enum { FROM_TO, EVERY, PER_NODE } kind;
    long first, last;
};

/* Parse a number. False if there is none. */
static bool take_number(const char **text, long *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *number = strtol(*text, &end, 10);
    *text = end;
    return true;
}

static bool take_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

/* Parse one entry (3, 8-15, every:64 or per-node:1) and the comma behind it, if more follow. False if there is none. */
static bool take_entry(const char **list, struct entry *entry)
{
    const char *at = *list;
    entry->kind = take_word(&at, "every:") ? EVERY : take_word(&at, "per-node:") ? PER_NODE : FROM_TO;
    if (!take_number(&at, &entry->first))
        return false;
    entry->last = entry->first;
    if (entry->kind == FROM_TO && *at == '-') {
        at++;
        if (!take_number(&at, &entry->last))
            return false;
    }
    if (*at == ',' && at[1] != '\0')
        at++;
    else if (*at != '\0')
        return false;
    *list = at;
    return entry->first <= entry->last && (entry->kind == FROM_TO || entry->first > 0);
}

static bool is_in(const struct entry *entry, int rank, int local)
{
    switch (entry->kind) {
    case EVERY:
        return rank % entry->first == 0;
    case PER_NODE:
        return local < entry->first;
    default:
        return rank >= entry->first && rank <= entry->last;
    }
}

bool config_has_rank(const char *list, int rank, int local)
{
    struct entry entry;
    if (list == NULL)
        return true;
    while (*list != '\0' && take_entry(&list, &entry))
        if (is_in(&entry, rank, local))
            return true;
    return false;
}

/* Return the list in INCPROF_RANKS, or NULL for all ranks. */
static const char *rank_list(void)
{
    const char *value = environment_text("INCPROF_RANKS");
    struct entry entry;
    if (value == NULL)
        return NULL;
    for (const char *at = value; *at != '\0';) {
        if (!take_entry(&at, &entry)) {
            environment_complain("INCPROF_RANKS", value, "all ranks");
            return NULL;
        }
    }
    return value;
}

/* Return a copy of a setting that is used later: programs that set their title (setproctitle) overwrite the environment
 * in place. A value too long for `room` is not copied. */
static const char *keep(char **room, const char *room_end, const char *value)
{
    size_t bytes = value != NULL ? strlen(value) + 1 : 0;
    if (bytes == 0 || bytes > (size_t)(room_end - *room))
        return value;
    char *copy = memcpy(*room, value, bytes);
    *room += bytes;
    return copy;
}

void config_read(struct config *config)
{
    static char texts[4 * PATH_MAX];
    char *room = texts;
    static const char *const clocks[] = {"cpu", "perf", NULL};
    static const char *const formats[] = {"stream", "gmon", NULL};
    static const char *const gatherings[] = {"rank", "node", NULL};
    static const char *const libraries[] = {"caller", "named", "separate", "drop", NULL};

    environment_log_level("INCPROF_LOG");
    config->directory = keep(&room, texts + sizeof texts, getenv("INCPROF_DIR"));
    config->launch = keep(&room, texts + sizeof texts, environment_text("INCPROF_LAUNCH"));
    config->exe = keep(&room, texts + sizeof texts, getenv("INCPROF_EXE"));
    config->ranks = keep(&room, texts + sizeof texts, rank_list());
    config->interval_ns = environment_time("INCPROF_INTERVAL", SHORTEST_INTERVAL, LONGEST_INTERVAL, NANO, "1");
    config->rate_hz =
        environment_rate("INCPROF_RATE", NANO, (uint64_t)HIGHEST_RATE * NANO, DEFAULT_RATE * NANO, "250") / NANO;
    config->rate_given = environment_text("INCPROF_RATE") != NULL;
    config->overhead = environment_nano("INCPROF_OVERHEAD", NANO / 10, 100ull * NANO, 5ull * NANO, "5");
    config->budget = environment_text("INCPROF_OVERHEAD") != NULL ? config->overhead : DEFAULT_BUDGET * NANO;
    uint64_t waits = environment_nano("INCPROF_WAITS", 0, (uint64_t)MOST_WAITS * NANO, DEFAULT_WAITS * NANO, "20");
    config->waits_hz = (waits + NANO - 1) / NANO;
    config->rank = environment_rank("INCPROF_RANK");
    config->clock = environment_choice("INCPROF_CLOCK", clocks) == 1 ? CLOCK_PERF : CLOCK_CPU;
    config->clock_given = environment_text("INCPROF_CLOCK") != NULL;
    config->format = environment_choice("INCPROF_FORMAT", formats) == 1 ? FORMAT_GMON : FORMAT_STREAM;
    config->gather = environment_choice("INCPROF_GATHER", gatherings) == 1 ? GATHER_NODE : GATHER_RANK;
    if (config->gather == GATHER_NODE && config->format == FORMAT_GMON)
        environment_complain("INCPROF_GATHER", "node", "rank (gmon: a process's own files)");
    // A histogram cannot name callees, so their time is also charged to the caller.
    config->charge_libraries = environment_choice("INCPROF_LIBS", libraries) < 2;
    config->counters = environment_flag("INCPROF_COUNTERS", false);
    config->lack_is_reported = environment_flag("INCPROF_LACK_REPORTED", false);
    config->gpu = environment_flag("INCPROF_GPU", false);
    config->follow = environment_flag("INCPROF_FOLLOW", true);
    config->disabled = environment_flag("INCPROF_DISABLE", false);
}
