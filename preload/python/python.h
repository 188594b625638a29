/* Frames of Python code: which functions of the interpreter's thread are running, read out of its own structures.
 *
 * The interpreter is interrupted anywhere, and nothing of it is trusted: what is read comes through the kernel, which
 * refuses what is not mapped (peek.h); objects are taken for what they should be only if their type says so; chains are
 * followed for a bounded number of steps. Nothing of the interpreter is called, locked or changed.
 */
#ifndef INCPROF_PYTHON_H
#define INCPROF_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

#define PYTHON_CODES 512 /* a power of two */
#define PYTHON_WINDOW 32768
#define PYTHON_CHECKED 16 /* code objects looked at together */
#define PYTHON_CHECKED_BYTES 896

struct elf_file;

/* Where the fields of a version's structures are, in bytes. */
struct python_layout {
    uint32_t version; /* 0x030b: 3.11 */
    uint16_t interpreters, interpreter_next, interpreter_threads;
    uint16_t thread_next, thread_interpreter, thread_id;
    uint16_t thread_number;             /* the kernel's; 0: the version does not have it */
    uint16_t thread_frame;              /* the running frame, or the running C call's struct (has_calls) */
    uint16_t call_frame, call_previous; /* of that struct, which lies on the C stack */
    uint16_t frame_code, frame_previous, frame_at, frame_owner;
    uint16_t code_first, code_file, code_name, code_lines, code_bytes;
    uint16_t object_type, object_size;
    uint16_t text_ascii, text_compact; /* where the characters of a string begin */
    uint8_t unit;                      /* bytes that frame_at counts in, where it is an index and no address; else 0 */
    bool has_objects; /* every frame is an object and has a call of the interpreter for itself; nothing is on the stack
                       */
    bool has_calls;
    bool has_entry_mark; /* frame_owner is set in the outermost frame of a C call; else that is one of its own kind */
};

/* The interpreter in a process. Written once, before it is published. */
struct python {
    struct python_layout layout;
    uint64_t runtime, code_type, text_type, bytes_type;
    uint64_t loop_low, loop_high; /* the function that runs frames */
};

/* What is known of a process's Python. */
struct python_found {
    struct python known;
    const struct python *published; /* that, or NULL: atomic */
    uint32_t unknown_version;       /* atomic */
    bool is_unreadable;             /* from outside: the kernel does not let its memory be read */
    bool has_too_many;              /* atomic: threads, of which one was not found */
    bool has_numbers;               /* from outside: a thread was found by the kernel's number for it */
    struct table functions;         /* its modules, by file, name and line (python_functions.c) */
};

/* For programs of one thread that look at other processes: all that follows, and functions as modules, is about this
 * one from here on. NULL: about the calling process, as it is from the start. */
void python_use(struct python_found *of);

/* The one that all is about. Async-signal-safe. */
struct python_found *python_used(void);

/* A frame in a path: which of the thread's code objects, and how far into its code. Addresses have no such bit. */
#define PYTHON_FRAME ((uint64_t)1 << 63)

/* Of a thread (from outside: of a process): what has been told of code objects, by slot. */
struct python_thread {
    uint64_t state;    /* its thread state as it was found last, or 0 */
    bool has_many;     /* one for each of several interpreters */
    bool forget;       /* from the collector: what has been told is lost */
    uint32_t sample;   /* number of the present one */
    uint32_t next_try; /* the sample at which its state is looked for again */
    uint32_t pause;
    struct python_code {
        uint64_t address, print, name, file;
        uint32_t seen; /* in the sample with this number */
        uint16_t name_span, file_span;
    } codes[PYTHON_CODES];
    uint16_t functions[PYTHON_CODES]; /* their modules (collector) */
    uint8_t window[PYTHON_WINDOW];
    uint8_t checked[PYTHON_CHECKED * PYTHON_CHECKED_BYTES];
};

/* The version of an interpreter that is not known here: of its frames only those of C are seen. 0: there is none. */
uint32_t python_unknown_version(void);

/* Looks for an interpreter in an object that has just been mapped with `base`, and publishes the first one that is
 * known. Whether there is one, and it is known. `path`: the object's. Interval thread. */
bool python_find(const struct elf_file *elf, const char *path, uint64_t base);

/* NULL: none. Async-signal-safe and thread-safe. */
const struct python *python_current(void);

/* A thread's stack from the innermost frame of C on. */
struct python_stack {
    uint64_t low, high;
    const uint8_t *bytes; /* that are at `low`: the stack itself, or a copy */
    uint64_t self;        /* the thread as pthread_self has it; 0: from outside */
    uint64_t number;      /* from outside: the kernel's number of the thread */
};

/* A walk over the frames of a thread, innermost first. */
struct python_walk {
    const struct python *python;
    struct python_thread *mine;
    struct python_stack stack;
    bool begun;
    bool by_number;    /* from outside: the thread is the one that the kernel numbers so, not the one with this stack */
    uint64_t call;     /* the running C call's struct (has_calls) */
    uint64_t frame;    /* the next one */
    uint64_t boundary; /* where on the C stack the call of the interpreter is that runs it. 0: there are no more */
    bool is_next;      /* (boundary) not known where: it is the one whose part of the stack is left next */
    uint32_t left;     /* frames to be followed */
    uint32_t searched; /* frames that are followed in search of the end of a call, at most */
    uint64_t last_end; /* of the call that was left last */
    uint64_t window_low, window_high;
    size_t window_bytes; /* of the next one */
};

/* Async-signal-safe, for the thread itself. */
void python_begin(struct python_walk *walk, const struct python *python, struct python_thread *mine,
                  const struct python_stack *stack);

/* The next frame of those that are run by calls whose part of the stack ends below `end`, and of which the one that
 * ends there is at `pc`: PYTHON_FRAME and where it is, or 0 where it cannot be told. False: there is none. With an
 * `end` of UINT64_MAX, of all that are left. Async-signal-safe. */
bool python_next(struct python_walk *walk, uint64_t pc, uint64_t end, uint64_t *frame);

/* Whether all frames have been given. Async-signal-safe. */
bool python_has_ended(const struct python_walk *walk);

/* Whether no more are given, as there are too many. Async-signal-safe. */
bool python_is_cut(const struct python_walk *walk);

/* The slot of a code object in the thread's table, verified once in a sample; what is new is told. -1: it
 * is none, or cannot be told. Async-signal-safe. */
int python_code_slot(const struct python *python, struct python_thread *mine, uint64_t code);

/* Whether that has been done in this sample. Async-signal-safe. */
bool python_code_is_checked(struct python_thread *mine, uint64_t code);

/* Verifies several code objects (PYTHON_CHECKED at most) by one call of the kernel's, as far as they are known: each
 * alone costs as much. Async-signal-safe. */
void python_codes_check(const struct python *python, struct python_thread *mine, const uint64_t *codes, size_t count);

/* Takes what python_code_slot has to say of a code object to python_learn: by the thread's ring, or at once. False: not
 * now. Async-signal-safe. */
bool python_tell(struct python_thread *mine, const uint64_t *words, size_t count);

/* What python_tell was given. Collector. */
void python_learn(struct python_thread *mine, const uint64_t *words, size_t count);

/* The ring was emptied unread, or threads are others: everything is to be told again. Collector. */
void python_forget(struct python_thread *mine);

#endif
