/* Commands whose times have not been read. They are read when the program waits or releases a queue, and every so many
 * calls; by the threads of the program, so that the driver starts none for callbacks.
 *
 * Thread safety: commands are appended under gpu_lock; names are atomic. One thread at a time reads (`is_reading`)
 * those that are there when it begins: it calls the driver without the lock, and takes it to remove them. */
#define _GNU_SOURCE
#include <sched.h>

#include "opencl_layer.h"
#include "sys.h"

#define MOST_COMMANDS (1u << 16)
#define BATCH 256       /* commands, while the lock is held */
#define MOST_RUNNING 32 /* commands of one queue that are passed over, unless the program has waited */
#define ATTEMPTS 10000
#define SLACK_NS ((uint64_t)1000000000) /* by which clocks may differ */
#define MOST_NAME 4001
#define RECENT_KERNELS 1024u
#define NUMBER_BITS 13 /* of a kernel's name */

static struct command *commands;
static uint32_t count;
static bool is_reading;
static uint64_t kernels[RECENT_KERNELS]; /* handles, and the numbers of their names in the low bits */

static uint64_t *place_of(cl_kernel kernel)
{
    return &kernels[(uint32_t)(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15u >> 40) % RECENT_KERNELS];
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

static void find_queue(struct command *command)
{
    command->queue = queue_find(command->handle);
    if (command->queue != NULL) {
        command->work.device = command->queue->lane;
        command->work.stream = command->queue->stream;
        command->is_profiled = command->queue->is_profiled;
    }
}

/* Append a command; false: there are too many. Under the lock. */
static bool append(const struct command *command)
{
    if (commands == NULL)
        commands = sys_alloc_untouched(MOST_COMMANDS * sizeof *commands);
    if (commands == NULL || count == MOST_COMMANDS)
        return false;
    commands[count] = *command;
    find_queue(&commands[count++]);
    return true;
}

void commands_add(const struct command *command)
{
    uint32_t waiting = inboxes_put(command);
    if (waiting == 0) {
        uint64_t mask = gpu_lock();
        inboxes_take(append);
        bool is_kept = append(command);
        gpu_unlock(mask);
        if (!is_kept)
            NEXT_CL(clReleaseEvent)(command->event);
    }
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
    unsigned lane = command->work.device;
    cl_ulong start = profiled(command->event, PROFILING_START), end = profiled(command->event, PROFILING_END);
    if (start == 0 || end < start)
        return;
    if (clock_is_due(lane, now_ns)) {
        cl_ulong queued = profiled(command->event, PROFILING_QUEUED);
        clock_bound(lane, queued != 0 ? queued : start, command->before_ns, queued != 0 ? command->after_ns : now_ns);
    }
    command->work.start_ns = clock_convert(lane, start);
    command->work.end_ns = clock_convert(lane, end);
    command->has_times =
        command->work.start_ns + SLACK_NS >= command->before_ns && command->work.end_ns <= now_ns + SLACK_NS;
}

/* Return OPENCL_COMPLETE, more while a command runs, or less if it has failed. */
static cl_int status_of(const struct command *command)
{
    cl_int status = OPENCL_COMPLETE;
    cl_int result = NEXT_CL(clGetEventInfo)(command->event, EVENT_STATUS, sizeof status, &status, NULL);
    return result == OPENCL_OK ? status : result;
}

/* Read the times of a command that has ended, well or not, and release its event. `is_complete`: a newer one of its
 * queue is, unless another thread enqueued that before. */
static void end(struct command *command, bool is_complete)
{
    cl_int status = is_complete ? OPENCL_COMPLETE : status_of(command);
    if (status == OPENCL_COMPLETE)
        read_times(command);
    if (is_complete && !command->has_times)
        status = status_of(command);
    command->has_ended = status <= OPENCL_COMPLETE;
    if (command->has_ended)
        NEXT_CL(clReleaseEvent)(command->event);
}

/* Begin to read a queue, of which this is the newest command. If that is complete, so are all before it, in order. */
static void begin(struct queue *queue, const struct command *newest, bool waits)
{
    queue->is_begun = true;
    queue->is_complete = !queue->is_out_of_order && status_of(newest) == OPENCL_COMPLETE;
    queue->most_running = !queue->is_out_of_order ? 1 : waits ? MOST_COMMANDS : MOST_RUNNING;
}

static void adopt(struct command *command)
{
    queue_adopt(command->handle);
    uint64_t mask = gpu_lock();
    find_queue(command);
    gpu_unlock(mask);
}

/* Read the times of the first commands. A queue that is gone may have left its place to another one. */
static void read_first(uint32_t last, bool waits)
{
    for (struct command *command = commands + last; command-- > commands;) {
        if (command->queue == NULL)
            adopt(command);
        if (command->queue != NULL && command->queue->stream == command->work.stream && !command->queue->is_begun)
            begin(command->queue, command, waits);
    }
    for (struct command *command = commands; command < commands + last; command++) {
        struct queue *queue = command->queue;
        if (queue == NULL || !command->is_profiled) {
            NEXT_CL(clReleaseEvent)(command->event);
            command->has_ended = true;
        } else if (queue->stream != command->work.stream) {
            end(command, false);
        } else if (queue->most_running > 0) {
            end(command, queue->is_complete);
            queue->most_running -= !command->has_ended;
        }
    }
}

static void add(const struct command *command)
{
    bool is_kernel = command->work.kind == SUM_KERNEL;
    gpu_count(&gpu_totals.kernels, is_kernel);
    if (command->has_times)
        launches_add(&command->work);
    else
        gpu_count(&gpu_totals.incomplete, is_kernel);
}

/* Add those of the first commands that have ended to the sums, and remove them. Returns the number of the others. */
static uint32_t remove_first(uint32_t last)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < last;) {
        uint64_t mask = gpu_lock();
        for (uint32_t until = i + BATCH; i < until && i < last; i++) {
            if (commands[i].queue != NULL)
                commands[i].queue->is_begun = false;
            if (!commands[i].has_ended)
                commands[left++] = commands[i];
            else if (commands[i].is_profiled)
                add(&commands[i]);
        }
        if (i == last) {
            count -= last - left;
            memmove(commands + left, commands + last, (count - left) * sizeof *commands);
        }
        gpu_unlock(mask);
    }
    return left;
}

void commands_read(bool waits)
{
    static uint32_t left; /* running, at the last time */
    for (int attempts = waits ? ATTEMPTS : 0; __atomic_exchange_n(&is_reading, true, __ATOMIC_ACQUIRE); attempts--) {
        if (attempts == 0)
            return;
        sched_yield();
    }
    uint64_t mask = gpu_lock();
    inboxes_take(append);
    uint32_t last = count;
    gpu_unlock(mask);
    /* Where many run, all are passed over less often. */
    if (waits || last >= left + left / 4) {
        read_first(last, waits);
        left = remove_first(last);
    }
    __atomic_store_n(&is_reading, false, __ATOMIC_RELEASE);
    trace_report();
}
