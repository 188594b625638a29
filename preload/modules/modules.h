/* The ELF objects of a process and their unwind tables: of this process, or of the one that modules_use selects.
 *
 * They are read from /proc/thread-self/maps and the objects' files. No loader lock is taken, so the interval thread can
 * scan at any time, even while the application is inside dlopen or fork.
 */
#ifndef INCPROF_MODULES_H
#define INCPROF_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "cfi.h"
#include "elf_file.h"

/* Start-up code of the C library that is linked into a program, as in static ones; its functions are not part of the
 * program's own code. Also main: a call path that reaches it is complete, whatever called main.
 *
 * Async-signal-safe; thread-safe once it is found.
 */
#define START_PARTS 16

struct address_range {
    uint64_t low, high; /* link-time addresses */
};

struct start_code {
    struct address_range main;
    struct address_range parts[START_PARTS];
    uint64_t count;
};

/* Find it by the program's symbols; without symbols it stays empty. */
void start_code_find(struct start_code *start, const struct elf_file *elf);

bool start_code_has(const struct start_code *start, uint64_t address);
bool start_code_is_main(const struct start_code *start, uint64_t address);

#define MOST_MODULES 16384
#define MOST_OBJECTS 4096 /* ELF objects; the others are functions */

/* A Python function. `lines`: its line table, in the format of the interpreter's version. */
struct module_function {
    const char *name;
    const uint8_t *lines;
    size_t line_bytes;
    uint32_t line; /* its first line */
    uint32_t version;
};

struct module {
    char path[512];
    char build_id[72];
    uint64_t inode;             /* of the file first mapped */
    pid_t pid;                  /* of its process, or 0: this process */
    uint64_t low, high;         /* link-time bounds of the code */
    uint64_t base;              /* load offset where it was first mapped */
    uint64_t plt_low, plt_high; /* link-time bounds of the PLT sections: stubs are no functions */
    struct start_code start;    /* of the program, when sampled from outside */
    struct cfi_table cfi;
    uint16_t id;
    bool counts;   /* calls mcount */
    bool app;      /* the executable, a library that calls mcount, or one of the program's own (modules_begin) */
    bool profiler; /* this library */
    bool begins;   /* threads start in it; frames further in show whose threads they are */
    bool python;   /* the interpreter of Python, with frames of its own (python.h) */
    bool jit;      /* JIT code, in memory without a file */
    const struct module_function *function; /* this function of the file `path` instead of an object, or NULL */
};

/* One executable mapping. */
struct code_range {
    uint64_t start, end; /* in this process */
    uint64_t base;       /* added to link-time addresses */
    uint64_t inode;
    struct module *module;
};

/* The path of executable mappings without a file. */
#define JIT_PATH "[jit]"

/* The executable mappings, sorted by address. A map does not change while it is current or has readers; after that its
 * memory is reused, so only few maps exist however often the program maps something. */
struct code_map {
    struct code_map *next; /* of all */
    uint64_t number;       /* unique */
    uint32_t readers;      /* atomic */
    size_t bytes, count;   /* of the ranges */
    struct code_range *ranges;
};

/* The code of one process. */
struct code {
    pid_t pid;              /* 0: this process */
    uint64_t entry;         /* where the program starts; 0: not known yet */
    bool libraries_are_own; /* written once, before the first scan */
    bool python_is_wanted;  /* the same */
    bool is_unreadable;     /* at the last scan */
    struct module *modules[MOST_MODULES];
    size_t count;
    size_t objects;     /* of those */
    struct module jit;  /* JIT code; counts as an object once there is any */
    char jit_dump[512]; /* path of the program's jit-PID.dump, or "" */
    struct code_map *current;
    struct code_map *maps;
    uint64_t published;
};

/* Select the process whose code the functions below use; for single-threaded programs that observe other processes.
 * NULL selects the calling process, the default. */
void modules_use(struct code *of);

/* Free all of it. */
void modules_free(struct code *of);

/* Return whether this process's code has been scanned at least once. Async-signal-safe. */
bool modules_are_known(void);

/* Configure the scan; call before the first one. `libraries_too`: every library counts as the program's own code,
 * except those of the system, run-times, MPI and numerics (shared_code.c). `python_too`: Python frames are functions,
 * and the interpreter's frames are not. */
