/* Thread safety: only the thread itself, in its tick handler; from outside, the only thread. */
#define _GNU_SOURCE
#include "python.h"

#include <string.h>

#include "peek.h"

#define MOST_FRAMES 100000
/* Frames of one call to follow in search of its end: those in two windows. A sample's time budget ends soon after. */
#define MOST_SEARCHED 256
/* From outside no deadline ends a walk. Python's own limit is 1000 frames (sys.setrecursionlimit), each of which is
 * followed twice: in the search of its call's end, and when it is returned. */
#define MOST_SEARCHED_OUTSIDE 1024
#define MOST_FRAMES_OUTSIDE (2 * MOST_SEARCHED_OUTSIDE)
#define MOST_INTERPRETERS 64
#define MOST_STATES 256
#define MOST_STATES_OUTSIDE 8192 /* the oldest thread comes last; not in a handler */
#define LONGEST_PAUSE 64         /* samples */
/* From 3.12 on an interpreter call has a frame of its own at its end, with a unique owner. */
#define LEAST_CALL_OWNER 3
#define FIRST_WINDOW 8192
#define MOST_AHEAD 64
#define MOST_ATTEMPTS 4
#define FRAME_BYTES 112 /* all fields read are within these bytes */
#define HIGHEST ((uint64_t)1 << 56)

struct frame_words {
    uint64_t code, previous;
    uint64_t at; /* offset from the first instruction in bytes */
    uint8_t owner;
};

/* Read the frame's page and memory below it, where the next frame usually is; more and more for a deep stack. */
static bool fill_window(struct python_walk *walk, uint64_t address)
{
    uint8_t *window = walk->mine->window;
    uint64_t page = address & ~(uint64_t)4095;
    size_t upper = address + FRAME_BYTES - page;
    size_t lower = walk->window_bytes - upper;
    const struct iovec here[2] = {{window + PYTHON_WINDOW - upper, upper},
                                  {window + PYTHON_WINDOW - walk->window_bytes, lower}};
    const struct iovec there[2] = {{(void *)page, upper}, {(void *)(page - lower), lower}};
    size_t got = peek_pieces(here, 2, there, 2);
    walk->window_low = got == walk->window_bytes ? page - lower : page;
    walk->window_bytes = 2 * walk->window_bytes < PYTHON_WINDOW ? 2 * walk->window_bytes : PYTHON_WINDOW;
    walk->window_high = got >= upper ? page + upper : 0;
    return got >= upper;
}

static bool is_in_window(const struct python_walk *walk, uint64_t address)
{
    return (address & 7) == 0 && address >= walk->window_low && address + FRAME_BYTES <= walk->window_high;
}

static void take_frame(const struct python_walk *walk, uint64_t address, struct frame_words *frame)
{
    const struct python_layout *layout = &walk->python->layout;
    const uint8_t *from = walk->mine->window + PYTHON_WINDOW - (walk->window_high - address);
    memcpy(&frame->code, from + layout->frame_code, 8);
    memcpy(&frame->previous, from + layout->frame_previous, 8);
    frame->code &= ~(uint64_t)7; /* a tagged reference, since 3.14 */
    frame->owner = from[layout->frame_owner];
    if (layout->unit == 0) {
        memcpy(&frame->at, from + layout->frame_at, 8);
        frame->at -= frame->code + layout->code_bytes;
    } else {
        uint32_t number;
        memcpy(&number, from + layout->frame_at, 4);
        frame->at = (uint64_t)number * layout->unit;
    }
}

