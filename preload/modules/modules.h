/* The ELF objects in a process and their unwind tables: in this one's, or in the one that modules_use has named.
 *
 * Read from /proc/thread-self/maps and the objects' files: no loader lock is taken, so that the interval thread can do
 * it at any moment, also while the application is inside dlopen or fork.
 */
#ifndef INCPROF_MODULES_H
#define INCPROF_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "cfi.h"
#include "start_code.h"

#define MOST_MODULES 16384
#define MOST_OBJECTS 4096 /* of those; the others are functions */

/* A function of Python's code. `lines`: its line table, as the interpreter's version has it. */
struct module_function {
    const char *name;
    const uint8_t *lines;
    size_t line_bytes;
    uint32_t line; /* its first one */
    uint32_t version;
};

struct module {
    char path[512];
    char build_id[72];
    uint64_t inode;             /* of the file that it was first mapped from */
    pid_t pid;                  /* of the process that it is in, or 0: this one */
    uint64_t low, high;         /* link-time bounds of the code */
    uint64_t base;              /* what was added to them when it was first seen */
    uint64_t plt_low, plt_high; /* link-time bounds of the PLT sections: stubs are no functions */
    struct start_code start;    /* of the program, looked at from outside */
    struct cfi_table cfi;
    uint16_t id;
    bool counts;   /* calls mcount */
    bool app;      /* the executable, a library that calls mcount, or one of the program's own (modules_begin) */
    bool profiler; /* this library */
    bool begins;   /* threads begin in it, whose they are is in the frames further in */
    bool python;   /* the interpreter of Python, with frames of its own (python.h) */
    bool jit;      /* code that the program makes as it runs, in memory that is no file's */
    const struct module_function *function; /* no object, but this function of the file `path`, or NULL */
};

/* One executable mapping. */
struct code_range {
    uint64_t start, end; /* in this process */
    uint64_t base;       /* what was added to the link-time addresses */
    uint64_t inode;
    struct module *module;
};

/* What is mapped executable without a file. */
#define JIT_PATH "[jit]"

/* What is mapped, sorted by address. It does not change while it is the current one or anybody reads it; then it is
 * used for another. So there are few, however often the program maps something. */
struct code_map {
    struct code_map *next; /* of all */
    uint64_t number;       /* no other has had it */
    uint32_t readers;      /* atomic */
    size_t bytes, count;   /* of the ranges */
    struct code_range *ranges;
};

/* All that is known of a process's code. */
struct code {
    pid_t pid;              /* 0: this process */
    uint64_t entry;         /* where the program starts; 0: not known yet */
    bool libraries_are_own; /* written once, before the first scan */
    bool python_is_wanted;  /* the same */
    bool is_unreadable;     /* at the last scan */
    struct module *modules[MOST_MODULES];
    size_t count;
    size_t objects;     /* of those */
    struct module jit;  /* what is in no file: one of them once there is any */
    char jit_dump[512]; /* where the program names that, or "" */
    struct code_map *current;
    struct code_map *maps;
    uint64_t published;
};

/* For programs of one thread that look at other processes: all that follows is about this one's code from here on;
 * NULL: about the calling process's, as it is from the start. */
void modules_use(struct code *of);

/* Gives all of it back. */
void modules_free(struct code *of);

/* Whether this process's code has been looked for, once. Async-signal-safe. */
bool modules_are_known(void);

/* Before the first scan. `libraries_too`: every library is the program's own code but those of the system, of
 * run-times, of MPI and of numerics (shared_code.c). `python_too`: frames of Python are functions, and those of its
 * interpreter are not. */
void modules_begin(bool libraries_too, bool python_too);

/* Whether calls of some of the program's own code are counted. Collector. */
bool modules_have_counts(void);

/* Whether the program makes code as it runs. */
bool modules_have_jit(void);

/* The jit-PID.dump that it has mapped, or "". */
const char *modules_jit_dump(void);

/* Looks at the process again; publishes a new map if anything has changed and returns whether it has. Where it is not
 * to be read, as at the limit of descriptors, what is gone is left out. One caller at a time (the collector's lock).
 * Async-signal-safe. */
bool modules_scan(void);

/* Whether that was so when it last looked. */
bool modules_are_unreadable(void);

/* The same by a text such as /proc/PID/maps holds. */
bool modules_scan_text(const char *text);

/* Publishes a map without the objects that are not in memory any more, if so many of its ranges are gone: a look at all
 * that is mapped takes ten times as long. False: others are, or something else is there already; nothing has been
 * done. As modules_scan. */
bool modules_drop(size_t gone);

/* For who publishes maps, and for programs of one thread. */
const struct code_map *modules_current(void);

/* For all others: the current map, which stays what it is until it is left. NULL: there is none yet. Async-signal-safe
 * and thread-safe. */
const struct code_map *modules_enter(void);
void modules_leave(const struct code_map *map);

/* Async-signal-safe and thread-safe. */
const struct code_range *modules_find(const struct code_map *map, uint64_t pc);

/* Gives the module the next number. False: there are too many. Interval thread. */
bool modules_append(struct module *module);

/* The module that is this function of Python's, by its file, name and first line; or makes it. NULL: there is none, or
 * there are too many. Interval thread, async-signal-safe. */
struct module *modules_find_function(const char *file, const struct module_function *function);
struct module *modules_add_function(const char *file, const struct module_function *function, uint32_t version);

size_t modules_count(void);
struct module *modules_get(size_t id);

/* Module `id` as a JSON object (docs/formats.md). */
void modules_json(struct buffer *out, size_t id);

#endif
