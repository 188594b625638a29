#define _GNU_SOURCE
#include "launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixed_text.h"
#include "tasks.h"

#define MOST_LEVELS 64
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Name prefixes of launchers: a launcher started by a rank has the rank's variables, too. */
static const char *const launchers[] = {"hydra", "mpirun", "mpiexec"};

static bool read_of(pid_t pid, const char *file, struct buffer *text)
{
    char path[64] = "";
    text_append_number(path, sizeof path, (unsigned long long)pid, 1);
    text_append(path, sizeof path, file);
    return task_read(path, text);
}

static bool is_launcher(const char *status)
{
    const char *name = task_field(status, "Name:");
    for (size_t i = 0; i < COUNT(launchers); i++)
        if (strncmp(name, launchers[i], strlen(launchers[i])) == 0)
            return true;
    return false;
}

/* Return whether the environment has the variable. Each variable ends with a NUL, and so does the whole. */
static bool has_variable(const struct buffer *environment, const char *name)
{
    size_t length = strlen(name);
    const char *text = (const char *)environment->data;
    for (size_t at = 0; at < environment->length; at += strlen(text + at) + 1)
        if (strncmp(text + at, name, length) == 0 && text[at + length] == '=')
            return true;
    return false;
}

pid_t ancestor_without(const char *variable)
{
    struct buffer text = {0};
    pid_t pid = getppid();
    for (int level = 0; level < MOST_LEVELS; level++) {
        if (!read_of(pid, "/environ", &text) || !has_variable(&text, variable) || !read_of(pid, "/status", &text) ||
            is_launcher((const char *)text.data))
            break;
        pid_t parent = (pid_t)strtol(task_field((const char *)text.data, "PPid:"), NULL, 10);
        if (parent <= 0)
            break;
        pid = parent;
    }
    buffer_free(&text);
    return pid;
}
