/* Who may touch what: all of it is the interval thread's; lookout_start runs before that is made. */
#define _GNU_SOURCE
#include "lookout.h"

#include <signal.h>

#include "buffer.h"
#include "credentials.h"
#include "log.h"
#include "sys.h"
#include "tasks.h"
#include "writer.h"

#define LOOK_PERIOD_NS 500000000u
#define CONFIRM_PERIOD_NS 50000000u
#define LEAST_STATUS_BYTES 4096
#define CONFIRMATIONS 2 /* that no thread of the application is left */

static uint64_t next_look_ns;
static int seen_alone;
static bool was_left_by_the_first; /* and others were still there */
static struct buffer status, own_status;

/* Memory is had now: the program may allow itself no more later (RLIMIT_AS), and must end all the same. */
void lookout_start(void)
{
    status.length = 0;
    status.failed = false;
    buffer_reserve(&status, LEAST_STATUS_BYTES);
    next_look_ns = monotonic_ns() + LOOK_PERIOD_NS;
    seen_alone = 0;
    was_left_by_the_first = false;
    own_status.length = 0;
}

uint64_t lookout_due_ns(void)
{
    return next_look_ns;
}

static bool is_worker(const char *tid, const char *of)
{
    (void)tid;
    return task_is_worker(of);
}

/* Whether threads of the application are left: 0 or 1, or less where that cannot be told. */
static int find_others(void)
{
    if (!task_read("self/status", &status))
        return -1;
    if (!task_has_ended((const char *)status.data))
        return 1;
    int others = task_find(is_worker, &status);
    was_left_by_the_first = was_left_by_the_first || others == 1;
    return others;
}

/* A program may allow itself as many descriptors as this thread has, and no more (RLIMIT_NOFILE): for a look, two of
 * those that are kept busy (worker.c) are free. */
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

/* Looks what has become of the application: without this thread it may have ended, in a way that libc knows nothing of,
 * or may be somebody else by now. The first thread stands for all of them, as long as it is there. False if the
 * recording has to end. */
static bool look(void)
{
    free_spare_files();
    int others = find_others();
    keep_spare_files();
    if (others < 0)
        return true;
    seen_alone = others == 0 ? seen_alone + 1 : 0;
    if (others != 1)
        return seen_alone < CONFIRMATIONS;
    enum credentials followed = credentials_follow(&own_status, (const char *)status.data);
    if (followed == CREDENTIALS_CHANGED)
        writer_follow();
    if (followed != CREDENTIALS_REFUSED)
        return true;
    log_warn("cannot become the user that the program is now, recording stops here", NULL);
    return false;
}

/* It takes some 50 us, most often because what it needs is not in the processor's cache. */
bool lookout_goes_on(bool at_once)
{
    uint64_t now_ns = monotonic_ns();
    if (!at_once && now_ns < next_look_ns)
        return true;
    bool goes_on = look();
    next_look_ns = now_ns + (seen_alone > 0 ? CONFIRM_PERIOD_NS : LOOK_PERIOD_NS);
    return goes_on;
}

bool lookout_is_alone(void)
{
    return seen_alone > 0;
}

/* The kernel takes the exit code of a process from the thread that ends last (before Linux 5.17, from the first one):
 * as if that had been the application's. Of several that have ended after the first one, libc's threads end with 0. */
int lookout_exit_code(void)
{
    free_spare_files();
    if (seen_alone == 0) /* ended for another reason, and perhaps as the last one */
        seen_alone = find_others() == 0;
    int code = seen_alone == 0 || was_left_by_the_first ? 0 : task_first_exit_code(&status);
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
