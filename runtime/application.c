/* Thread safety: all of it belongs to the interval thread; application_start runs before that is created. */
#define _GNU_SOURCE
#include "spawn.h"

#include <signal.h>

#include "buffer.h"
#include "log.h"
#include "output.h"
#include "sys.h"
#include "tasks.h"

#define CHECK_PERIOD_NS 500000000u
#define CONFIRM_PERIOD_NS 50000000u
#define LEAST_STATUS_BYTES 4096
#define CONFIRMATIONS 2 /* number of checks without a thread of the application before it counts as ended */

static uint64_t next_check_ns;
static int checks_alone;
static bool first_thread_left; /* while others still existed */
static struct buffer status, own_status;

/* Allocate memory now: the program may limit it later (RLIMIT_AS), and must still end correctly. */
void application_start(void)
{
    status.length = 0;
    status.failed = false;
    buffer_reserve(&status, LEAST_STATUS_BYTES);
    next_check_ns = monotonic_ns() + CHECK_PERIOD_NS;
    checks_alone = 0;
    first_thread_left = false;
    own_status.length = 0;
}

uint64_t application_due_ns(void)
{
    return next_check_ns;
}

static bool is_worker(const char *tid, const char *of)
{
    (void)tid;
    return task_is_worker(of);
}

/* Return whether threads of the application are left: 0 or 1, or negative if that cannot be determined. */
static int find_others(void)
{
    if (!task_read("self/status", &status))
        return -1;
    if (!task_has_ended((const char *)status.data))
        return 1;
    int others = task_find(is_worker, &status);
    first_thread_left = first_thread_left || others == 1;
    return others;
}

/* Free two of the reserved descriptors (worker.c) for a check: the program may limit descriptors to the number that
 * this thread has (RLIMIT_NOFILE). */
static void free_spare_files(void)
{
    sys_close(0);
    sys_close(1);
}

static void keep_spare_files(void)
{
    for (int i = 0; i < 2; i++)
        sys_open("/dev/null", O_RDWR, 0);
}

/* Check the application: all its threads may have ended without libc, or may have changed their user. The first thread
 * represents all of them while it exists. False if the recording has to end. */
static bool check(void)
{
    free_spare_files();
    int others = find_others();
    keep_spare_files();
    if (others < 0)
        return true;
    checks_alone = others == 0 ? checks_alone + 1 : 0;
    if (others != 1)
        return checks_alone < CONFIRMATIONS;
    enum credentials followed = credentials_follow(&own_status, (const char *)status.data);
    if (followed == CREDENTIALS_CHANGED)
        writer_follow();
    if (followed != CREDENTIALS_REFUSED)
        return true;
    log_warn("cannot become the user that the program is now, recording stops here", NULL);
    return false;
}

/* A check takes some 50 us, mostly because its data is not in the processor's cache. */
bool application_continues(bool at_once)
{
    uint64_t now_ns = monotonic_ns();
    if (!at_once && now_ns < next_check_ns)
        return true;
    bool goes_on = check();
    next_check_ns = now_ns + (checks_alone > 0 ? CONFIRM_PERIOD_NS : CHECK_PERIOD_NS);
    return goes_on;
}

bool application_is_alone(void)
{
    return checks_alone > 0;
}

/* The kernel takes a process's exit code from the thread that ends last (before Linux 5.17, from the first one), so
 * this thread ends like the application's last one. If several have ended after the first one: libc's threads end with
 * 0. */
int application_exit_code(void)
{
    free_spare_files();
    if (checks_alone == 0) /* ended for another reason, perhaps as the last thread */
        checks_alone = find_others() == 0;
    int code = checks_alone == 0 || first_thread_left ? 0 : task_first_exit_code(&status);
    int signal = code & 0x7f;
    if (signal == 0)
        return code >> 8 & 0xff;
    const uint64_t by_default[4] = {(uint64_t)(uintptr_t)SIG_DFL}; /* handler, flags, restorer, mask */
    const uint64_t mask = (uint64_t)1 << (signal - 1);
    SYS4(SYS_rt_sigaction, signal, by_default, NULL, sizeof mask);
    SYS4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask);
    SYS3(SYS_tgkill, SYS0(SYS_getpid), SYS0(SYS_gettid), signal);
    return 0;
}
