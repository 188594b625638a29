/* Unwinding: stepping from a frame to its caller by call frame information.
 *
 * Everything here is async-signal-safe and thread-safe (a cursor belongs to one thread). Stack memory is read only
 * inside the known bounds of the thread's stack; on any other stack (coroutines, alternate signal stacks) it is copied
 * by the kernel, which rejects unmapped addresses. So no input can make it fault.
 */
#ifndef INCPROF_UNWIND_H
#define INCPROF_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "modules.h"

#define UNWIND_WINDOW 4096

/* The readable stack memory. */
struct stack {
    uint64_t low, high;           /* readable directly: the thread's own stack from the interrupted frame up */
    uint64_t copy_low, copy_high; /* held in `copy` */
    uint8_t *copy;                /* UNWIND_WINDOW bytes */
    bool is_all;                  /* only the copy is read */
};

/* Cache of look-ups by return address or instruction, because the same or nearby ones recur. */
#define UNWIND_CACHE 512 /* a power of two */
struct unwind_cache {
    struct unwind_place {
        uint64_t number;    /* of the map for which it is valid; 0: none */
        uint64_t low, high; /* look-up addresses for which it is valid */
        const struct code_range *range;
        struct cfi_row row;
    } places[UNWIND_CACHE];
};

struct cursor {
    const struct code_map *map;
    struct unwind_cache *cache;
    const struct code_range *range; /* of pc, or NULL */
    struct cfi_row row;             /* the rule that unwinds the frame */
    const ucontext_t *context;      /* the interrupted registers, while still in the leaf */
    struct stack stack;
    uint64_t pc, sp, fp;
    uint64_t link;        /* while leaf: the link register, where there is one */
    uint64_t return_at;   /* stack address of pc, or 0 */
    bool leaf;            /* pc is an interrupted instruction, not a return address */
    bool is_exact;        /* sp is the frame's own, not merely below the frame */
    bool lacks_registers; /* of the leaf, only pc and sp are known; fp is 0 until an inner frame has saved it */
};

enum unwind_result {
    UNWIND_CALLER, /* the cursor is now at the caller */
    UNWIND_END,    /* there is no caller: the cursor reached the start of the thread (or coroutine) */
    UNWIND_BROKEN  /* the caller cannot be determined */
};

/* Start at the interrupted instruction. [stack_low, stack_high) is the known range of the thread's stack (both 0 if
 * unknown); `copy` has UNWIND_WINDOW bytes, `cache` is the thread's. */
void unwind_start(struct cursor *cursor, const struct code_map *map, const ucontext_t *context, uint64_t stack_low,
                  uint64_t stack_high, uint8_t *copy, struct unwind_cache *cache);

/* Start at the instruction at which another thread of this process is blocked, of which only these two registers are
 * known. Its stack is read through the kernel: it may go on, or end, at any time. */
void unwind_start_blocked(struct cursor *cursor, const struct code_map *map, uint64_t pc, uint64_t sp, uint8_t *copy,
                          struct unwind_cache *cache);

/* Restrict reads to the copy of another process's stack: `bytes` bytes from the stack pointer on, given to unwind_start
 * as `copy`. */
void unwind_only_copy(struct cursor *cursor, uint64_t bytes);

/* A visited caller's frame, to which the cursor can return. */
struct frame {
    uint64_t pc, sp, fp;
    uint64_t return_at;
    bool is_exact;
};
struct frame unwind_frame(const struct cursor *cursor);
void unwind_go_to(struct cursor *cursor, const struct frame *frame);

enum unwind_result unwind_step(struct cursor *cursor);

/* Read a word of the stack. False if there is none. */
bool unwind_read_word(struct cursor *cursor, uint64_t address, uint64_t *value);

/* Return the link-time address that represents the frame: the interrupted instruction, or the call's last byte. */
static inline uint64_t unwind_lookup_pc(const struct cursor *cursor)
{
    return cursor->leaf ? cursor->pc : cursor->pc - 1;
}

/* Search for the return address in assembly without call frame information: BLAS kernels, codecs. x86-64. */

/* Find the caller's frame for a cursor at a leaf without unwind rules. A candidate counts only if a call precedes the
 * return address, and if the rules unwind from there through calls alone. Async-signal-safe and thread-safe, as all of
 * unwind.h; code is read through the kernel too. */
bool return_search(struct cursor *cursor, struct frame *caller);

/* Return whether a call precedes the return address `pc`, and its target if the instruction contains it, else 0. */
bool return_follows_call(const struct cursor *cursor, uint64_t pc, uint64_t *target);

/* Determine the unknown frame pointer of a cursor that lacks registers, in a function whose rule needs it: by the
 * instructions at the function's beginning, else by a search of the stack for its two words. x86-64. */
bool fp_search(struct cursor *cursor);

#endif
