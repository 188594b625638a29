/* Commands whose times have not been read. They are read when the program waits or releases a queue, and every so many
 * calls; by the threads of the program, so that the driver starts none for callbacks.
 *
 * Thread safety: lists and names are under gpu_lock. One thread at a time reads (`is_reading`): it takes the list of a
 * queue under the lock, calls the driver without it, and puts back the commands that have not ended. */
#define _GNU_SOURCE
#include <sched.h>

#include "opencl_layer.h"
#include "sys.h"

#define MOST_COMMANDS (1u << 16)
#define COMMANDS_OF_BLOCK 1024u
#define BATCH 256       /* commands, while the lock is held */
#define MOST_RUNNING 32 /* commands of one queue that are passed over, unless the program has waited */
#define EVERY 32        /* commands of a queue */
#define ATTEMPTS 10000
#define SLACK_NS ((uint64_t)1000000000) /* by which clocks may differ */
#define MOST_NAME 4001
#define RECENT_KERNELS 1024u

static struct command *unused;
static uint32_t allocated;
static bool is_reading;
static struct {
    cl_kernel kernel;
    uint32_t number;
} kernels[RECENT_KERNELS];

static uint32_t place_of(cl_kernel kernel)
{
    return (uint32_t)(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15u >> 40) % RECENT_KERNELS;
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

static bool append(cl_command_queue handle, const struct command *given, uint32_t *count)
{
    struct queue *queue = queue_find(handle);
    struct command *command = queue != NULL && queue->is_profiled ? allocate() : NULL;
    if (command == NULL)
        return false;
    *command = *given;
    command->next = NULL;
    command->lane = queue->lane;
    command->stream = queue->stream;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = command;
    queue->last = command;
    *count = ++queue->count;
    if (command->before_ns < gpu_outstanding_ns)
        gpu_outstanding_ns = command->before_ns;
    return true;
}

/* Find the name's number; false: it is not known yet. */
static bool name_of(cl_kernel kernel, uint32_t *number)
{
    *number = kernels[place_of(kernel)].number;
    return kernels[place_of(kernel)].kernel == kernel;
}

static void learn_name(cl_kernel kernel)
{
    char name[MOST_NAME] = "";
    NEXT_CL(clGetKernelInfo)(kernel, KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    uint64_t mask = gpu_lock();
    kernels[place_of(kernel)].number = kernel_name(name);
    kernels[place_of(kernel)].kernel = kernel;
    gpu_unlock(mask);
}

bool commands_add(cl_command_queue queue, const struct command *given, cl_kernel kernel)
{
    struct command command = *given;
    uint32_t count = 0;
    uint64_t mask = gpu_lock();
    if (kernel != NULL && !name_of(kernel, &command.what)) {
        gpu_unlock(mask);
        learn_name(kernel);
        mask = gpu_lock();
        name_of(kernel, &command.what);
    }
    bool is_known = queue_find(queue) != NULL;
    bool is_kept = append(queue, &command, &count);
    gpu_unlock(mask);
    if (!is_known) {
        queue_adopt(queue);
        mask = gpu_lock();
        is_kept = append(queue, &command, &count);
        gpu_unlock(mask);
    }
    if (count % EVERY == 0 && count > 0)
        commands_read(false);
    return is_kept;
}

void commands_forget_kernel(cl_kernel kernel)
{
    uint64_t mask = gpu_lock();
    if (kernels[place_of(kernel)].kernel == kernel)
        kernels[place_of(kernel)].kernel = NULL;
    gpu_unlock(mask);
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
    if (device_clock_is_due(lane, now_ns)) {
        cl_ulong queued = profiled(command->event, PROFILING_QUEUED);
        device_clock_bound(lane, queued != 0 ? queued : start, command->before_ns,
                           queued != 0 ? command->after_ns : now_ns);
    }
    command->start_ns = device_clock_convert(lane, start);
    command->end_ns = device_clock_convert(lane, end);
    command->has_times = command->start_ns + SLACK_NS >= command->before_ns && command->end_ns <= now_ns + SLACK_NS;
}

/* Whether a command has ended, well or not; then its times are read and its event is released. */
static bool has_ended(struct command *command)
{
    cl_int status = OPENCL_COMPLETE;
    cl_int result = NEXT_CL(clGetEventInfo)(command->event, EVENT_STATUS, sizeof status, &status, NULL);
    if (result == OPENCL_OK && status > OPENCL_COMPLETE)
        return false;
    command->has_times = false;
    if (result == OPENCL_OK && status == OPENCL_COMPLETE)
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
    const struct sum_key key = {
        .slot = command->start_ns / SLOT_NS, .what = command->what, .device = command->lane, .kind = command->kind};
    launches_add(command->correlation, &key, command->end_ns - command->start_ns, command->bytes);
    spans_add_work(command->lane, command->stream, command->start_ns, command->end_ns);
}

/* Add commands that have ended to the sums, and let them be used again. Returns their number. */
static uint32_t add_all(struct command *ended)
{
    uint32_t count = 0;
    while (ended != NULL) {
        uint64_t mask = gpu_lock();
        for (int i = 0; i < BATCH && ended != NULL; i++, count++) {
            struct command *command = ended;
            ended = command->next;
            add(command);
            command->next = unused;
            unused = command;
        }
        gpu_unlock(mask);
    }
    return count;
}

/* Move the commands that have ended from a list to another one. Returns the last of those that are left. */
static struct command *separate(struct command **list, struct command **ended, bool is_out_of_order, bool waits)
{
    struct command *last = NULL;
    int running = 0;
    bool goes_on = true;
    for (struct command **at = list; *at != NULL;) {
        struct command *command = *at;
        if (goes_on && has_ended(command)) {
            *at = command->next;
            *ended = (command->next = *ended, command);
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
    struct command *list = queue->first;
    bool is_out_of_order = queue->is_out_of_order;
    queue->first = queue->last = NULL;
    gpu_unlock(mask);
    struct command *last = separate(&list, &ended, is_out_of_order, waits);
    uint32_t count = add_all(ended);
    mask = gpu_lock();
    if (last != NULL) {
        last->next = queue->first;
        queue->first = list;
        queue->last = queue->last == NULL ? last : queue->last;
    }
    queue->count -= count;
    gpu_unlock(mask);
}

static void find_outstanding(void)
{
    uint64_t mask = gpu_lock();
    gpu_outstanding_ns = UINT64_MAX;
    for (const struct queue *queue = queue_next(NULL); queue != NULL; queue = queue_next(queue))
        if (queue->first != NULL && queue->first->before_ns < gpu_outstanding_ns)
            gpu_outstanding_ns = queue->first->before_ns;
    gpu_unlock(mask);
}

void commands_read(bool waits)
{
    for (int attempts = waits ? ATTEMPTS : 0; __atomic_exchange_n(&is_reading, true, __ATOMIC_ACQUIRE); attempts--) {
        if (attempts == 0)
            return;
        sched_yield();
    }
    for (struct queue *queue = queue_next(NULL); queue != NULL; queue = queue_next(queue))
        if (__atomic_load_n(&queue->count, __ATOMIC_RELAXED) > 0)
            read_queue(queue, waits);
    find_outstanding();
    __atomic_store_n(&is_reading, false, __ATOMIC_RELEASE);
}
