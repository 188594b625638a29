/* Commands whose times have not been read. They are read when the program waits or releases a queue, and every so many
 * calls; by the threads of the program, so that the driver starts none for callbacks.
 *
 * Thread safety: lists are under gpu_lock; names are atomic. One thread at a time reads (`is_reading`): it takes the
 * list of a queue under the lock, calls the driver without it, and puts back the commands that have not ended. */
#define _GNU_SOURCE
#include <sched.h>

#include "opencl_layer.h"
#include "sys.h"

#define MOST_COMMANDS (1u << 16)
#define COMMANDS_OF_BLOCK 1024u
#define BATCH 256       /* commands, while the lock is held */
#define MOST_RUNNING 32 /* commands of one queue that are passed over, unless the program has waited */
#define ATTEMPTS 10000
#define SLACK_NS ((uint64_t)1000000000) /* by which clocks may differ */
#define MOST_NAME 4001
#define RECENT_KERNELS 1024u
#define NUMBER_BITS 13 /* of a kernel's name */

static struct command *unused;
static uint32_t allocated;
static bool is_reading;
static uint64_t kernels[RECENT_KERNELS]; /* handles, and the numbers of their names in the low bits */

static uint64_t *place_of(cl_kernel kernel)
{
    return &kernels[(uint32_t)(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15u >> 40) % RECENT_KERNELS];
}

static struct command *allocate(void)
{
    if (unused == NULL && allocated < MOST_COMMANDS) {
        struct command *block = sys_alloc(COMMANDS_OF_BLOCK * sizeof *block);
        for (uint32_t i = 0; block != NULL && i < COMMANDS_OF_BLOCK; i++) {
            block[i].next = unused;
            unused = &block[i];
        }
        allocated += COMMANDS_OF_BLOCK;
    }
    struct command *command = unused;
    if (command != NULL)
        unused = command->next;
    return command;
}

/* Append a command to the list of its queue; false: the queue is unknown or not profiled, or there are too many. */
static bool append(const struct command *given)
{
    struct queue *queue = queue_find(given->queue);
    struct command *command = queue != NULL && queue->is_profiled ? allocate() : NULL;
    if (command == NULL)
        return false;
    *command = *given;
    command->next = NULL;
    command->lane = queue->lane;
    command->stream = queue->stream;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = command;
    queue->last = command;
    queue->count++;
    return true;
}

/* Append a command, also of an unknown queue, or release its event. */
static void append_or_release(const struct command *command)
{
    uint64_t mask = gpu_lock();
    bool is_known = queue_find(command->queue) != NULL;
    bool is_kept = append(command);
    gpu_unlock(mask);
    if (!is_known) {
        queue_adopt(command->queue);
        mask = gpu_lock();
        is_kept = append(command);
        gpu_unlock(mask);
    }
    if (!is_kept)
        NEXT_CL(clReleaseEvent)(command->event);
}

static void empty_inboxes(void)
{
    struct command refused;
    bool is_all = false;
    while (!is_all) {
        uint64_t mask = gpu_lock();
        is_all = inboxes_take(append, &refused);
        gpu_unlock(mask);
        if (!is_all)
            append_or_release(&refused);
    }
}

