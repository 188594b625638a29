/* Thread safety: `state`, `paused`, `is_stalled`, `finalized_by` and `has_spawned` are atomic. The launch and the
 * directory are written before main; `about` by the first MPI call and by MPI_Init, before the writing thread exists.
 * No locks. */
#define _GNU_SOURCE
#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "coding.h"
#include "environment.h"
#include "fixed_text.h"
#include "lane.h"
#include "launch.h"
#include "libc.h"
#include "log.h"
#include "resolve.h"
#include "sys.h"
#include "worker.h"

/* OPEN from the first MPI call on, RUNNING when there is a file; OVER for good, in a forked child too. */
enum state { IDLE, OPEN, RUNNING, OVER };
enum { REQUEST_STOP = 1, REQUEST_WRITE, REQUEST_ABORT };

#define FLUSH_NS 250000000u /* the most that a killed process loses */

static int state;
static bool paused;
static struct launch launch;
static char directory[PATH_MAX - 64]; /* the requested one, absolute */
static struct about about = {.interval_ns = FLUSH_NS};
static bool is_stalled;    /* a wait for the writing thread has timed out */
static const char *how;    /* it ended */
static pid_t finalized_by; /* a thread, or 0 */
static bool has_spawned;   /* has called MPI_Comm_spawn */