void modules_begin(bool libraries_too, bool python_too);

/* Return whether calls in any of the program's own code are counted. Collector. */
bool modules_have_counts(void);

/* Return whether the program has JIT code. */
bool modules_have_jit(void);

/* Return the path of the jit-PID.dump that it has mapped, or "". */
const char *modules_jit_dump(void);

/* Scan the process; publish a new map if anything has changed, and return whether it has. If the maps cannot be read,
 * as at the limit of descriptors, only unmapped ranges are removed. One caller at a time (the collector's lock).
 * Async-signal-safe. */
bool modules_scan(void);

/* Return whether the last scan could not read the maps. */
bool modules_are_unreadable(void);

/* modules_scan on a text in the format of /proc/PID/maps. */
bool modules_scan_text(const char *text);

/* Publish a map without the objects that are no longer in memory, if exactly `unloaded` of its ranges are unmapped; a
 * full scan takes ten times as long. Returns false and does nothing if other ranges are gone or something else is
 * mapped there already. Same rules as modules_scan. */
bool modules_drop(size_t unloaded);

/* The current map, for the thread that publishes maps and for single-threaded programs. */
const struct code_map *modules_current(void);

/* Return the current map for any other thread; it does not change until the thread leaves it. NULL: there is none yet.
 * Async-signal-safe and thread-safe. */
const struct code_map *modules_enter(void);
void modules_leave(const struct code_map *map);

/* Async-signal-safe and thread-safe. */
const struct code_range *modules_find(const struct code_map *map, uint64_t pc);

/* Give the module the next number. False: there are too many. Interval thread. */
bool modules_append(struct module *module);

/* Find or create the module of a Python function, by its file, name and first line. NULL: there is none, or there are
 * too many. Interval thread, async-signal-safe. */
struct module *modules_find_function(const char *file, const struct module_function *function);
struct module *modules_add_function(const char *file, const struct module_function *function, uint32_t version);

size_t modules_count(void);
struct module *modules_get(size_t id);

/* Append module `id` as a JSON object (docs/reference/formats.md). */
void modules_json(struct buffer *out, size_t id);

/* The contents of a mapped object: its owner, its address range and its unwind rules. */
struct mapping; /* maps.h */

/* Return the module of the mapping: a known one, or a new one that is not among `code`'s modules yet, which the caller
 * appends or frees. base: the load offset here. NULL: the object could not be read. Async-signal-safe. */
struct module *module_open(struct code *code, const struct mapping *mapping, uint64_t *base, bool *is_new);

/* Libraries that are not any program's own code. */

/* Return whether the object at this path is a shared library of general use: the C library, compiler run-times, MPI and
 * its transports, linear algebra, transforms, numeric file formats, GPU drivers. Its time is charged to the function
 * that called it. Async-signal-safe. */
bool shared_code_is(const char *path);

/* Return whether this object starts threads on behalf of others, which own them: the C library, the loader, libstdc++.
 * Async-signal-safe. */
bool shared_code_begins_threads(const char *path);

/* Copies of the symbols, so that a run can be analysed on a machine without the program. */

/* Write symbols/<build-id>.elf in the run directory: an ELF file with the module's symbol sections, and its debug
 * sections if they are not too large; other sections are empty. The first process on each node writes it, unless it
 * exists. On failure only the copy is missing. Async-signal-safe. */
void snapshot_write(const char *directory, const struct module *module);

/* Lines of /proc/PID/maps. Async-signal-safe and thread-safe. */

/* An executable mapping. path: JIT_PATH if it has no file. */
struct mapping {
    uint64_t start, end, offset, inode;
    char path[sizeof((struct module *)0)->path];
};

/* Parse a line; return its length, including the newline. `mapping` is filled in if `is_code`. */
size_t maps_line_read(const char *line, struct mapping *mapping, bool *is_code);

/* The mappings of this process, as text. Interval thread; async-signal-safe, and thread-safe. */

/* Read /proc/self/maps, NUL-terminated. The caller frees the buffer. */
bool own_maps_read(struct buffer *text);

/* Return whether the mapping, in this process, is code of this library, or of one preloaded beside it that has given an
 * address (extension.h). */
bool own_maps_hold_profiler(const struct mapping *mapping);
void own_maps_add_profiler(uint64_t address);

#endif
