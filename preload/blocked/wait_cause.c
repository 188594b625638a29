#define _GNU_SOURCE
#include "blocked_thread.h"

#include <linux/futex.h>
#include <poll.h>

#include "peek.h"
#include "sys.h"

#define MOST_SELECTED 1024 /* descriptors of a select */
#define HOLDER_AT 8        /* glibc's mutex: the holder's thread id behind the word that others wait for */

uint32_t wait_lock_holder(const struct blocked_process *process, const struct task_call *call)
{
    int32_t words[HOLDER_AT / 4 + 1];
    if (call->number != SYS_futex)
        return 0;
    switch (call->arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return peek(words, call->arguments[0], sizeof words) ? process->thread_number(words[HOLDER_AT / 4]) : 0;
    case FUTEX_LOCK_PI:
        return peek(words, call->arguments[0], sizeof words[0]) ? process->thread_number(words[0] & FUTEX_TID_MASK) : 0;
    default:
        return 0;
    }
}

/* Return what the first descriptor of a select's sets is. */
static enum wait_object selected(struct thread_waits *waits, pid_t tid, const struct task_call *call)
{
    uint64_t words[MOST_SELECTED / 64];
    size_t count = call->arguments[0] < MOST_SELECTED ? (size_t)(call->arguments[0] + 63) / 64 : MOST_SELECTED / 64;
    for (int set = 1; set <= 3; set++) {
        if (call->arguments[set] == 0 || !peek(words, call->arguments[set], count * sizeof *words))
            continue;
        for (size_t i = 0; i < count; i++)
            if (words[i] != 0)
                return task_object(waits, tid, (int)(i * 64) + __builtin_ctzll(words[i]));
    }
    return OBJECT_NONE;
}

/* Return what the first descriptor of a poll is. */
static enum wait_object polled(struct thread_waits *waits, pid_t tid, const struct task_call *call)
{
    struct pollfd first;
    if (call->arguments[1] == 0 || !peek(&first, call->arguments[0], sizeof first))
        return OBJECT_NONE;
    return task_object(waits, tid, first.fd);
}

static bool takes_descriptor(int64_t number)
{
    static const uint16_t calls[] = {
        SYS_read,        SYS_write,     SYS_pread64,         SYS_pwrite64, SYS_readv,  SYS_writev,  SYS_preadv,
        SYS_pwritev,     SYS_recvfrom,  SYS_recvmsg,         SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
        SYS_accept,      SYS_accept4,   SYS_connect,         SYS_fsync,    SYS_ioctl,  SYS_flock,   SYS_fcntl,
        SYS_fdatasync,   SYS_fallocate, SYS_ftruncate,       SYS_lseek,    SYS_fstat,  SYS_splice,  SYS_getdents64,
        SYS_epoll_pwait, SYS_sendfile,  SYS_copy_file_range,
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (number == calls[i])
            return true;
    return false;
}

enum wait_object wait_object_of(struct thread_waits *waits, pid_t tid, const struct task_call *call)
{
    if (takes_descriptor(call->number))
        return task_object(waits, tid, (int)call->arguments[0]);
#ifdef SYS_select
    if (call->number == SYS_select)
        return selected(waits, tid, call);
#endif
    if (call->number == SYS_pselect6)
        return selected(waits, tid, call);
#ifdef SYS_poll
    if (call->number == SYS_poll)
        return polled(waits, tid, call);
#endif
    return call->number == SYS_ppoll ? polled(waits, tid, call) : OBJECT_NONE;
}