static int get_state(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void set_state(int to)
{
    __atomic_store_n(&state, to, __ATOMIC_RELEASE);
}

static void fork_child(void)
{
    set_state(OVER);
    worker_forget();
    blocks_forget();
    lane_forget();
}

/* Return the directory's prefix: that of a profile recorded at the same time. */
static const char *prefix(void)
{
    const char *preloaded = environment_text("LD_PRELOAD");
    return preloaded != NULL && strstr(preloaded, "libincprof.so") != NULL ? "gmon" : "trace";
}

/* Read the settings before main, because the program may change its directory and its environment. */
static __attribute__((constructor)) void configure(void)
{
    log_start("incprof trace");
    environment_log_level("INCPROF_LOG");
    const char *given = environment_text("INCPROF_TRACE_DIR");
    about.start_ns = monotonic_ns();
    clock_prepare();
    counters_configure();
    stop_after_configure();
    if (given == NULL)
        given = environment_text("INCPROF_DIR");
    if (!launch_identify(&launch, environment_rank("INCPROF_RANK")) ||
        !launch_name_directory(&launch, given, prefix(), directory, sizeof directory) ||
        !libc_at_fork(NULL, NULL, fork_child))
        set_state(OVER);
}

void session_open(const char *mpi, const struct meeting *meeting)
{
    static char mpi_name[64]; /* a copy, because the wrappers may be unloaded */
    int idle = IDLE;
    stop_after_set_meeting(meeting);
    text_append(mpi_name, sizeof mpi_name, mpi);
    about.mpi = mpi_name;
    if (get_state() == IDLE)
        counters_choose();
    __atomic_compare_exchange_n(&state, &idle, OPEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool write_data(uint32_t request)
{
    bool last = request == REQUEST_STOP || request == REQUEST_ABORT || request == WORKER_END;
    bool on = blocks_write(&launch, &about, last ? (request == REQUEST_ABORT ? "abort" : how) : NULL) && !last;
    __atomic_store_n(&is_stalled, false, __ATOMIC_RELEASE);
    clock_adjust();
    if (!on)
        set_state(OVER);
    return on;
}

/* The writing thread. It creates the file at once. */
static void run(void)
{
    worker_write_regularly(monotonic_ns(), about.interval_ns, write_data);
}

static bool request_write(uint32_t request)
{
    return get_state() == RUNNING && worker_request(request, LONGEST_WAIT_NS);
}

/* Send a request briefly, for calls that the program may repeat. A stalled file system is waited for only once. */
static void request_within(uint64_t longest_ns)
{
    if (get_state() == RUNNING && !__atomic_load_n(&is_stalled, __ATOMIC_ACQUIRE) &&
        !worker_request(REQUEST_WRITE, longest_ns))
        __atomic_store_n(&is_stalled, true, __ATOMIC_RELEASE);
}

/* End the program. The lane stays busy, because MPI calls meanwhile are not the program's. */
static _Noreturn void stop(const char *why)
{
    how = "stopped";
    request_write(REQUEST_STOP);
    set_state(OVER);
    if (launch.rank == 0)
        log_warn(why, NULL);
    stop_after_end();
}

void incprof_mpi_started(int rank, int size, bool threads)
{
    if (get_state() != OPEN)
        return;
    if (threads)
        tables_share();
    about.shares_lanes = threads;
    how = "exit";
    launch.rank = rank; /* MPI's rank, if the launcher gives none */
    launch.ranks = size;
    if (!launch_claim_directory(&launch, directory, "trace")) {
        set_state(OVER);
        return;
    }
    clock_use_counter();
    set_state(RUNNING);
    if (!worker_start("incprof-trace", run)) {
        set_state(OVER);
        log_warn("cannot start the writing thread, nothing is traced", NULL);
    }
    if (!stop_after_started(rank, size))
        stop("ended at once: the signature is of another number of ranks (INCPROF_TRACE_UNTIL)");
}

/* Print the directory, one line for all ranks. */
static void report_directory(void)
{
    char line[PATH_MAX + 64] = "MPI trace written; show it with: incprof trace --show ";
    text_append(line, sizeof line, launch.directory);
    log_warn(line, NULL);
}

/* Print a note about spawned processes: the launcher starts them, with its environment. */
static void report_spawned(void)
{
    if (__atomic_load_n(&has_spawned, __ATOMIC_RELAXED))
        log_warn("programs that MPI_Comm_spawn started are traced only if incprof trace precedes the launcher", NULL);
}

static void report_lost(void)
{
    char line[160] = "";
    uint64_t lost = 0;
    for (const struct lane *lane = lane_last(); lane != NULL; lane = lane->below)
        lost += __atomic_load_n(&lane->lost, __ATOMIC_RELAXED);
    if (lost == 0)
        return;
    text_append_number(line, sizeof line, lost, 1);
    text_append(line, sizeof line, " calls are not in the trace: the file system did not respond or was too slow");
    log_warn(line, launch.directory);
}

static __attribute__((destructor(101))) void at_exit(void)
{
    bool has_traced = get_state() == RUNNING;
    if (get_state() == OPEN && launch.rank == 0)
        log_warn("MPI was used, but not MPI_Init: nothing is traced (sessions of MPI-4 cannot be)", NULL);
    if (request_write(REQUEST_STOP) && launch.rank == 0) {
        report_directory();
        report_spawned();
    }
    if (has_traced)
        report_lost();
}

/* Write the event. If the ring is full, wait briefly, and only if the writing thread has written since the last
 * wait. */
static void write_event(struct lane *lane)
{
    if (!coding_put(lane, about.start_ns)) {
        request_within(FLUSH_NS);
        if (!coding_put(lane, about.start_ns))
            coding_lose(lane);
    }
    if (ring_is_half_full(&lane->ring) || ring_is_half_full(&lane->counts))
        worker_notify(REQUEST_WRITE);
}

static void finish(struct lane *lane)
{
    struct event *event = &lane->event;
    if (!event->is_silent && get_state() != OVER)
        write_event(lane);
    if (event->function == FUNCTION_Comm_spawn || event->function == FUNCTION_Comm_spawn_multiple)
        __atomic_store_n(&has_spawned, true, __ATOMIC_RELAXED);
    if (stop_after_reached(event, launch.ranks) && stop_after_wait_ranks())
        stop("ended on purpose: all ranks have done as much as requested (INCPROF_TRACE_UNTIL)");
    if (lane->begins_pause)
        __atomic_store_n(&paused, true, __ATOMIC_RELAXED);
    lane->begins_pause = false;
    counts_begin_work(lane);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lane->is_busy = lane->is_left = false;
}

/* A longjmp runs the old-style cleanup handlers of the frames that it leaves. */
void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*handler)(void *), void *argument);
void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int execute);

static struct _pthread_cleanup_buffer *for_longjmp(struct unwind_guard *unwind_guard)
{
    _Static_assert(sizeof(struct _pthread_cleanup_buffer) == sizeof unwind_guard->for_longjmp, "");
    return (struct _pthread_cleanup_buffer *)(void *)unwind_guard->for_longjmp;
}

