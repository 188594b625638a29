/* What people and launchers put into the environment: values, lists of ranks, names of directories; and the line that
 * says what is wrong with one. */
#include "runtime/log.c"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "drawn.h"
#include "environment.h"
#include "launch.h"
#include "sys.h"

#define NANO 1000000000u
#define MOST_NS ((uint64_t)1 << 62)

static const char *const names[] = {
    "INCPROF_INTERVAL", "INCPROF_RATE",   "INCPROF_RANKS", "INCPROF_RANK",         "INCPROF_OVERHEAD",
    "INCPROF_CLOCK",    "INCPROF_FOLLOW", "INCPROF_LOG",   "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",     "SLURM_STEP_ID",  "SLURM_PROCID",  "PMIX_NAMESPACE",       "INCPROF_DIR",
};
#define NAMES (sizeof names / sizeof *names)

/* A number is taken where it is one, and is the one that libc reads. */
static void check_nano(const char *text)
{
    uint64_t nano;
    size_t length = strlen(text);
    bool is_number = length > 0 && strspn(text, "0123456789.") == length && strcmp(text, ".") != 0 &&
                     (strchr(text, '.') == NULL || strchr(strchr(text, '.') + 1, '.') == NULL);
    double expected = is_number ? strtod(text, NULL) * 1e9 : 0;
    bool taken = environment_parse_nano(text, MOST_NS, &nano);
    DEMAND(!taken || (is_number && nano <= MOST_NS));
    DEMAND(!taken ||
           (expected - (double)nano < 2 + expected * 1e-15 && (double)nano - expected < 2 + expected * 1e-15));
    DEMAND(taken || !is_number || expected > 0.999999 * (double)MOST_NS);
    // What is a number is as much in seconds, and in hertz.
    uint64_t seconds, hertz;
    bool time = environment_parse_time(text, MOST_NS, &seconds), rate = environment_parse_rate(text, MOST_NS, &hertz);
    DEMAND(!time || seconds <= MOST_NS);
    DEMAND(!rate || hertz <= MOST_NS);
    DEMAND(!taken || length > 31 || (time && rate && seconds == nano && hertz == nano));
}

static void check_line(const char *text)
{
    struct line line = {.length = 0};
    add(&line, text);
    DEMAND(line.length < sizeof line.text);
    for (size_t at = 0, length; at < line.length; at += length) {
        char rest[8] = "";
        memcpy(rest, line.text + at, line.length - at < 7 ? line.length - at : 7);
        DEMAND(is_printable(utf8_decode(rest, &length)));
    }
}

static void check_config(void)
{
    struct config config;
    struct launch launch;
    char path[PATH_MAX];
    config_read(&config);
    DEMAND(config.interval_ns >= NANO / 1000 && config.interval_ns <= 86400ull * NANO);
    DEMAND(config.rate_hz >= 1 && config.rate_hz <= 10000 && config.rank >= -1);
    DEMAND(config.overhead >= NANO / 10 && config.overhead <= 100ull * NANO);
    config_has_rank(config.ranks, INT_MAX, -1);
    watched_allow((size_t)16 << 20); /* environments of other processes */
    DEMAND(launch_identify(&launch, config.rank));
    DEMAND(launch.rank >= 0 && launch.ranks >= -1);
    DEMAND(memchr(launch.identity, '\0', sizeof launch.identity) != NULL);
    if (launch_name_directory(&launch, config.directory, "gmon", path, sizeof path))
        DEMAND(memchr(path, '\0', sizeof path) != NULL && path[0] == '/');
}

/* setenv keeps all that was ever set. */
static void set(size_t name, const char *value)
{
    static char *entries[NAMES];
    char *entry = NULL;
    unsetenv(names[name]);
    if (value != NULL && asprintf(&entry, "%s=%s", names[name], value) > 0)
        putenv(entry);
    free(entries[name]);
    entries[name] = entry;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    for (size_t i = 0; i < NAMES; i++) {
        char *text = draw_text(&drawn);
        check_nano(text);
        check_line(text);
        set(i, drawn.left > 0 ? text : NULL);
        free(text);
    }
    check_config();
    return 0;
}
