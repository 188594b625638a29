#define _GNU_SOURCE
#include "path.h"

#include <string.h>

#include "machine.h"
#include "python.h"
#include "sys.h"
#include "unwind.h"

#define ENTRY_BYTES 64
/* Frames between two readings of the clock: some 2 us; a reading costs 30 ns. */
#define CLOCK_FRAMES 64
/* Stacks with fewer frames are walked completely and not remembered. */
#define DEEP INNER_FRAMES
#define STRIDE 64 /* frames from mark to mark */

static uint64_t entry_point;

struct walk {
    struct path *path;
    struct path_memory *memory;
    struct cursor *cursor;
    uint64_t *outer;
    int64_t passed;   /* number of the next application frame, as in `outer` */
    size_t next_mark; /* in the memory: earlier marks are further in */
    uint64_t deadline_ns;
    struct python_walk *python; /* or NULL */
};

void path_begin(uint64_t entry)
{
    entry_point = entry;
}

bool path_is_application(const struct cursor *cursor)
{
    const struct code_range *range = cursor->range;
    if (range == NULL || !range->module->app || cursor->pc - entry_point < ENTRY_BYTES)
        return false;
    const struct module *module = range->module;
    uint64_t address = unwind_lookup_pc(cursor) - range->base;
    return (address < module->plt_low || address >= module->plt_high) && !start_code_has(&module->start, address);
}

static struct path_mark mark_here(const struct walk *walk)
{
    return (struct path_mark){.frame = unwind_frame(walk->cursor), .passed = walk->passed};
}

static uint64_t gap_after_removal(const struct path *path, size_t i)
{
    return path->marks[i + 1].frame.sp - path->marks[i - 1].frame.sp;
}

/* Add a mark. When there is no room left, remove the mark that leaves the smallest gap, so that they stay spread over
 * the whole stack. */
static void add_mark(struct path *path, const struct path_mark *mark)
{
    if (path->mark_count == PATH_MARKS) {
        size_t drop = 1;
        for (size_t i = 1; i + 1 < PATH_MARKS; i++)
            if (gap_after_removal(path, i) < gap_after_removal(path, drop))
                drop = i;
        path->mark_count--;
        memmove(&path->marks[drop], &path->marks[drop + 1], (path->mark_count - drop) * sizeof *mark);
    }
    path->marks[path->mark_count++] = *mark;
}

/* Return whether the return address is still in place. It is read directly, because marks are on the thread's own
 * stack. */
static bool is_in_place(const struct path_mark *mark, const struct stack *stack)
{
    uint64_t address = mark->frame.return_at;
    return (address & 7) == 0 && address >= stack->low && address < stack->high && stack->high - address >= 8 &&
           machine_address(*(const uint64_t *)address) == mark->frame.pc;
}

static bool is_unchanged(const struct path_memory *memory, size_t first, const struct stack *stack)
{
    for (size_t i = first; i < memory->count; i++)
        if (!is_in_place(&memory->marks[i], stack))
            return false;
    return memory->result != UNWIND_CALLER || is_in_place(&memory->edge, stack);
}

/* Return whether the memory holds all frames from the cursor on: the path's inner frames are complete, and all its
 * outer frames lie beyond. */
static bool is_remembered(struct walk *walk)
{
    const struct path_memory *memory = walk->memory;
    const struct cursor *cursor = walk->cursor;
    while (walk->next_mark < memory->count && memory->marks[walk->next_mark].frame.sp < cursor->sp)
        walk->next_mark++;
    if (walk->next_mark == memory->count || walk->path->frames < INNER_FRAMES)
        return false;
    const struct path_mark *mark = &memory->marks[walk->next_mark];
    return mark->frame.sp == cursor->sp && mark->frame.pc == cursor->pc && mark->frame.fp == cursor->fp &&
           memory->edge.passed - mark->passed >= OUTER_FRAMES && is_unchanged(memory, walk->next_mark, &cursor->stack);
}

/* Step to the caller. For a leaf without unwind rules, search for the return address; for an unknown frame pointer, for
 * that. */
static enum unwind_result step(struct cursor *cursor)
{
#if !MACHINE_HAS_LINK_REGISTER
    bool needs_fp = cursor->row.cfa == CFA_FP || cursor->row.cfa == CFA_DEREF_FP || cursor->row.fp == FP_AT_FP;
    if (cursor->lacks_registers && cursor->fp == 0 && needs_fp && !fp_search(cursor))
        return UNWIND_BROKEN;
    struct frame caller;
    bool is_jit = cursor->range != NULL && cursor->range->module->jit; /* which keeps frame pointers */
    if (cursor->leaf && cursor->row.cfa == CFA_NONE && !is_jit && return_search(cursor, &caller)) {
        unwind_go_to(cursor, &caller);
        return UNWIND_CALLER;
    }
#endif
    return unwind_step(cursor);
}

