#define _GNU_SOURCE
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks.h"

/* A starting program maps that many libraries. */
#define LEAST_ADDED 128

/* Terminate the text with a NUL beyond its length; an empty buffer has none. */
static void end(struct buffer *text)
{
    buffer_u8(text, '\0');
    text->length -= text->length > 0;
}

static bool read_text(struct buffer *text, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%d/maps", pid);
    bool is_read = task_read(path, text);
    text->length -= is_read ? 1 : text->length;
    end(text);
    return is_read && text->length > 0;
}

static size_t lines_of(const struct buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

void mappings_read(struct mappings *mappings, pid_t pid)
{
    read_text(&mappings->text, pid);
    mappings->read = lines_of(&mappings->text);
    mappings->added = 0;
}

/* Read all mappings again; keep the known ones of an ended process. */
static void read_again(struct mappings *mappings, pid_t pid)
{
    struct buffer text = {0};
    mappings->added = 0;
    if (!read_text(&text, pid)) {
        buffer_free(&text);
        return;
    }
    buffer_free(&mappings->text);
    mappings->text = text;
    mappings->read = lines_of(&text);
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
    bool is_anonymous = mapped->path[0] == '/' && mapped->path[1] == '/'; /* perf's "//anon" */
    buffer_text(text, is_anonymous ? "" : mapped->path);
    buffer_u8(text, '\n');
}

static void insert(struct buffer *text, const struct mapped *mapped)
{
    struct buffer all = {0};
    bool is_added = false;
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

void mappings_add(struct mappings *mappings, const struct mapped *mapped, pid_t pid)
{
    if (strchr(mapped->path, '\n') != NULL)
        return;
    if (++mappings->added > LEAST_ADDED && mappings->added > mappings->read)
        read_again(mappings, pid);
    insert(&mappings->text, mapped);
}

void mappings_copy(struct mappings *to, const struct mappings *from)
{
    buffer_bytes(&to->text, from->text.data, from->text.length);
    end(&to->text);
    to->read = from->read;
    to->added = from->added;
}

void mappings_forget(struct mappings *mappings)
{
    mappings->text.length = mappings->read = mappings->added = 0;
}
