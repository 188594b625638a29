/* Requirements on the C library beyond C11 and POSIX.1-2008, with the first version of each; and constants of the
 * kernel's headers, which may be missing (musl-gcc finds none, old ones lack the newer calls).
 *
 *                            glibc    musl
 *   getauxval                2.16     1.1.0    <sys/auxv.h>
 *   RTLD_NOLOAD, _NODELETE   2.2      0.9.8    <dlfcn.h>: LDMS alone; a static musl program has no dlopen that loads
 *   SYS_*                    2.2      0.5.0    <sys/syscall.h>
 *   pthread_* without -pthread, dlopen without -ldl   2.34   always
 *   strerrorname_np          2.32     -        not asked for: log.h has the names
 *   _dl_find_object          2.35     -        not asked for: modules.h has the load map
 *   memchr as a macro        2.43     -        <string.h>: string.c takes it away
 *   __register_atfork        2.3.2    -        weak
 *   __cxa_at_quick_exit      2.10     -        weak
 *   on_exit, __sigaction, __libc_stack_end     2.0      -        weak: libincprof alone
 *
 * The oldest supported glibc is 2.28. libappekg requires nothing else. libincprof replaces glibc's gprof runtime, and
 * does nothing with other C libraries: symbols missing in musl are weak, so that its loader can load the library into a
 * program started below a recorded one.
 */
#ifndef RUNTIME_LIBC_H
#define RUNTIME_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "sys.h"

/* Linux 5.3, 5.6 and 5.9. */
#define SYS_PIDFD_OPEN 434
#define SYS_PIDFD_GETFD 438
#define SYS_CLOSE_RANGE 436

/* <linux/futex.h>: Linux 2.6.28 */
enum { FUTEX_PRIVATE = 128, FUTEX_WAKE_ONE_PROCESS = 1 | FUTEX_PRIVATE, FUTEX_WAIT_UNTIL = 9 | FUTEX_PRIVATE };
#define FUTEX_ANY_BIT 0xffffffffu

/* <linux/membarrier.h>: Linux 4.14 */
enum { MEMBARRIER_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_EXPEDITED = 1 << 4 };

/* <linux/capability.h>: Linux 2.6.26 */
#define CAPABILITY_VERSION 0x20080522
struct capability_header {
    uint32_t version;
    int pid;
};
struct capability_data {
    uint32_t effective, permitted, inheritable;
};

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library)
    __attribute__((weak));
extern int __cxa_at_quick_exit(void (*function)(void), void *library) __attribute__((weak));

/* Like pthread_atfork; false if that fails, or with another C library. For a library that is never unloaded. */
static inline bool libc_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork != NULL && __register_atfork(prepare, parent, child, NULL) == 0;
}

/* Like at_quick_exit, for a library that is never unloaded. */
static inline void libc_at_quick_exit(void (*function)(void))
{
    if (__cxa_at_quick_exit != NULL)
        __cxa_at_quick_exit(function, NULL);
}

/* Futexes: waiting for a word to change, for threads unknown to libc, and between those and others. */
static inline void futex_wake(const uint32_t *word)
{
    SYS3(SYS_futex, word, FUTEX_WAKE_ONE_PROCESS, INT32_MAX);
}

/* Wait while the word holds `value`, until the deadline (CLOCK_MONOTONIC) at the latest. Returns whether it has
 * changed. */
static inline bool futex_wait(const uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    const struct timespec deadline = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        if (SYS6(SYS_futex, word, FUTEX_WAIT_UNTIL, value, &deadline, NULL, FUTEX_ANY_BIT) == -ETIMEDOUT)
            return __atomic_load_n(word, __ATOMIC_ACQUIRE) != value;
    return true;
}

#endif
