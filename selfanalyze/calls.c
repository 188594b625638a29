/* Thread safety: `owner` is atomic, and set from 0 by the thread that becomes the watched one; its destructor sets it
 * back. depth, watched and tid are each thread's own. The key is made before main. */
#define _GNU_SOURCE
#include "openmp.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "functions.h"
#include "libc.h"
#include "regions.h"
#include "session.h"
#include "sys.h"

static __thread int depth;    /* number of open regions of this thread */
static __thread bool watched; /* this thread's outermost one is being timed */
static __thread int tid;

static int owner; /* the thread that starts regions, or 0 */
static pthread_key_t end_key;
static bool has_key, follows_forks;

/* Release the watched role; the next thread that starts a region takes it. */
static void on_thread_end(void *unused)
{
    (void)unused;
    loops_break();
    __atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
}

/* In a forked child no thread is watched. */
static void fork_child(void)
{
    owner = 0;
    tid = 0;
    watched = false;
}

static __attribute__((constructor)) void at_load(void)
{
    has_key = pthread_key_create(&end_key, on_thread_end) == 0;
    follows_forks = libc_at_fork(NULL, NULL, fork_child);
}

/* Return the thread's id, with the system call only once per thread. */
static int own_tid(void)
{
    if (tid == 0)
        tid = (int)SYS0(SYS_gettid);
    return tid;
}

bool calls_own(void)
{
    int now = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
    if (now == own_tid())
        return session_is_on();
    int none = 0;
    if (now != 0 || !follows_forks || !session_start() ||
        !__atomic_compare_exchange_n(&owner, &none, own_tid(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    if (has_key)
        pthread_setspecific(end_key, &owner);
    return true;
}

void calls_enter(const void *function, unsigned int threads, const void *caller)
{
    if (depth++ > 0)
        return;
    int saved_errno = errno;
    watched = calls_own();
    if (watched)
        loops_enter(functions_find(function), (int)threads, caller);
    else if (openmp_level(caller) == 0)
        loops_count_other();
    errno = saved_errno;
}

void calls_leave(void)
{
    if (--depth > 0 || !watched)
        return;
    loops_leave();
    watched = false;
}
