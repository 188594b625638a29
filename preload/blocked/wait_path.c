/* Thread safety: one caller at a time, to whom the memory of the walk belongs. */
#define _GNU_SOURCE
#include "blocked_thread.h"

#include <string.h>

#include "path.h"
#include "peek.h"
#include "python.h"
#include "sys.h"
#include "unwind.h"

#define LONGEST_NS 500000
#define MOST_INSIDE 128

static struct path path;
static struct path_memory memory;
static uint8_t window[UNWIND_WINDOW];
static uint64_t inside[MOST_INSIDE];

/* Begin a walk over the Python frames of a thread, which the interpreter finds by its id. False: it has none. */
static bool begin_python(struct python_walk *frames, const struct blocked_thread *thread, const struct task_call *call)
{
    const struct python *python = python_current();
    const struct python_stack stack = {.low = call->sp, .high = thread->stack_high, .number = (uint64_t)thread->tid};
    if (python == NULL || thread->process->python == NULL || python->layout.thread_number == 0 ||
        call->sp < thread->stack_low || call->sp >= stack.high)
        return false;
    if (peek_process == 0) /* the process's own numbering */
        python_used()->has_numbers = true;
    python_begin(frames, python, thread->process->python, &stack);
    return true;
}

/* Keep the innermost and the outermost frames of libraries: both the function that blocks and the one that the
 * application has called. */
static void take_inside(struct wait_site *site)
{
    size_t count = path.inside_count;
    site->count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t address;
        bool is_left_out = i >= WAIT_FRAMES / 2 && i + WAIT_FRAMES / 2 < count;
        const struct module *module = is_left_out ? NULL : interval_resolve(inside[i], &address);
        if (module == NULL || module->jit)
            continue;
        site->frames[site->count++] = (struct wait_frame){.address = address, .module = module->id};
    }
}

static void take_frames(struct sample *frames)
{
    size_t outer = path_outer_count(&path);
    size_t inner = path.frames < INNER_FRAMES ? (size_t)path.frames : INNER_FRAMES;
    frames->flags =
        (path.frames > (int64_t)(inner + outer) ? SAMPLE_ELIDED : 0) | (path.result != UNWIND_END ? SAMPLE_BROKEN : 0);
    frames->frame_count = (uint16_t)(inner + outer);
    memcpy(frames->frames, path.inner, inner * sizeof path.inner[0]);
    for (size_t i = 0; i < outer; i++)
        frames->frames[inner + i] = path_outer(&path, &memory, i);
}

void wait_path_walk(const struct blocked_thread *thread, const struct task_call *call, struct wait_path *found)
{
    struct cursor cursor;
    struct python_walk frames;
    path.inside = inside;
    path.inside_count = 0;
    path.inside_most = MOST_INSIDE;
    memory.count = 0;
    unwind_start_blocked(&cursor, modules_current(), call->pc, call->sp, window, thread->process->cache);
    found->is_ours = cursor.range != NULL && cursor.range->module->profiler;
    bool has_python = begin_python(&frames, thread, call);
    path_walk(&path, &memory, &cursor, has_python ? &frames : NULL, monotonic_ns() + LONGEST_NS);
    if (path.result == UNWIND_BROKEN && cursor.range == NULL)
        thread->process->lacks_code = true;
    found->is_complete = path.result == UNWIND_END;
    take_frames(&found->frames);
    memset(&found->site, 0, sizeof found->site);
    take_inside(&found->site);
}

void wait_path_add(const struct blocked_process *process, struct wait_path *found)
{
    const uint16_t *functions = process->python != NULL ? process->python->functions : NULL;
    found->site.node = interval_node(process->interval, functions, &found->frames);
}
