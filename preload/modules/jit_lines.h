/* Names of code that a program makes as it runs, as the run directory has them (docs/formats.md): lines that wait until
 * they are appended to the process's file there. Interval thread; async-signal-safe. */
#ifndef INCPROF_JIT_LINES_H
#define INCPROF_JIT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct jit_lines {
    const char *directory; /* of the run */
    char name[32];         /* of the file, in symbols/ there */
    struct buffer text;
    uint64_t time_ns, written_ns; /* of what is added, and of the last line */
    uint64_t kept;                /* bytes in the file */
    bool is_full;
};

/* What is added from here on is there since then, on CLOCK_MONOTONIC. */
void jit_lines_since(struct jit_lines *lines, uint64_t time_ns);

/* Whole lines as a program has written them. */
void jit_lines_copy(struct jit_lines *lines, const void *text, size_t length);

/* A function. A name ends with a NUL, or after `length` bytes. */
void jit_lines_add(struct jit_lines *lines, uint64_t start, uint64_t size, const char *name, size_t length);

/* A function has been moved. */
void jit_lines_move(struct jit_lines *lines, uint64_t from, uint64_t to, uint64_t size);

/* Where the function that is added next has been written down. */
void jit_lines_source(struct jit_lines *lines, uint64_t start, uint64_t line, const char *file, size_t length);

/* Appends what waits to the file. */
void jit_lines_write(struct jit_lines *lines);

#endif
