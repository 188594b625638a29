#define _GNU_SOURCE
#include "environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define NANO 1000000000u

const char *environment_text(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

bool environment_parse_nano(const char *text, uint64_t limit, uint64_t *nano)
{
    uint64_t value = 0;
    uint64_t unit = NANO;
    bool digits = false;
    for (; *text >= '0' && *text <= '9'; text++, digits = true) {
        if (value > limit / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0') * NANO;
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

void environment_complain(const char *name, const char *value, const char *fallback)
{
    char text[256] = "";
    strncat(text, name, 40);
    strcat(text, "=");
    strncat(text, value, 100);
    strcat(text, " is not valid, using ");
    strncat(text, fallback, 40);
    log_warn(text, NULL);
}

struct unit {
    const char *name;
    uint64_t times, by;
};

/* Parse a number with a unit. The last of `units` has no name. */
static bool parse_in(const struct unit *units, const char *text, uint64_t limit, uint64_t *nano)
{
    char number[32] = "";
    size_t length = 0;
    uint64_t value;
    while (length < sizeof number - 1 && ((text[length] >= '0' && text[length] <= '9') || text[length] == '.'))
        length++;
    memcpy(number, text, length);
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcmp(text + length, unit->name) != 0)
            continue;
        if (!environment_parse_nano(number, UINT64_MAX / 2, &value) || value / unit->by > limit / unit->times)
            return false;
        *nano = value / unit->by * unit->times;
        return true;
    }
    return false;
}

bool environment_parse_time(const char *text, uint64_t limit, uint64_t *nano)
{
    static const struct unit times[] = {
        {"", 1, 1},   {"s", 1, 1},    {"ms", 1, 1000}, {"us", 1, 1000000}, {"ns", 1, NANO},
        {"m", 60, 1}, {"min", 60, 1}, {"h", 3600, 1},  {"d", 86400, 1},    {NULL, 1, 1},
    };
    return parse_in(times, text, limit, nano);
}

bool environment_parse_rate(const char *text, uint64_t limit, uint64_t *nano)
{
    static const struct unit rates[] = {
        {"", 1, 1}, {"Hz", 1, 1}, {"hz", 1, 1}, {"kHz", 1000, 1}, {"khz", 1000, 1}, {NULL, 1, 1},
    };
    return parse_in(rates, text, limit, nano);
}

int environment_choice(const char *name, const char *const *choices)
{
    const char *value = environment_text(name);
    if (value == NULL)
        return 0;
    for (int i = 0; choices[i] != NULL; i++)
        if (strcmp(value, choices[i]) == 0)
            return i;
    environment_complain(name, value, choices[0]);
    return 0;
}

bool environment_flag(const char *name, bool fallback)
{
    static const char *const words[] = {"0", "no", "off", "false", "1", "yes", "on", "true"};
    const char *value = environment_text(name);
    if (value == NULL)
        return fallback;
    for (int i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0)
            return i >= 4;
    environment_complain(name, value, fallback ? "1" : "0");
    return fallback;
}

typedef bool parser(const char *text, uint64_t limit, uint64_t *nano);

static uint64_t parsed_or(parser *parse, const char *name, uint64_t low, uint64_t high, uint64_t fallback,
                          const char *shown)
{
    const char *value = environment_text(name);
    uint64_t parsed;
    if (value == NULL)
        return fallback;
    if (parse(value, high, &parsed) && parsed >= low)
        return parsed;
    environment_complain(name, value, shown);
    return fallback;
}

uint64_t environment_nano(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown)
{
    return parsed_or(environment_parse_nano, name, low, high, fallback, shown);
}

uint64_t environment_time(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown)
{
    return parsed_or(environment_parse_time, name, low, high, fallback, shown);
}

uint64_t environment_rate(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown)
{
    return parsed_or(environment_parse_rate, name, low, high, fallback, shown);
}

int environment_rank(const char *name)
{
    const char *value = environment_text(name);
    if (value == NULL)
        return -1;
    char *end;
    long rank = strtol(value, &end, 10);
    if (*end == '\0' && rank >= 0 && rank <= INT_MAX)
        return (int)rank;
    environment_complain(name, value, "the launcher's rank");
    return -1;
}

void environment_log_level(const char *name)
{
    static const char *const levels[] = {"warn", "quiet", "debug", NULL};
    static const enum log_level level_of[] = {LOG_WARN, LOG_QUIET, LOG_DEBUG};
    log_set_level(level_of[environment_choice(name, levels)]);
}