static void add_frame(struct walk *walk, uint64_t frame)
{
    struct path *path = walk->path;
    if (path->frames < INNER_FRAMES)
        path->inner[path->frames] = frame;
    else
        walk->outer[walk->passed % OUTER_FRAMES] = frame;
    path->frames++;
    walk->passed++;
}

static bool is_past_deadline(const struct walk *walk)
{
    if (walk->python != NULL && python_is_cut(walk->python))
        return true;
    return walk->path->walked % CLOCK_FRAMES == CLOCK_FRAMES - 1 && monotonic_ns() >= walk->deadline_ns;
}

/* Add the Python functions that a C frame runs, in its place; the walk has just left its part of the stack, which ends
 * below `end`. Returns whether it runs any. */
static bool add_python(struct walk *walk, uint64_t pc, uint64_t end)
{
    uint64_t frame;
    bool any = false;
    while (!is_past_deadline(walk) && python_next(walk->python, pc, end, &frame)) {
        if (frame != 0)
            add_frame(walk, frame);
        walk->path->walked++;
        any = true;
    }
    return any;
}

/* Add the remaining Python frames, which lead to the outermost frame even if the C frames cannot be unwound. */
static void add_remaining_python_frames(struct walk *walk)
{
    if (walk->path->result == UNWIND_BROKEN && add_python(walk, 0, UINT64_MAX) && python_has_ended(walk->python)) {
        walk->path->result = UNWIND_END;
        walk->path->has_gap = true;
    }
}

/* Walk outwards until the stack's end, the deadline (UNWIND_CALLER) or, unless `is_new`, a remembered frame (returns
 * true). */
static bool advance(struct walk *walk, bool is_new)
{
    struct path *path = walk->path;
    struct cursor *cursor = walk->cursor;
    bool own_stack = cursor->stack.high != 0;
    path->result = UNWIND_CALLER;
    while (path->result == UNWIND_CALLER) {
        if (path->walked >= DEEP && own_stack && !cursor->leaf && walk->python == NULL) {
            if (is_new && is_remembered(walk))
                return true;
            struct path_mark mark = mark_here(walk);
            if (path->walked % STRIDE == 0)
                add_mark(path, &mark);
        }
        if (is_past_deadline(walk))
            break;
        bool runs_python = walk->python != NULL && cursor->range != NULL && cursor->range->module->python;
        bool is_application = path_is_application(cursor);
        uint64_t pc = unwind_lookup_pc(cursor);
        if (cursor->range != NULL && !cursor->range->module->begins)
            path->home = pc;
        if (path->frames == 0 && !is_application && path->inside_count < path->inside_most)
            path->inside[path->inside_count++] = pc;
        path->result = step(cursor);
        path->walked++;
        if (!(runs_python && path->result == UNWIND_CALLER && add_python(walk, pc, cursor->sp)) && is_application)
            add_frame(walk, pc);
    }
    if (walk->python != NULL)
        add_remaining_python_frames(walk);
    return false;
}

/* Copy marks and edge into the memory. */
static void remember(struct walk *walk)
{
    struct path_memory *memory = walk->memory;
    const struct path *path = walk->path;
    memcpy(memory->marks, path->marks, path->mark_count * sizeof path->marks[0]);
    memory->count = path->mark_count;
    memory->edge = mark_here(walk);
    memory->result = path->result;
}

/* Continue from a remembered frame: adopt the memory's frame numbers, and resume the walk at the memory's edge. */
static void resume_from_memory(struct walk *walk)
{
    struct path *path = walk->path;
    struct path_memory *memory = walk->memory;
    struct cursor *cursor = walk->cursor;
    int64_t shift = memory->marks[walk->next_mark].passed - walk->passed;
    for (size_t i = 0; i < path->mark_count; i++)
        path->marks[i].passed += shift;
    for (size_t i = walk->next_mark; i < memory->count; i++)
        add_mark(path, &memory->marks[i]);
    path->from_memory = true;
    path->frames = memory->edge.passed - shift;
    path->result = memory->result;
    walk->passed = memory->edge.passed;
    walk->outer = memory->outer;
    unwind_go_to(cursor, &memory->edge.frame);
    if (path->result == UNWIND_CALLER)
        advance(walk, false);
    remember(walk);
}

void path_walk(struct path *path, struct path_memory *memory, struct cursor *cursor, struct python_walk *python,
               uint64_t deadline_ns)
{
    struct walk walk = {.path = path,
                        .memory = memory,
                        .cursor = cursor,
                        .outer = path->outer,
                        .deadline_ns = deadline_ns,
                        .python = python};
    path->mark_count = path->walked = 0;
    path->home = 0;
    path->frames = 0;
    path->from_memory = path->has_gap = false;
    if (advance(&walk, true)) {
        resume_from_memory(&walk);
    } else if (path->mark_count > 0) {
        remember(&walk);
        memcpy(memory->outer, path->outer, sizeof memory->outer);
    }
}
