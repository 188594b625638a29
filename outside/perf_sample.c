#define _GNU_SOURCE
#include "follow.h"

#include <string.h>

#include "path.h"
#include "perf_rings.h"

#define FOR_EVER_NS (UINT64_MAX / 4)

/* The stack copy behind the registers, from the stack pointer on, and the number of bytes actually copied. */
struct stack_copy {
    uint8_t *bytes; /* read-only */
    uint64_t length;
};

static struct stack_copy stack_of(const struct perf_event_header *record, const uint64_t *at)
{
    const uint64_t *end = (const uint64_t *)((const uint8_t *)record + record->size);
    uint64_t room = at < end ? *at / 8 : 0;
    if (room == 0 || room > (uint64_t)(end - at) - 2)
        return (struct stack_copy){.length = 0};
    uint64_t length = at[1 + room];
    return (struct stack_copy){.bytes = (uint8_t *)(uintptr_t)(at + 1), .length = length < *at ? length : *at};
}

static enum sample_kind kind_of(const struct cursor *cursor)
{
    if (cursor->range == NULL)
        return KIND_UNKNOWN;
    return path_is_application(cursor) ? KIND_OWN : KIND_LIBRARY;
}

/* Store the frames in the order of the collector's ring: the inner ones, then the outer ones. */
static void put_frames(struct sample *sample, const struct path *path, const struct path_memory *memory)
{
    size_t inner = path->frames < INNER_FRAMES ? (size_t)path->frames : INNER_FRAMES;
    size_t outer = path_outer_count(path);
    memcpy(sample->frames, path->inner, inner * sizeof *path->inner);
    for (size_t i = 0; i < outer; i++)
        sample->frames[inner + i] = path_outer(path, memory, i);
    sample->frame_count = (uint16_t)(inner + outer);
    if (path->frames > (int64_t)(inner + outer))
        sample->flags |= SAMPLE_ELIDED;
}

/* Return whether the path is complete. The caller of main, or of a thread's first function, may be code without rules,
 * as in musl. */
static bool is_whole(const struct path *path, const struct cursor *cursor, const struct sample *sample)
{
    const struct code_range *last = cursor->range;
    if (path->result == UNWIND_END)
        return true;
    if (last != NULL && start_code_has(&last->module->start, unwind_lookup_pc(cursor) - last->base))
        return true;
    if (sample->frame_count == 0)
        return false;
    uint64_t outermost = sample->frames[sample->frame_count - 1];
    const struct code_range *range = modules_find(cursor->map, outermost);
    return range != NULL && start_code_is_main(&range->module->start, outermost - range->base);
}

/* Set the home of a path without application frames: a thread that a library started for itself belongs to that
 * library. */
static void set_home(struct sample *sample, const struct path *path, bool was_started)
{
    sample->kind = was_started && path->home != 0 ? KIND_LIBRARY : KIND_UNKNOWN;
    sample->leaf_pc = path->home;
}

bool sample_read(struct sample *sample, const struct perf_event_header *record, struct unwind_cache *cache,
                 struct python_thread *python_codes)
{
    static struct path path;
    static const struct path_memory none;
    static struct path_memory memory; /* stays empty: marks are read in place, which is in another process */
    const struct sample_start *start = (const void *)record;
    const uint64_t *registers = (const uint64_t *)(start + 1);
    ucontext_t context;
    struct cursor cursor;
    *sample = (struct sample){.time_ns = start->time_ns, .weight = 1, .kind = KIND_UNKNOWN};
    if (start->registers != PERF_SAMPLE_REGS_ABI_64)
        return true;
    struct stack_copy stack = stack_of(record, registers + USER_REGISTER_COUNT);
    memory = none;
    user_registers(&context, registers);
    unwind_start(&cursor, modules_current(), &context, 0, 0, stack.bytes, cache);
    unwind_only_copy(&cursor, stack.length);
    sample->leaf_pc = cursor.pc;
    sample->kind = (uint8_t)kind_of(&cursor);
    const struct python *python = python_codes != NULL ? python_current() : NULL;
    struct python_walk frames;
    const struct python_stack calls = {
        .low = cursor.sp, .high = cursor.sp + stack.length, .bytes = stack.bytes, .number = start->tid};
    if (python != NULL)
        python_begin(&frames, python, python_codes, &calls);
    path_walk(&path, &memory, &cursor, python != NULL ? &frames : NULL, FOR_EVER_NS);
    put_frames(sample, &path, &memory);
    if (path.frames == 0)
        set_home(sample, &path, start->tid != start->pid);
    if (is_whole(&path, &cursor, sample))
        return true;
    sample->flags |= SAMPLE_BROKEN;
    return false;
}
