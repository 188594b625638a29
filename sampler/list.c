#define _GNU_SOURCE
#include "list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int list_events(struct columns *columns, const struct event *const *chosen, size_t count, struct target target)
{
    /* Without a program, what can be had of one is what can be had of this process. */
    if (target.scope == OF_PROGRAM)
        target.pid = getpid();
    columns_open(columns, chosen, count, target, 0);
    printf("%-26s %-9s %-9s %s\n", "event", "value", "available", "what, or why not");
    for (size_t i = 0; i < columns->count; i++) {
        const struct column *column = &columns->all[i];
        bool is_there = column->why[0] == '\0', is_noted = is_there && column->note[0] != '\0';
        printf("%-26s %-9s %-9s %s%s%s\n", column->event->name, kind_name(column->event->kind), is_there ? "yes" : "no",
               is_there ? column->event->says : column->why, is_noted ? "; " : "", is_noted ? column->note : "");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
