#define _GNU_SOURCE
#include "mappings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks.h"

/* With a NUL behind it, which is not counted: what has no text yet has none. */
static void end(struct buffer *text)
{
    buffer_u8(text, '\0');
    text->length -= text->length > 0;
}

void mappings_read(struct buffer *text, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%d/maps", pid);
    if (!task_read(path, text))
        text->length = 0;
    else
        text->length--;
    end(text);
}

static void add_line(struct buffer *text, const struct mapped *mapped)
{
    buffer_hex(text, mapped->start);
    buffer_u8(text, '-');
    buffer_hex(text, mapped->start + mapped->bytes);
    buffer_text(text, " r-xp ");
    buffer_hex(text, mapped->offset);
    buffer_text(text, " 00:00 ");
    buffer_decimal(text, mapped->inode);
    buffer_u8(text, ' ');
    bool is_anonymous = mapped->path[0] == '/' && mapped->path[1] == '/'; /* "//anon", as perf has it */
    buffer_text(text, is_anonymous ? "" : mapped->path);
    buffer_u8(text, '\n');
}

void mappings_add(struct buffer *text, const struct mapped *mapped)
{
    struct buffer all = {0};
    bool is_added = false;
    if (strchr(mapped->path, '\n') != NULL)
        return;
    for (const char *line = text->length > 0 ? (const char *)text->data : ""; *line != '\0';) {
        const char *next = strchr(line, '\n');
        size_t length = next != NULL ? (size_t)(next - line) + 1 : strlen(line);
        char *at;
        uint64_t low = strtoull(line, &at, 16);
        uint64_t high = *at == '-' ? strtoull(at + 1, NULL, 16) : low;
        if (!is_added && low >= mapped->start) {
            add_line(&all, mapped);
            is_added = true;
        }
        if (high <= mapped->start || low >= mapped->start + mapped->bytes)
            buffer_bytes(&all, line, length);
        line += length;
    }
    if (!is_added)
        add_line(&all, mapped);
    end(&all);
    buffer_free(text);
    *text = all;
}

void mappings_copy(struct buffer *to, const struct buffer *from)
{
    buffer_bytes(to, from->data, from->length);
    end(to);
}