static bool is_among(uint64_t code, const uint64_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* Verify the code objects of the frames in the window, from the current one on. */
static void prefetch_frames(const struct python_walk *walk)
{
    uint64_t codes[PYTHON_CHECKED];
    uint64_t address = walk->frame;
    struct frame_words frame;
    size_t count = 0;
    for (size_t i = 0; i < MOST_AHEAD && count < PYTHON_CHECKED && is_in_window(walk, address); i++) {
        take_frame(walk, address, &frame);
        if (!is_among(frame.code, codes, count))
            codes[count++] = frame.code;
        address = frame.previous;
    }
    python_codes_check(walk->python, walk->mine, codes, count);
}

static bool read_frame(struct python_walk *walk, uint64_t address, struct frame_words *frame)
{
    if ((address & 7) != 0 || address < 4096 || address > HIGHEST)
        return false;
    if (!is_in_window(walk, address) && !fill_window(walk, address))
        return false;
    take_frame(walk, address, frame);
    return true;
}

static bool peek_word(uint64_t address, uint64_t *value)
{
    return address >= 4096 && address < HIGHEST && peek(value, address, sizeof *value);
}

/* Return the word at an address within bytes that were read from `low` on, or NULL. */
static const uint8_t *word_within(const uint8_t *bytes, uint64_t low, uint64_t high, uint64_t address)
{
    bool is_there = bytes != NULL && address >= low && address < high && high - address >= 8 && (address & 7) == 0;
    return is_there ? bytes + (address - low) : NULL;
}

/* Read a word of the thread's stack, or of its state, which has the outermost call's struct. The stack is mapped above
 * the innermost frame, so no system call is needed. */
static bool read_stack(const struct python_walk *walk, uint64_t address, uint64_t *value)
{
    const struct python_stack *stack = &walk->stack;
    const struct python_state *state = &walk->mine->copied;
    const uint8_t *word = word_within(stack->bytes, stack->low, stack->high, address);
    if (word == NULL)
        word = word_within(state->bytes, state->low, state->high, address);
    if (word == NULL)
        return peek_word(address, value);
    memcpy(value, word, sizeof *value);
    return true;
}

/* Enter a C call of the interpreter by its struct, and the frame that it runs. */
static void enter_call(struct python_walk *walk, uint64_t call)
{
    walk->call = walk->boundary = 0;
    if (read_stack(walk, call + walk->python->layout.call_frame, &walk->frame) && walk->frame != 0)
        walk->call = walk->boundary = call;
}

/* Enter a frame whose interpreter call is unknown: it is the next call whose part of the stack the walk leaves. */
static void enter_unknown_call(struct python_walk *walk, uint64_t address)
{
    walk->frame = address;
    walk->boundary = address != 0 ? walk->stack.low : 0;
    walk->is_next = true;
}

/* Enter a frame. Its interpreter call is located by the frame at that call's end. */
static void enter_frame(struct python_walk *walk, uint64_t address)
{
    struct frame_words frame;
    uint64_t at = address;
    walk->frame = address;
    walk->boundary = 0;
    walk->is_next = false;
    for (uint32_t i = 0; at != 0 && walk->left > 0 && read_frame(walk, at, &frame); i++) {
        if (frame.owner >= LEAST_CALL_OWNER) {
            walk->boundary = at;
            return;
        }
        if (i == walk->searched) {
            enter_unknown_call(walk, address);
            return;
        }
        walk->left--;
        at = frame.previous;
    }
}

static bool read_copied(const struct python_state *copied, uint64_t address, uint64_t *value)
{
    const uint8_t *word = word_within(copied->bytes, copied->low, copied->high, address);
    if (word != NULL)
        memcpy(value, word, sizeof *value);
    return word != NULL;
}

/* Return whether a state belongs to the thread, as far as the thread is identified, and the frame that it runs. */
static bool read_state(const struct python_walk *walk, uint64_t state, uint64_t *running)
{
    const struct python_layout *layout = &walk->python->layout;
    struct python_state *copied = &walk->mine->copied;
    const struct iovec here = {copied->bytes, sizeof copied->bytes};
    const struct iovec there = {(void *)state, sizeof copied->bytes};
    uint64_t id;
    copied->low = copied->high = 0;
    if (state < 4096 || state >= HIGHEST)
        return false;
    copied->low = state;
    copied->high = state + peek_pieces(&here, 1, &there, 1);
    uint64_t id_at = state + (walk->by_number ? layout->thread_number : layout->thread_id);
    if (!read_copied(copied, state + layout->thread_frame, running) || !read_copied(copied, id_at, &id))
        return false;
    if (walk->by_number)
        return id == walk->stack.number;
    return walk->stack.self == 0 || id == walk->stack.self;
}

/* Enter the interpreter call after the current one. */
static void enter_next_call(struct python_walk *walk)
{
    uint64_t call;
    struct frame_words frame;
    bool has_calls = walk->python->layout.has_calls;
    if (has_calls && read_stack(walk, walk->call + walk->python->layout.call_previous, &call))
        enter_call(walk, call);
    else if (!has_calls && read_frame(walk, walk->boundary, &frame))
        enter_frame(walk, frame.previous);
    else
        walk->boundary = 0;
}

/* From outside: return whether the call is on the copied stack. The thread has continued meanwhile; calls below the
 * copy are new. */
static bool is_on_stack(struct python_walk *walk)
{
    while (walk->boundary != 0 && walk->boundary < walk->stack.low && walk->left > 0) {
        walk->left--;
        enter_next_call(walk);
    }
    return walk->boundary != 0 && walk->boundary < walk->stack.high;
}

/* Enter the current frame of the thread with this state, if the state belongs to the thread. */
static bool enter_state(struct python_walk *walk, uint64_t state)
{
    uint64_t running;
    walk->boundary = 0;
    if (!read_state(walk, state, &running))
        return false;
    if (walk->python->layout.has_objects)
        enter_unknown_call(walk, running);
    else if (walk->python->layout.has_calls)
        enter_call(walk, running);
    else
        enter_frame(walk, running);
    return walk->stack.self != 0 || is_on_stack(walk);
}

static void go_to_call(struct python_walk *walk, const struct python_walk *there)
{
    walk->call = there->call;
    walk->frame = there->frame;
    walk->boundary = there->boundary;
    walk->is_next = there->is_next;
}

/* Find, among the thread's states (one per interpreter), the one whose innermost call is the first at or above `floor`,
 * and enter it. If the lists change meanwhile, it is found later or not at all. */
static uint64_t find_state(struct python_walk *walk, uint64_t floor)
{
    const struct python *python = walk->python;
    uint64_t interpreter;
    uint64_t state;
    uint64_t best = 0;
    struct python_walk nearest = {.boundary = UINT64_MAX};
    size_t states = 0;
    size_t own = 0;
    const size_t most = walk->stack.self == 0 ? MOST_STATES_OUTSIDE : MOST_STATES;
    bool more = peek_word(python->runtime + python->layout.interpreters, &interpreter);
    for (size_t i = 0; more && interpreter != 0 && i < MOST_INTERPRETERS; i++) {
        if (!peek_word(interpreter + python->layout.interpreter_threads, &state))
            break;
        while (state != 0 && states++ < most) {
            bool is_own = enter_state(walk, state);
            own += is_own;
            if (is_own && walk->boundary != 0 && walk->boundary >= floor && walk->boundary < nearest.boundary) {
                best = state;
                nearest = *walk;
            }
            if (!peek_word(state + python->layout.thread_next, &state))
                break;
        }
        more = peek_word(interpreter + python->layout.interpreter_next, &interpreter);
    }
    walk->mine->has_many = own > 1;
    walk->boundary = 0;
    if (best != 0)
        go_to_call(walk, &nearest);
    else if (states > most)
        __atomic_store_n(&python_used()->has_too_many, true, __ATOMIC_RELAXED);
    return best;
}

static void find_thread_state(struct python_walk *walk, uint64_t floor)
{
    struct python_thread *mine = walk->mine;
    if (mine->state == 0 && walk->stack.self != 0 && (int32_t)(mine->sample - mine->next_try) < 0)
        return;
    mine->state = find_state(walk, floor);
    if (mine->state != 0) {
        mine->pause = 0;
        return;
    }
    mine->pause = mine->pause == 0 ? 1 : mine->pause < LONGEST_PAUSE ? 2 * mine->pause : LONGEST_PAUSE;
    mine->next_try = mine->sample + mine->pause;
}

void python_begin(struct python_walk *walk, const struct python *python, struct python_thread *mine,
                  const struct python_stack *stack)
{
    *walk = (struct python_walk){.python = python,
                                 .mine = mine,
                                 .left = MOST_FRAMES,
                                 .searched = MOST_SEARCHED,
                                 .stack = *stack,
                                 .window_bytes = FIRST_WINDOW};
    mine->sample++;
    mine->copied.low = mine->copied.high = 0;
    if (__atomic_load_n(&mine->forget, __ATOMIC_RELAXED)) {
        __atomic_store_n(&mine->forget, false, __ATOMIC_RELAXED);
        memset(mine->codes, 0, sizeof mine->codes);
    }
}

/* From outside, the thread keeps running: retry states that are being created or destroyed. */
static void walk_other_process(struct python_walk *walk)
{
    struct frame_words frame;
    for (int time = 0; time < MOST_ATTEMPTS; time++) {
        walk->window_low = walk->window_high = 0;
        find_thread_state(walk, walk->stack.low);
        if (walk->boundary == 0 ||
            (read_frame(walk, walk->frame, &frame) && python_code_slot(walk->python, walk->mine, frame.code) >= 0))
            return;
    }
}

/* Find the thread by its kernel thread id, so that no other thread's frames need be followed, unless the process has
 * its own numbering, as in a container. */
static void find_from_outside(struct python_walk *walk)
{
    struct python_process *process = python_used();
    walk->by_number = walk->stack.number != 0 && walk->python->layout.thread_number != 0;
    walk->searched = walk->by_number ? MOST_SEARCHED_OUTSIDE : MOST_FRAMES;
    walk_other_process(walk);
    if (walk->boundary == 0 && walk->by_number && !process->has_numbers) {
        walk->by_number = false;
        walk->searched = walk->left = MOST_FRAMES;
        walk_other_process(walk);
    }
    process->has_numbers |= walk->by_number && walk->boundary != 0 && !walk->is_next;
    walk->searched = MOST_SEARCHED_OUTSIDE;
    walk->left = MOST_FRAMES_OUTSIDE;
}

static void find_beginning(struct python_walk *walk)
{
    struct python_thread *mine = walk->mine;
    walk->begun = true;
    if (walk->stack.self == 0) {
        find_from_outside(walk);
        return;
    }
    if (mine->state != 0 && !mine->has_many && enter_state(walk, mine->state) && walk->boundary != 0)
        return;
    mine->state = 0;
    find_thread_state(walk, walk->stack.low);
}

/* Leave a call. The frame after its last one is the first of another call. */
static void leave_call(struct python_walk *walk, uint64_t end, uint64_t previous)
{
    const struct python_layout *layout = &walk->python->layout;
    uint64_t floor = walk->boundary + 1;
    uint64_t call;
    bool was_next = walk->is_next;
    walk->last_end = end;
    if (layout->has_objects)
        enter_unknown_call(walk, previous);
    else if (!layout->has_calls)
        enter_frame(walk, previous);
    else if (read_stack(walk, walk->call + layout->call_previous, &call))
        enter_call(walk, call);
    else
        walk->boundary = 0;
    if (walk->boundary == 0 && walk->mine->has_many && !was_next)
        find_thread_state(walk, floor);
}

/* Return whether the current call is run by the C frame at `pc` that ends below `end`, or by one further in. */
static bool is_run_by(const struct python_walk *walk, uint64_t pc, uint64_t end)
{
    bool is_loop = pc >= walk->python->loop_low && pc < walk->python->loop_high;
    if (walk->boundary == 0 || !walk->is_next)
        return walk->boundary != 0 && walk->boundary < end;
    return end == UINT64_MAX || (is_loop && end != walk->last_end);
}

/* Return whether the frame is the last program frame that a call runs. */
static bool is_last(const struct python_layout *layout, const struct frame_words *frame)
{
    return layout->has_objects || (layout->has_entry_mark && frame->owner != 0);
}

/* Return whether the frame is the call's own, which follows all others. */
static bool is_end(const struct python_layout *layout, const struct frame_words *frame)
{
    return !layout->has_objects && !layout->has_entry_mark && frame->owner >= LEAST_CALL_OWNER;
}

static uint64_t frame_of(struct python_walk *walk, const struct frame_words *frame)
{
    if (!python_code_is_checked(walk->mine, frame->code))
        prefetch_frames(walk);
    int slot = python_code_slot(walk->python, walk->mine, frame->code);
    if (slot < 0)
        return 0;
    return PYTHON_FRAME | (uint64_t)slot << 32 | (frame->at < INT32_MAX ? frame->at : 0);
}

bool python_next(struct python_walk *walk, uint64_t pc, uint64_t end, uint64_t *out)
{
    const struct python_layout *layout = &walk->python->layout;
    struct frame_words frame;
    if (!walk->begun)
        find_beginning(walk);
    while (walk->left > 0 && is_run_by(walk, pc, end)) {
        walk->left--;
        bool is_there = read_frame(walk, walk->frame, &frame);
        if (!is_there || is_end(layout, &frame)) {
            leave_call(walk, end, is_there ? frame.previous : 0);
            continue;
        }
        *out = frame_of(walk, &frame);
        if (is_last(layout, &frame))
            leave_call(walk, end, frame.previous);
        else
            walk->frame = frame.previous;
        return true;
    }
    return false;
}

bool python_has_ended(const struct python_walk *walk)
{
    return walk->begun && walk->boundary == 0 && walk->left > 0;
}

bool python_is_cut(const struct python_walk *walk)
{
    return walk->left == 0;
}
