/* Thread safety: all state is the caller's. */
#define _GNU_SOURCE
#include "jit_names.h"

#include "fixed_text.h"
#include "sys.h"

#define PIECE 16384

/* Return the length of the whole lines in a piece. A line longer than a piece is no name. */
static size_t whole_lines(const char *piece, size_t size)
{
    size_t length = size;
    while (length > 0 && piece[length - 1] != '\n')
        length--;
    return length == 0 && size == PIECE ? size : length;
}

void jit_map_read(struct jit_file *file, const struct jit_process *process, struct jit_lines *lines, bool is_end)
{
    char path[48] = "/tmp/perf-";
    char piece[PIECE];
    uint64_t size = 0;
    text_append_number(path, sizeof path, (uint64_t)process->inner, 1);
    text_append(path, sizeof path, ".map");
    int fd = jit_file_open(file, process, path, &size);
    while (fd >= 0 && file->read < size && !file->is_damaged) {
        uint64_t left = size - file->read;
        size_t bytes = left < PIECE ? (size_t)left : PIECE;
        size_t length = sys_pread_all(fd, piece, bytes, file->read) ? whole_lines(piece, bytes) : 0;
        bool is_last = length == 0 && is_end && bytes == left;
        if (length == 0 && !is_last)
            break;
        jit_lines_copy(lines, piece, is_last ? bytes : length);
        jit_file_advance(file, fd, is_last ? bytes : length);
    }
    if (fd >= 0)
        sys_close(fd);
}
