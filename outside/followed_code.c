#define _GNU_SOURCE
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>

#include "path.h"
#include "peek.h"
#include "sys.h"
#include "tasks.h"

#define MOST_NAMESPACES 32 /* the kernel's limit */

void followed_use_code(struct followed *process)
{
    modules_use(process != NULL ? &process->code : NULL);
    python_use(process != NULL ? &process->python : NULL);
    jit_names_use(process != NULL ? &process->jit_names : NULL);
    peek_process = process != NULL ? process->pid : 0;
}

/* Return the number at this position in a field of a status, or the last one before it. */
static long number_of(const char *field, int place)
{
    long last = 0;
    char *end = NULL;
    for (const char *at = field; place-- > 0; at = end) {
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        last = number;
    }
    return last;
}

/* Determine the process's identity in its own namespaces. */
static void scan_process(struct followed *process)
{
    char path[48];
    struct buffer status = {0};
    snprintf(path, sizeof path, "%d/status", process->pid);
    struct jit_process *self = &process->jit_names.process;
    *self = (struct jit_process){.pid = process->pid, .inner = process->pid};
    if (task_read(path, &status)) {
        self->owner = (uid_t)number_of(task_field((const char *)status.data, "Uid:"), 2);
        self->inner = (pid_t)number_of(task_field((const char *)status.data, "NSpid:"), MOST_NAMESPACES);
    }
    if (self->inner == 0)
        self->inner = process->pid;
    buffer_free(&status);
}

void followed_use(struct followed *process)
{
    followed_use_code(process);
    if (process->maps_changed && process->maps.text.length > 0) {
        scan_process(process);
        modules_scan_text((const char *)process->maps.text.data);
    }
    process->maps_changed = false;
    path_begin(process->code.entry);
    if (python_current() != NULL && process->python_codes == NULL)
        process->python_codes = sys_alloc(sizeof *process->python_codes);
}
