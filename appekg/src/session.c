/* Thread safety: written by the thread that starts heartbeats, with `starting` held (lifecycle.c), before the interval
 * thread exists; from then on that thread reads it and calls the sinks, alone. No locks of its own. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <string.h>
#include <sys/auxv.h>

#include "catalogue.h"
#include "clock.h"
#include "environment.h"
#include "log.h"
#include "nvtx_ranges.h"
#include "sys.h"
#include "thinning.h"

static const struct sink *const all_sinks[] = {&sink_file, &sink_prometheus, &sink_ldms};
#define SINKS (sizeof all_sinks / sizeof *all_sinks)

static struct config config;
static struct launch launch;
static pid_t identified_pid;
static struct session session = {&config, &launch, 0, false};
static const struct sink *wanted[SINKS], *in_use[SINKS];

/* Return whether the comma-separated list contains the name. Pure. */
static bool lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static size_t names_in(const char *list)
{
    size_t names = 1;
    for (; *list != '\0'; list++)
        names += *list == ',';
    return names;
}

static void choose_sinks(void)
{
    size_t valid = lists(config.sinks, "none");
    for (size_t i = 0; i < SINKS; i++) {
        wanted[i] = lists(config.sinks, all_sinks[i]->name) ? all_sinks[i] : NULL;
        valid += wanted[i] != NULL;
    }
    if (valid == 0)
        wanted[0] = &sink_file;
    if (valid == 0)
        log_warn("EKG_SINK: expected file, prometheus, ldms or none, using file", config.sinks);
    else if (valid < names_in(config.sinks))
        log_warn("EKG_SINK: expected file, prometheus, ldms or none, using those", config.sinks);
}

/* A program with more rights than its caller (setuid) writes no files at the caller's choice of path. */
bool session_identify(void)
{
    if (identified_pid != 0 || getauxval(AT_SECURE) != 0)
        return identified_pid != 0;
    log_start("appekg");
    environment_log_level("EKG_LOG");
    if (launch_identify(&launch, environment_rank("EKG_RANK")))
        identified_pid = (pid_t)SYS0(SYS_getpid);
    return identified_pid != 0;
}

bool session_configure(const struct ekg_options *options)
{
    if (!session_identify())
        return false;
    config_read(&config, options);
    if (config.disabled)
        return false;
    choose_sinks();
    catalogue_set_default_factor(config.factor);
    const char *directory = config.directory[0] != '\0' ? config.directory : NULL;
    if (!lists(config.sinks, "none") && !launch_claim_directory(&launch, directory, "ekg"))
        return false;
    clock_start(config.monotonic);
    thinning_start(config.overhead);
    nvtx_ranges_choose(config.nvtx);
    return true;
}

/* An unusable sink is replaced by the file, so that heartbeats are not lost because a service is missing. */
uint64_t session_open(void)
{
    session.start_ns = clock_moment().ns;
    session.forked = SYS0(SYS_getpid) != identified_pid;
    control_start(launch.directory);
    for (size_t i = SINKS; i-- > 0;) {
        in_use[i] = wanted[i] != NULL && wanted[i]->open(&session) ? wanted[i] : NULL;
        if (wanted[i] != NULL && in_use[i] == NULL)
            wanted[0] = &sink_file;
    }
    return session.start_ns;
}

bool session_has_sink(void)
{
    for (size_t i = 0; i < SINKS; i++)
        if (in_use[i] != NULL)
            return true;
    return lists(config.sinks, "none");
}

bool session_starts_off(void)
{
    return config.start_off;
}

uint64_t session_interval_ns(void)
{
    return config.interval_ns;
}

void session_write(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < SINKS; i++)
        if (in_use[i] != NULL)
            in_use[i]->write(snapshot);
}

void session_close(const struct snapshot *last)
{
    for (size_t i = 0; i < SINKS; i++)
        if (in_use[i] != NULL)
            in_use[i]->close(last);
}

void session_forget(void)
{
    for (size_t i = 0; i < SINKS; i++)
        if (in_use[i] != NULL && in_use[i]->forget != NULL)
            in_use[i]->forget();
    memset(in_use, 0, sizeof in_use);
}