static void watch_no_more(struct unwind_guard *unwind_guard)
{
    _pthread_cleanup_pop(for_longjmp(unwind_guard), 0);
    unwind_guard->event = NULL;
}

/* This may run in a signal handler, so the thread's next call writes the event. */
void incprof_mpi_left(void *left)
{
    struct unwind_guard *unwind_guard = left;
    struct event *event = unwind_guard->event;
    watch_no_more(unwind_guard);
    if (event->start_ns == 0)
        incprof_mpi_begin(event);
    incprof_mpi_end(event, 1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lane_of_event(event)->is_left = true;
}

/* Return whether the thread is in no call, or has left its call. */
static bool is_free(struct lane *lane)
{
    if (lane->is_left) {
        finish(lane);
        lane->work_begin.is_valid = false; /* its begin was not observed */
    }
    return !lane->is_busy;
}

struct event *incprof_mpi_enter(struct unwind_guard *unwind_guard, uint32_t function, const void *return_address)
{
    int now = get_state();
    if (now != RUNNING && now != OPEN)
        return NULL;
    struct lane *lane = lane_of_thread();
    if (lane == NULL || !is_free(lane))
        return NULL;
    lane->is_busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    counts_end_work(lane);
    struct event *event = &lane->event;
    *event = (struct event){
        .function = function,
        .site = site_of_call(return_address),
        .is_silent = __atomic_load_n(&paused, __ATOMIC_RELAXED),
    };
    lane->completed.length = lane->started.length = 0;
    unwind_guard->event = event;
    _pthread_cleanup_push(for_longjmp(unwind_guard), incprof_mpi_left, unwind_guard);
    return event;
}

void incprof_mpi_begin(struct event *event)
{
    struct lane *lane = lane_of_event(event);
    event->start_ns = clock_now_ns();
    event->work_ns = cpu_clock_work(&lane->cpu, about.start_ns + lane->last_end_ns, event->start_ns);
}

void incprof_mpi_end(struct event *event, int result)
{
    event->end_ns = clock_now_ns();
    if (result != 0)
        event->fields |= HAS_FAILED;
    cpu_clock_settle(&lane_of_event(event)->cpu, event->end_ns);
}

void incprof_mpi_leave(struct unwind_guard *unwind_guard)
{
    struct event *event = unwind_guard->event;
    if (event == NULL)
        return;
    watch_no_more(unwind_guard);
    finish(lane_of_event(event));
}

void incprof_mpi_control(struct event *event, int level)
{
    lane_of_event(event)->begins_pause = level == 0;
    if (level == 0)
        return;
    __atomic_store_n(&paused, false, __ATOMIC_RELAXED);
    event->is_silent = false;
    if (level > 1)
        request_within(LONGEST_WAIT_NS);
}

void incprof_mpi_finalizing(struct event *event)
{
    (void)event;
    stop_after_finalizing();
}

/* A process that ends without running destructors has everything in the file all the same. */
void incprof_mpi_finalized(struct event *event)
{
    struct lane *lane = lane_of_event(event);
    if (!event->is_silent && get_state() == RUNNING)
        write_event(lane);
    event->is_silent = true;
    how = "finalize";
    request_write(REQUEST_WRITE);
    __atomic_store_n(&finalized_by, (pid_t)SYS0(SYS_gettid), __ATOMIC_RELEASE);
}

bool session_is_over_here(void)
{
    pid_t thread = __atomic_load_n(&finalized_by, __ATOMIC_ACQUIRE);
    return thread != 0 && thread == (pid_t)SYS0(SYS_gettid);
}

void incprof_mpi_aborting(struct event *event)
{
    struct lane *lane = lane_of_event(event);
    incprof_mpi_begin(event);
    incprof_mpi_end(event, 0);
    if (!event->is_silent && get_state() == RUNNING)
        write_event(lane);
    event->is_silent = true;
    request_write(REQUEST_ABORT);
}

void *incprof_mpi_room(struct event *event, int room, uint64_t bytes)
{
    struct buffer *buffer = &lane_of_event(event)->rooms[room];
    if (bytes > 0 && !buffer_reserve(buffer, bytes)) {
        buffer->failed = false;
        return NULL;
    }
    return buffer->data;
}
