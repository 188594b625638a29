/* Frames of Python code: the functions that an interpreter's thread is running, read from the interpreter's structures.
 *
 * The interpreter may be interrupted anywhere, so its memory is not trusted: reads go through the kernel, which rejects
 * unmapped addresses (peek.h); an object is used only if its type pointer matches; linked lists are followed for a
 * bounded number of steps. Nothing of the interpreter is called, locked or changed.
 */
#ifndef INCPROF_PYTHON_H
#define INCPROF_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

#define PYTHON_CODES 512 /* a power of two */
#define PYTHON_WINDOW 32768
#define PYTHON_CHECKED 16 /* code objects verified together */
#define PYTHON_CHECKED_BYTES 896

struct elf_file;

/* Field offsets in a version's structures, in bytes. */
struct python_layout {
    uint32_t version; /* 0x030b: 3.11 */
    uint16_t interpreters, interpreter_next, interpreter_threads;
    uint16_t thread_next, thread_interpreter, thread_id;
    uint16_t thread_number;             /* the kernel's thread id; 0: not in this version */
    uint16_t thread_frame;              /* the running frame, or the running C call's struct (has_calls) */
    uint16_t call_frame, call_previous; /* of that struct, which is on the C stack */
    uint16_t frame_code, frame_previous, frame_at, frame_owner;
    uint16_t code_first, code_file, code_name, code_lines, code_bytes;
    uint16_t object_type, object_size;
    uint16_t text_ascii, text_compact; /* where a string's characters begin */
    uint8_t unit;                      /* unit of frame_at in bytes, if it is an index; 0: it is an address */
    bool has_objects; /* every frame is an object with its own call of the interpreter; nothing is on the stack */
    bool has_calls;
    bool has_entry_mark; /* frame_owner marks the outermost frame of a C call; else its type does */
};

/* The interpreter of a process. Written once, before it is published. */
struct python {
    struct python_layout layout;
    uint64_t runtime, code_type, text_type, bytes_type;
    uint64_t loop_low, loop_high; /* the function that runs frames */
};

/* The state of Python in a process. */
struct python_process {
    struct python interpreter;
    const struct python *published; /* `interpreter`, or NULL: atomic */
    uint32_t unknown_version;       /* atomic */
    bool is_unreadable;             /* from outside: the kernel denies reading its memory */
    bool has_too_many;              /* atomic: too many threads; one was not found */
    bool has_numbers;               /* from outside: a thread was found by its kernel thread id */
    struct table functions;         /* its modules, by file, name and line (python_functions.c) */
};

/* Select the process that the functions below, and Python functions as modules, refer to; for single-threaded programs
 * that observe other processes. NULL selects the calling process, the default. */
void python_use(struct python_process *of);

/* Return the selected process's state. Async-signal-safe. */
struct python_process *python_used(void);

/* Marks a Python frame in a path: the slot of the thread's code object, and the offset into its code. Addresses never
 * have this bit. */
#define PYTHON_FRAME ((uint64_t)1 << 63)

/* A copy of a thread state, as far as it is mapped: enough for all fields read, and for the struct of the outermost C
 * call, which is part of it. */
#define PYTHON_STATE 384
struct python_state {
    uint64_t low, high; /* its addresses */
    uint8_t bytes[PYTHON_STATE];
};

/* The code objects reported so far, by slot, of a thread (from outside: of a process). */
struct python_thread {
    uint64_t state; /* its last known thread state, or 0 */
    bool has_many;  /* it has states in several interpreters */
    bool forget;    /* set by the collector: earlier reports are lost */
    void (*take)(struct python_thread *mine, const uint64_t *words, size_t count); /* of reports; NULL: the ring */
    uint32_t sample;                                                               /* number of the current sample */
    uint32_t next_try; /* the sample at which its state is searched again */
    uint32_t pause;
    struct python_code {
        uint64_t address, print, name, file;
        uint32_t verified_at; /* number of the sample in which it was last verified */
        uint16_t name_span, file_span;
    } codes[PYTHON_CODES];
    uint16_t functions[PYTHON_CODES]; /* their modules (collector) */
    struct python_state copied;       /* in this sample */
    uint8_t window[PYTHON_WINDOW];
    uint8_t checked[PYTHON_CHECKED * PYTHON_CHECKED_BYTES];
};

