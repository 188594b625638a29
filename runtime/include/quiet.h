/* Files have limits and pipes break: the signals by which the kernel tells the writing thread are not for a program
 * that has not written anything. Async-signal-safe and thread-safe. */
#ifndef RUNTIME_QUIET_H
#define RUNTIME_QUIET_H

#include <signal.h>
#include <stdint.h>

#include "sys.h"

#define QUIET_SIGNALS ((uint64_t)1 << (SIGXFSZ - 1) | (uint64_t)1 << (SIGPIPE - 1))

struct quiet {
    uint64_t mask, pending; /* as they were */
};

static inline struct quiet quiet_begin(void)
{
    const uint64_t ours = QUIET_SIGNALS;
    struct quiet quiet = {0, 0};
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &quiet.mask, sizeof ours);
    SYS2(SYS_rt_sigpending, &quiet.pending, sizeof quiet.pending);
    return quiet;
}

static inline void quiet_end(struct quiet quiet)
{
    const struct timespec none = {0, 0};
    const uint64_t ours = QUIET_SIGNALS & ~quiet.pending;
    while (ours != 0 && SYS4(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof ours) > 0)
        ;
    sys_set_signal_mask(quiet.mask);
}

#endif
