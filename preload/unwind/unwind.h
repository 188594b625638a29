/* Stepping from a frame to its caller by call frame information.
 *
 * Everything here is async-signal-safe and thread-safe (a cursor belongs to one thread). Stack memory is read only
 * inside the known bounds of the thread's stack; on any other stack (coroutines, alternate signal stacks) it is
 * copied by the kernel, which refuses what is not mapped. So no input can make it fault.
 */
#ifndef INCPROF_UNWIND_H
#define INCPROF_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "modules.h"

#define UNWIND_WINDOW 4096

/* Where stack words come from. */
struct stack {
    uint64_t low, high;           /* readable directly: the thread's own stack from the interrupted frame up */
    uint64_t copy_low, copy_high; /* held in `copy` */
    uint8_t *copy;                /* UNWIND_WINDOW bytes */
    bool is_all;                  /* nothing is read but the copy */
};

/* What was looked up for a return address or an instruction: the same ones come again and again, or some near them. It
 * holds for the map with this number. */
#define UNWIND_CACHE 128 /* a power of two */
struct unwind_cache {
    uint64_t number;
    struct unwind_place {
        uint64_t low, high; /* of look-up addresses that it holds for */
        const struct code_range *range;
        struct cfi_row row;
    } places[UNWIND_CACHE];
};

struct cursor {
    const struct code_map *map;
    struct unwind_cache *cache;
    const struct code_range *range; /* of pc, or NULL */
    struct cfi_row row;             /* which leads out of the frame */
    const ucontext_t *context;      /* the interrupted registers, while still in the leaf */
    struct stack stack;
    uint64_t pc, sp, fp;
    uint64_t link;      /* while leaf: the link register, where there is one */
    uint64_t return_at; /* where on the stack pc was read, or 0 */
    bool leaf;          /* pc is an interrupted instruction, not a return address */
    bool is_exact;      /* sp is the frame's own, and not only below it */
};

enum unwind_result {
    UNWIND_CALLER, /* the cursor is at the caller now */
    UNWIND_END,    /* there is none: the start of the thread (or coroutine) was reached */
    UNWIND_BROKEN  /* the caller cannot be told */
};

/* Starts at the interrupted instruction. [stack_low, stack_high) is what is known to be the thread's stack (both 0
 * when nothing is); `copy` has UNWIND_WINDOW bytes, `cache` is the thread's. */
void unwind_start(struct cursor *cursor, const struct code_map *map, const ucontext_t *context, uint64_t stack_low,
                  uint64_t stack_high, uint8_t *copy, struct unwind_cache *cache);

/* Of another process there is but a copy of its stack, from the stack pointer on: so many bytes, given to unwind_start
 * as `copy`. Nothing else is read from here on. */
void unwind_only_copy(struct cursor *cursor, uint64_t bytes);

/* A caller's frame that the cursor has come to, to go to it again. */
struct frame {
    uint64_t pc, sp, fp;
    uint64_t return_at;
    bool is_exact;
};
struct frame unwind_frame(const struct cursor *cursor);
void unwind_go_to(struct cursor *cursor, const struct frame *frame);

enum unwind_result unwind_step(struct cursor *cursor);

/* A word of the stack. False where there is none. */
bool unwind_read_word(struct cursor *cursor, uint64_t address, uint64_t *value);

/* The link-time address that stands for the frame: the interrupted instruction, or the call's last byte. */
static inline uint64_t unwind_lookup_pc(const struct cursor *cursor)
{
    return cursor->leaf ? cursor->pc : cursor->pc - 1;
}

#endif
