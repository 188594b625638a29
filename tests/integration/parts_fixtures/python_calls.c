/* Frames of a thread's interpreter as Python 3.13 keeps them, and two calls of it on the stack: which frames a walk
 * gives for which of C's, and how many of them it looks at before it gives the first. With a number for the thread, it
 * is walked from outside, where its number is 77; if it has that one, behind a thread whose frames do not end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python.h"
#include "thread.h"

#define LOOP 0x1000
#define OTHER 0x9000
#define FRAME_WORDS 12
#define OWNER_OF_CALL 3
#define NUMBER 77

enum { CODE, PREVIOUS, OWNER };

static uint64_t interpreter[2], state[4], other_state[4], other_frame[FRAME_WORDS], stack[80];
static uint64_t code_of_all[16], text[16];

static const struct python python = {.layout = {.version = 0x030d,
                                                .interpreters = 0,
                                                .interpreter_next = 0,
                                                .interpreter_threads = 8,
                                                .thread_next = 0,
                                                .thread_frame = 8,
                                                .thread_id = 16,
                                                .thread_number = 24,
                                                .frame_code = 8 * CODE,
                                                .frame_previous = 8 * PREVIOUS,
                                                .frame_owner = 8 * OWNER,
                                                .frame_at = 24,
                                                .code_first = 8,
                                                .code_file = 16,
                                                .code_name = 16,
                                                .code_lines = 24,
                                                .object_type = 0,
                                                .object_size = 8,
                                                .text_ascii = 32,
                                                .text_compact = 48},
                                     .loop_low = LOOP,
                                     .loop_high = LOOP + 16};

/* The innermost of `count` frames that are run by the call with `end` at their end. */
static uint64_t *put_frames(size_t count, uint64_t *end, uint64_t *outside)
{
    uint64_t *frames = calloc(count + 1, FRAME_WORDS * sizeof *frames);
    uint64_t *previous = end;
    for (size_t i = 0; i < count; i++) {
        uint64_t *frame = frames + i * FRAME_WORDS;
        frame[CODE] = (uint64_t)code_of_all;
        frame[PREVIOUS] = (uint64_t)previous;
        previous = frame;
    }
    end[OWNER] = OWNER_OF_CALL;
    end[PREVIOUS] = (uint64_t)outside;
    return previous;
}

static size_t given(struct python_walk *walk, uint64_t pc, const uint64_t *end)
{
    uint64_t frame;
    size_t count = 0;
    while (python_next(walk, pc, (uint64_t)end, &frame))
        count += frame != 0;
    return count;
}

int main(int argc, char **argv)
{
    static struct thread thread;
    static uint64_t runtime;
    struct python here = python;
    struct python_walk walk;
    uint64_t *inner_end = &stack[16];
    uint64_t *outer_end = &stack[48];
    const bool is_outside = argc == 4;
    const struct python_stack own = {.low = (uint64_t)stack,
                                     .high = (uint64_t)(stack + 80),
                                     .bytes = (const uint8_t *)stack,
                                     .self = is_outside ? 0 : (uint64_t)pthread_self(),
                                     .number = NUMBER};
    code_of_all[2] = (uint64_t)text;
    text[1] = 4;
    text[3] = 1u << 2 | 1u << 5 | 1u << 6; /* of one byte, compact, ASCII */
    memcpy(&text[4], "work", 4);
    here.runtime = (uint64_t)&runtime;
    runtime = (uint64_t)interpreter;
    interpreter[1] = (uint64_t)state;
    state[1] = (uint64_t)put_frames(strtoul(argv[1], NULL, 10), inner_end,
                                    put_frames(strtoul(argv[2], NULL, 10), outer_end, NULL));
    state[2] = own.self;
    state[3] = is_outside ? strtoul(argv[3], NULL, 10) : 0;
    other_state[0] = (uint64_t)state;
    other_state[1] = other_frame[PREVIOUS] = (uint64_t)other_frame;
    if (state[3] == NUMBER)
        interpreter[1] = (uint64_t)other_state;
    here.code_type = code_of_all[0] = (uint64_t)&python;
    here.text_type = text[0] = (uint64_t)&thread;
    python_begin(&walk, &here, &thread.python, &own);
    printf("before %zu", given(&walk, OTHER, &stack[8]));
    printf(" searched %u", 100000 - walk.left);
    printf(" inner %zu", given(&walk, LOOP, &stack[30]));
    printf(" between %zu", given(&walk, OTHER, &stack[40]));
    printf(" outer %zu", given(&walk, LOOP, &stack[70]));
    printf(" ended %d\n", python_has_ended(&walk));
    return 0;
}