/* Return the version of an unsupported interpreter, of which only C frames are sampled; 0: there is none. */
uint32_t python_unknown_version(void);

/* Search a newly mapped object (load offset `base`, file `path`) for an interpreter, and publish the first supported
 * one. Returns whether the object has a supported interpreter. Interval thread. */
bool python_find(const struct elf_file *elf, const char *path, uint64_t base);

/* Return the published interpreter, or NULL. Async-signal-safe and thread-safe. */
const struct python *python_current(void);

/* A thread's stack from the innermost C frame on. */
struct python_stack {
    uint64_t low, high;
    const uint8_t *bytes; /* contents from `low` on: the stack itself, or a copy; NULL: to be read from memory */
    uint64_t self;        /* the thread's pthread_self; 0: from outside */
    uint64_t number;      /* from outside: the kernel's thread id */
};

/* A walk over the frames of a thread, innermost first. */
struct python_walk {
    const struct python *python;
    struct python_thread *mine;
    struct python_stack stack;
    bool begun;
    bool by_number;    /* from outside: identify the thread by kernel thread id, not by stack */
    uint64_t call;     /* the running C call's struct (has_calls) */
    uint64_t frame;    /* the next one */
    uint64_t boundary; /* C stack address of the interpreter call that runs it; 0: no more frames */
    bool is_next;      /* boundary unknown: it is the call whose part of the stack the walk leaves next */
    uint32_t left;     /* limit of frames still to follow */
    uint32_t searched; /* limit of frames followed in search of a call's end */
    uint64_t last_end; /* end of the call that the walk left last */
    uint64_t window_low, window_high;
    size_t window_bytes; /* of the next one */
};

/* Begin a walk. Async-signal-safe, for the thread itself. */
void python_begin(struct python_walk *walk, const struct python *python, struct python_thread *mine,
                  const struct python_stack *stack);

/* Return the next frame run by interpreter calls whose part of the stack ends below `end`; the call that ends there is
 * at `pc`. `frame`: PYTHON_FRAME with the position, or 0 if it cannot be determined. False: there is none. An `end` of
 * UINT64_MAX takes all remaining frames. Async-signal-safe. */
bool python_next(struct python_walk *walk, uint64_t pc, uint64_t end, uint64_t *frame);

/* Return whether the walk has returned all frames. Async-signal-safe. */
bool python_has_ended(const struct python_walk *walk);

/* Return whether the walk stopped because of too many frames. Async-signal-safe. */
bool python_is_cut(const struct python_walk *walk);

/* Return the slot of a code object in the thread's table, verified once per sample; a new one is reported. -1: it is no
 * code object, or cannot be reported. Async-signal-safe. */
int python_code_slot(const struct python *python, struct python_thread *mine, uint64_t code);

/* Return whether the code object has been verified in this sample. Async-signal-safe. */
bool python_code_is_checked(struct python_thread *mine, uint64_t code);

/* Verify several known code objects (PYTHON_CHECKED at most) with one system call, which saves a third of what one for
 * each takes. Async-signal-safe. */
void python_codes_check(const struct python *python, struct python_thread *mine, const uint64_t *codes, size_t count);

/* Pass python_code_slot's record of a code object to python_add_code: through the thread's ring, or directly. False: no
 * room now. Async-signal-safe. */
bool python_record(struct python_thread *mine, const uint64_t *words, size_t count);

/* Take a record passed to python_record. Collector. */
void python_add_code(struct python_thread *mine, const uint64_t *words, size_t count);

/* Report every code object again: the ring was emptied unread, or the threads have changed. Collector. */
void python_forget(struct python_thread *mine);

#endif