static uint32_t learn_name(cl_kernel kernel)
{
    char name[MOST_NAME] = "";
    NEXT_CL(clGetKernelInfo)(kernel, KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    uint64_t mask = gpu_lock();
    uint32_t number = kernel_name(name);
    gpu_unlock(mask);
    uint64_t handle = (uintptr_t)kernel;
    if (handle << NUMBER_BITS >> NUMBER_BITS == handle && number >> NUMBER_BITS == 0)
        __atomic_store_n(place_of(kernel), handle << NUMBER_BITS | number, __ATOMIC_RELAXED);
    return number;
}

uint32_t commands_name(cl_kernel kernel)
{
    uint64_t known = __atomic_load_n(place_of(kernel), __ATOMIC_RELAXED);
    return known >> NUMBER_BITS == (uintptr_t)kernel ? (uint32_t)(known & ((1u << NUMBER_BITS) - 1))
                                                     : learn_name(kernel);
}

void commands_add(const struct command *command)
{
    uint32_t waiting = inboxes_put(command);
    if (waiting == 0)
        append_or_release(command);
    if (waiting == 0 || waiting == INBOX_COMMANDS)
        commands_read(false);
}

void commands_forget_kernel(cl_kernel kernel)
{
    if (__atomic_load_n(place_of(kernel), __ATOMIC_RELAXED) >> NUMBER_BITS == (uintptr_t)kernel)
        __atomic_store_n(place_of(kernel), 0, __ATOMIC_RELAXED);
}

static cl_ulong profiled(cl_event event, cl_uint name)
{
    cl_ulong ns = 0;
    return NEXT_CL(clGetEventProfilingInfo)(event, name, sizeof ns, &ns, NULL) == OPENCL_OK ? ns : 0;
}

static void read_times(struct command *command)
{
    uint64_t now_ns = monotonic_ns();
    unsigned lane = command->lane;
    cl_ulong start = profiled(command->event, PROFILING_START), end = profiled(command->event, PROFILING_END);
    if (start == 0 || end < start)
        return;
    if (clock_is_due(lane, now_ns)) {
        cl_ulong queued = profiled(command->event, PROFILING_QUEUED);
        clock_bound(lane, queued != 0 ? queued : start, command->before_ns, queued != 0 ? command->after_ns : now_ns);
    }
    command->start_ns = clock_convert(lane, start);
    command->end_ns = clock_convert(lane, end);
    command->has_times = command->start_ns + SLACK_NS >= command->before_ns && command->end_ns <= now_ns + SLACK_NS;
}

/* Return OPENCL_COMPLETE, more while a command runs, or less if it has failed. */
static cl_int status_of(const struct command *command)
{
    cl_int status = OPENCL_COMPLETE;
    cl_int result = NEXT_CL(clGetEventInfo)(command->event, EVENT_STATUS, sizeof status, &status, NULL);
    return result == OPENCL_OK ? status : result;
}

/* Whether a command has ended, well or not; then its times are read and its event is released. `is_complete`: it has.
 */
static bool has_ended(struct command *command, bool is_complete)
{
    cl_int status = is_complete ? OPENCL_COMPLETE : status_of(command);
    if (status > OPENCL_COMPLETE)
        return false;
    command->has_times = false;
    if (status == OPENCL_COMPLETE)
        read_times(command);
    NEXT_CL(clReleaseEvent)(command->event);
    return true;
}

static void add(const struct command *command)
{
    bool is_kernel = command->kind == SUM_KERNEL;
    gpu_count(&gpu_totals.kernels, is_kernel);
    if (!command->has_times) {
        gpu_count(&gpu_totals.incomplete, is_kernel);
        return;
    }
    const struct device_work work = {.start_ns = command->start_ns,
                                     .end_ns = command->end_ns,
                                     .bytes = command->bytes,
                                     .correlation = command->correlation,
                                     .what = command->what,
                                     .stream = command->stream,
                                     .device = command->lane,
                                     .kind = command->kind};
    launches_add(&work);
}

/* Add up to BATCH commands to the sums, and let them be used again. Returns those that are left. */
static struct command *add_batch(struct queue *queue, struct command *ended)
{
    for (int i = 0; i < BATCH && ended != NULL; i++) {
        struct command *command = ended;
        ended = command->next;
        add(command);
        command->next = unused;
        unused = command;
        queue->count--;
    }
    return ended;
}

/* Move the commands that have ended from a list to another one, in their order. `is_complete`: all have. Returns the
 * last of those that are left. */
static struct command *separate(struct command **list, struct command **ended, bool is_complete, bool is_out_of_order,
                                bool waits)
{
    struct command *last = NULL;
    int running = 0;
    bool goes_on = true;
    for (struct command **at = list; *at != NULL;) {
        struct command *command = *at;
        if (goes_on && has_ended(command, is_complete)) {
            *at = command->next;
            command->next = NULL;
            *ended = command;
            ended = &command->next;
            continue;
        }
        goes_on = goes_on && is_out_of_order && (waits || ++running < MOST_RUNNING);
        last = command;
        at = &command->next;
    }
    return last;
}

/* The queue stays in the table meanwhile, because `count` includes the commands that are being read. */
static void read_queue(struct queue *queue, bool waits)
{
    struct command *ended = NULL;
    uint64_t mask = gpu_lock();
    struct command *list = queue->first, *newest = queue->last;
    bool is_out_of_order = queue->is_out_of_order;
    queue->first = queue->last = NULL;
    gpu_unlock(mask);
    bool is_complete = newest != NULL && !is_out_of_order && status_of(newest) == OPENCL_COMPLETE;
    struct command *last = separate(&list, &ended, is_complete, is_out_of_order, waits);
    bool is_last = false;
    while (!is_last) {
        mask = gpu_lock();
        ended = add_batch(queue, ended);
        is_last = ended == NULL;
        if (is_last && last != NULL) {
            last->next = queue->first;
            queue->first = list;
            queue->last = queue->last == NULL ? last : queue->last;
        }
        gpu_unlock(mask);
    }
}

void commands_read(bool waits)
{
    empty_inboxes();
    for (int attempts = waits ? ATTEMPTS : 0; __atomic_exchange_n(&is_reading, true, __ATOMIC_ACQUIRE); attempts--) {
        if (attempts == 0)
            return;
        sched_yield();
    }
    for (struct queue *queue = queue_next(NULL); queue != NULL; queue = queue_next(queue))
        if (__atomic_load_n(&queue->count, __ATOMIC_RELAXED) > 0)
            read_queue(queue, waits);
    __atomic_store_n(&is_reading, false, __ATOMIC_RELEASE);
    trace_report();
}
