#define _GNU_SOURCE
#include "lookout.h"

#include <signal.h>

#include "buffer.h"
#include "credentials.h"
#include "log.h"
#include "sys.h"
#include "tasks.h"

#define LOOK_PERIOD_NS 500000000u
#define CONFIRM_PERIOD_NS 50000000u
#define CONFIRMATIONS 2 /* that no thread of the application is left */

static uint64_t next_look_ns;
static int seen_alone;
static bool was_left_by_the_first; /* and others were still there */
static struct buffer status;

void lookout_start(void)
{
    next_look_ns = monotonic_ns() + LOOK_PERIOD_NS;
    seen_alone = 0;
    was_left_by_the_first = false;
    credentials_forget();
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

/* Looks what has become of the application: without this thread it may have ended, in a way that libc knows nothing of,
 * or may be somebody else by now. The first thread stands for all of them, as long as it is there. False if the
 * recording has to end. */
static bool look(void)
{
    int others = 1;
    if (!task_read("self/status", &status))
        return true;
    const char *text = (const char *)status.data;
    if (task_has_ended(text)) {
        others = task_find(is_worker, &status);
        text = (const char *)status.data;
        was_left_by_the_first = was_left_by_the_first || others == 1;
    }
    seen_alone = others == 0 ? seen_alone + 1 : 0;
    if (others != 1)
        return seen_alone < CONFIRMATIONS;
    if (credentials_follow(text))
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

/* The kernel takes the exit code of a process from the thread that ends last (before Linux 5.17, from the first one):
 * as if that had been the application's. Of several that have ended after the first one, libc's threads end with 0. */
int lookout_exit_code(void)
{
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
