/* Thread safety: all state is the caller's. */
#define _GNU_SOURCE
#include "jit_names.h"

#include <string.h>

#include "log.h"
#include "output.h"
#include "sys.h"

#define MOST_BYTES ((uint64_t)256 << 20) /* in the file */
#define MOST_WAITING ((size_t)1 << 18)

static void put_hex(struct buffer *text, uint64_t value)
{
    buffer_hex(text, value);
    buffer_u8(text, ' ');
}

/* Characters that would end the line become question marks. */
static void end_line(struct jit_lines *lines, const char *name, size_t length)
{
    length = strnlen(name, length);
    for (size_t i = 0; i < length; i++)
        buffer_u8(&lines->text, (uint8_t)((unsigned char)name[i] < ' ' ? '?' : name[i]));
    buffer_u8(&lines->text, '\n');
    if (lines->text.length >= MOST_WAITING)
        jit_lines_write(lines);
}

void jit_lines_since(struct jit_lines *lines, uint64_t time_ns)
{
    lines->time_ns = time_ns;
}

/* Write the time, before the first line whose time differs from the previous line's. */
static void put_time(struct jit_lines *lines)
{
    if (lines->time_ns == lines->written_ns)
        return;
    lines->written_ns = lines->time_ns;
    buffer_text(&lines->text, "# since ");
    buffer_decimal(&lines->text, lines->time_ns);
    buffer_u8(&lines->text, '\n');
}

void jit_lines_copy(struct jit_lines *lines, const void *text, size_t length)
{
    put_time(lines);
    buffer_bytes(&lines->text, text, length);
    if (lines->text.length >= MOST_WAITING)
        jit_lines_write(lines);
}

void jit_lines_add(struct jit_lines *lines, uint64_t start, uint64_t size, const char *name, size_t length)
{
    put_time(lines);
    put_hex(&lines->text, start);
    put_hex(&lines->text, size);
    end_line(lines, name, length);
}

void jit_lines_move(struct jit_lines *lines, uint64_t from, uint64_t to, uint64_t size)
{
    put_time(lines);
    buffer_text(&lines->text, "# move ");
    put_hex(&lines->text, from);
    put_hex(&lines->text, to);
    buffer_hex(&lines->text, size);
    end_line(lines, "", 0);
}

void jit_lines_source(struct jit_lines *lines, uint64_t start, uint64_t line, const char *file, size_t length)
{
    put_time(lines);
    buffer_text(&lines->text, "# source ");
    put_hex(&lines->text, start);
    buffer_decimal(&lines->text, line);
    buffer_u8(&lines->text, ' ');
    end_line(lines, file, length);
}

static bool append(const struct jit_lines *lines)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct output file = {.is_shared = true};
    output_name(folder, lines->directory, "symbols", "");
    output_name(path, folder, lines->name, "");
    sys_mkdir(folder, 0777);
    file.fd = sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
    if (file.fd < 0)
        return false;
    bool is_written = output_append(&file, &lines->text) == 0;
    sys_close(file.fd);
    return is_written;
}

void jit_lines_write(struct jit_lines *lines)
{
    uint64_t bytes = lines->bytes + lines->text.length;
    if (lines->text.length > 0 && !lines->is_full && (bytes > MOST_BYTES || lines->text.failed || !append(lines))) {
        lines->is_full = true;
        log_warn("cannot keep more names of code that the program generates: later code has none", lines->name);
    }
    lines->bytes = bytes;
    buffer_free(&lines->text);
}
