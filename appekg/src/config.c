#define _GNU_SOURCE
#include "sink.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "log.h"

#define NANO 1000000000u
#define SHORTEST_INTERVAL (NANO / 1000)
#define LONGEST_INTERVAL (86400ull * NANO)
#define HIGHEST_OVERHEAD (100ull * NANO)
#define LARGEST_FACTOR 1000000000u

static void take_text(char *into, size_t size, const char *variable, const char *option)
{
    const char *text = environment_text(variable);
    if (text == NULL)
        text = option != NULL ? option : "";
    if (strlen(text) >= size) {
        log_warn("too long, using the default", variable);
        text = "";
    }
    strcpy(into, text);
}

static uint64_t interval(const struct ekg_options *options)
{
    uint64_t fallback = NANO;
    double given = options != NULL ? options->interval_s : 0;
    if (given >= (double)SHORTEST_INTERVAL / NANO && given <= (double)LONGEST_INTERVAL / NANO)
        fallback = (uint64_t)(given * NANO + 0.5);
    else if (given != 0)
        log_warn("interval_s is not between 0.001 and 86400, using 1", NULL);
    return environment_time("EKG_INTERVAL", SHORTEST_INTERVAL, LONGEST_INTERVAL, fallback, "the default");
}

static uint32_t factor(const struct ekg_options *options)
{
    uint64_t fallback = options != NULL && options->rate_factor > 0 ? options->rate_factor : 1;
    uint64_t nano = environment_nano("EKG_RATE", NANO, (uint64_t)LARGEST_FACTOR * NANO, fallback * NANO, "the default");
    if (nano % NANO != 0) {
        environment_complain("EKG_RATE", environment_text("EKG_RATE"), "the default");
        return (uint32_t)fallback;
    }
    return (uint32_t)(nano / NANO);
}

void config_read(struct config *config, const struct ekg_options *options)
{
    static const char *const starts[] = {"on", "off", NULL};
    static const char *const clocks[] = {"auto", "monotonic", NULL};
    *config = (struct config){.factor = 1};
    take_text(config->directory, sizeof config->directory, "EKG_DIR", options != NULL ? options->directory : NULL);
    take_text(config->sinks, sizeof config->sinks, "EKG_SINK", options != NULL ? options->sinks : NULL);
    if (config->sinks[0] == '\0')
        strcpy(config->sinks, "file");
    config->interval_ns = interval(options);
    config->factor = factor(options);
    config->overhead = environment_nano("EKG_OVERHEAD", 0, HIGHEST_OVERHEAD, NANO, "1");
    config->start_off = options != NULL && options->start_off != 0;
    if (environment_text("EKG_START") != NULL)
        config->start_off = environment_choice("EKG_START", starts) == 1;
    config->monotonic = environment_choice("EKG_CLOCK", clocks) == 1;
    config->disabled = environment_flag("EKG_DISABLE", false);
    config->nvtx = environment_flag("EKG_NVTX", false);
}
