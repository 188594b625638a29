/* Names of code that a program generates at run time (JIT). They are copied into a file in the run directory as the
 * program publishes them, because code is moved and freed, and the program may remove its own file. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_NAMES_H
#define INCPROF_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

/* Files in which a program names its JIT code. They grow, or are rewritten, while they are read. Their contents are not
 * trusted. Interval thread; async-signal-safe. */

/* A process as it sees itself: its pid in its own namespace, and its user. */
struct jit_process {
    pid_t pid; /* 0: the calling process */
    pid_t inner;
    uid_t owner;
};

#define JIT_FILE_TAIL 16

/* The read position in a file. */
struct jit_file {
    uint64_t inode, read;
    uint8_t tail[JIT_FILE_TAIL]; /* the bytes before that */
    bool is_damaged;             /* from there on */
};

/* Open the file that the process calls `path`, if it is a regular file of the process's user and has unread bytes. A
 * rewritten file is read from its beginning. Returns the descriptor, or negative errno. */
int jit_file_open(struct jit_file *file, const struct jit_process *process, const char *path, uint64_t *size);

/* Advance the read position by `bytes`. */
void jit_file_advance(struct jit_file *file, int fd, uint64_t bytes);

/* Names of JIT code in the run directory's format (formats.md): lines buffered until they are appended to the process's
 * file there. Interval thread; async-signal-safe. */
struct jit_lines {
    const char *directory; /* of the run */
    char name[32];         /* of the file, in symbols/ there */
    struct buffer text;
    uint64_t time_ns, written_ns; /* of added entries, and of the last line */
    uint64_t bytes;               /* bytes in the file */
    bool is_full;
};

/* Set the time (CLOCK_MONOTONIC) from which later entries are valid. */
void jit_lines_since(struct jit_lines *lines, uint64_t time_ns);

/* Add whole lines as the program has written them. */
void jit_lines_copy(struct jit_lines *lines, const void *text, size_t length);

/* Add a function. The name ends with a NUL, or after `length` bytes. */
void jit_lines_add(struct jit_lines *lines, uint64_t start, uint64_t size, const char *name, size_t length);

/* Record that a function has moved. */
void jit_lines_move(struct jit_lines *lines, uint64_t from, uint64_t to, uint64_t size);

/* Set the source position of the function that is added next. */
void jit_lines_source(struct jit_lines *lines, uint64_t start, uint64_t line, const char *file, size_t length);

/* Append the buffered lines to the file. */
void jit_lines_write(struct jit_lines *lines);

/* JIT code registered with the debugger interface: a list of ELF objects in the program's memory. LLVM (so numba, Julia
 * and others) and other debuggable JITs keep it without any option. Interval thread; async-signal-safe. */
#define JIT_OBJECTS_LISTS 4 /* one for each library that generates code */

struct jit_objects {
    size_t modules_checked;
    size_t count;
    struct jit_objects_list {
        uint64_t address, newest; /* of the list's head, and of the object that was first in it */
    } lists[JIT_OBJECTS_LISTS];
};

/* Take the functions of new objects. */
void jit_objects_read(struct jit_objects *objects, struct jit_lines *lines);

#define JIT_NAMES_FILE 32

/* The JIT names taken from one process. */
struct jit_names {
    struct jit_process process;
    struct jit_file map, dump;
    struct jit_objects objects;
    struct jit_lines lines;
    uint64_t looked_ns; /* time of the last scan, or 0 */
};

/* Select the process that the functions below read; for single-threaded programs that observe other processes. NULL
 * selects the calling process, the default. */
void jit_names_use(struct jit_names *of);

/* Write the process's file name in symbols/, perf-PID.map, into `name`. */
void jit_names_file(char name[JIT_NAMES_FILE]);

/* Copy new names into the run directory. is_end: no more names will follow. */
void jit_names_keep(const char *directory, bool is_end);

/* JIT code named in perf's text form: /tmp/perf-PID.map, lines of START SIZE NAME. Interval thread;
 * async-signal-safe. */

/* Take new lines. is_end: also an unterminated last line. */
void jit_map_read(struct jit_file *file, const struct jit_process *process, struct jit_lines *lines, bool is_end);

/* JIT code named in perf's binary form (jit-PID.dump): functions with the time from which they are valid, and moves. A
 * program maps the file's head as code, which is how the file is found. Interval thread; async-signal-safe. */

/* Take new functions. since_ns: time of the previous scan, for functions without a time. */
void jit_dump_read(struct jit_file *file, const struct jit_process *process, const char *path, struct jit_lines *lines,
                   uint64_t since_ns);

#endif
