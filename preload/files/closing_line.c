/* Who may touch what: `rest` is written before main, and read from then on. */
#define _GNU_SOURCE
#include "closing_line.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fixed_text.h"
#include "log.h"
#include "python.h"
#include "sys.h"

#define VARIABLE "INCPROF_CLOSING_LINE"
/* The variable holds so many digits: the process that says the line, or 0 where that is anybody's. */
#define DIGITS 10
#define LONGEST 400 /* a message has room for some more */

static char rest[1024]; /* of the line, behind the number of intervals; empty: it is not for this process to say */

/* How many of the first characters are among these. */
static size_t run_of(const char *text, const char *these)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(these, text[length]) != NULL)
        length++;
    return length;
}

/* Of the ranks that are recorded. Rank 0 is the first of its node; which the others are is not known here. */
static bool is_lowest(const char *ranks, int rank)
{
    for (int lower = 0; lower < rank; lower++)
        if (config_has_rank(ranks, lower, lower == 0 ? 0 : INT_MAX))
            return false;
    return true;
}

/* Whether it is this process's to say; if so, the programs that it starts are told. */
static bool take(void)
{
    char own[DIGITS + 1] = "";
    char *value = getenv(VARIABLE);
    if (value == NULL || strlen(value) != DIGITS || run_of(value, "0123456789") != DIGITS)
        return false;
    text_append_number(own, sizeof own, (uint64_t)SYS0(SYS_getpid), DIGITS);
    /* In place: neither the environment's size nor main's third argument changes. */
    if (run_of(value, "0") == DIGITS)
        memcpy(value, own, DIGITS);
    return strcmp(value, own) == 0;
}

static void append(const char *text)
{
    text_append(rest, sizeof rest, text);
}

/* The beginning of `word`, as a shell takes it for one word. */
static void append_word(const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,:@%=-";
    bool is_plain = run_of(word, plain) >= length;
    append(is_plain ? "" : "'");
    for (size_t i = 0; i < length; i++) {
        const char character[2] = {word[i], '\0'};
        append(word[i] == '\'' ? "'\\''" : character);
    }
    append(is_plain ? "" : "'");
}

void closing_line_prepare(const struct config *config, const struct launch *launch)
{
    if (!take() || !is_lowest(config->ranks, launch->rank))
        return;
    log_keep_stderr();
    /* The path from where the program is started, if the directory lies there. */
    const char *directory = launch->directory;
    size_t above = strlen(launch->cwd);
    if (above > 1 && strncmp(directory, launch->cwd, above) == 0 && directory[above] == '/')
        directory += above + 1;
    if (launch->ranks != 1) {
        append(" of rank ");
        text_append_number(rest, sizeof rest, (uint64_t)launch->rank, 1);
    }
    append(" in ");
    append_word(directory, strlen(directory));
    if (launch->is_numbered) {
        append(" (");
        append_word(directory, (size_t)(strrchr(directory, '.') - directory));
        append(" exists)");
    }
    if (strlen(rest) + strlen(directory) > LONGEST)
        return;
    append("; next: incprof phases ");
    append_word(directory, strlen(directory));
}

/* Of a version that is newer or older than what is known here, frames of C are all there is. */
static void say_python(char *line, size_t size)
{
    uint32_t version = python_unknown_version();
    if (python_used()->is_unreadable)
        text_append(line, size, "; functions of Python are not seen, as its memory cannot be read (ptrace_scope)");
    if (version == 0)
        return;
    text_append(line, size, "; functions of Python ");
    text_append_number(line, size, version >> 8, 1);
    text_append(line, size, ".");
    text_append_number(line, size, version & 0xff, 1);
    text_append(line, size, " are not seen");
}

void closing_line_say(uint64_t intervals)
{
    char line[160 + sizeof rest] = "";
    if (rest[0] == '\0' || intervals == 0)
        return;
    text_append_number(line, sizeof line, intervals, 1);
    text_append(line, sizeof line, intervals == 1 ? " interval" : " intervals");
    text_append(line, sizeof line, rest);
    say_python(line, sizeof line);
    log_warn(line, NULL);
}
