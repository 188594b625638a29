#define _GNU_SOURCE
#include "log.h"

#include <string.h>

#include "sys.h"

static enum log_level current_level = LOG_WARN;

void log_set_level(enum log_level level)
{
    current_level = level;
}

struct line {
    char text[512];
    size_t length;
};

static void add(struct line *line, const char *text)
{
    size_t room = sizeof line->text - 1 - line->length;
    size_t length = strnlen(text, room);
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void say(enum log_level level, const char *what, const char *detail, const char *reason)
{
    if (level > current_level)
        return;
    struct line line = {.length = 0};
    add(&line, "incprof: ");
    add(&line, what);
    if (detail != NULL) {
        add(&line, ": ");
        add(&line, detail);
    }
    if (reason != NULL) {
        add(&line, ": ");
        add(&line, reason);
    }
    line.text[line.length++] = '\n';
    SYS3(SYS_write, 2, line.text, line.length);
}

void log_warn(const char *what, const char *detail)
{
    say(LOG_WARN, what, detail, NULL);
}

void log_debug(const char *what, const char *detail)
{
    say(LOG_DEBUG, what, detail, NULL);
}

void log_error(const char *what, const char *detail, long error)
{
    /* strerrordesc_np is a table look-up: no locale, no allocation. */
    const char *reason = strerrordesc_np((int)-error);
    say(LOG_WARN, what, detail, reason != NULL ? reason : "unknown error");
}
