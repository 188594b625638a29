#define _GNU_SOURCE
#include "blocked_thread.h"

#include <linux/futex.h>
#include <poll.h>

#include "peek.h"
#include "python.h"
#include "sys.h"

#define MOST_SELECTED 1024 /* descriptors of a select */
#define HOLDER_AT 8        /* glibc's mutex: the holder's thread id behind the word that others wait for */

/* Python's global lock, from 3.11 to 3.14: the state of its last holder, whether it is held, a count and the condition
 * that others wait for. The futex is one of two words in the condition, whose layout depends on the C library. */
#define CONDITION_BYTES 48
#define HOLDER_BEFORE 24
#define HELD_BEFORE 16

/* Return 1 + the number of the thread that holds Python's global lock, if the futex belongs to its condition; 0: not,
 * or not held. Each word that may be the pointer to a thread's state is tried: only a state has the id of a thread of
 * this process at its place. */
static uint32_t global_lock_holder(const struct blocked_process *process, uint64_t futex)
{
    const struct python *python = python_current();
    uint64_t words[(HOLDER_BEFORE + CONDITION_BYTES) / 8];
    uint64_t first = (futex & ~(uint64_t)7) - sizeof words + 8;
    if (python == NULL || python->layout.thread_number == 0 || futex < sizeof words ||
        !peek(words, first, sizeof words))
        return 0;
    for (size_t i = sizeof words / 8 - 1 - HOLDER_BEFORE / 8; i < sizeof words / 8; i--) {
        uint64_t id;
        bool is_held = (uint32_t)words[i + (HOLDER_BEFORE - HELD_BEFORE) / 8] == 1;
        if (!is_held || words[i] < 4096 || words[i] % 8 != 0 ||
            !peek(&id, words[i] + python->layout.thread_number, sizeof id))
            continue;
        uint32_t number = id <= INT32_MAX ? process->thread_number((pid_t)id) : 0;
        if (number != 0)
            return number;
    }
    return 0;
}

uint32_t wait_lock_holder(const struct blocked_process *process, const struct task_call *call)
{
    int32_t words[HOLDER_AT / 4 + 1];
    uint32_t number = 0;
    if (call->number != SYS_futex)
        return 0;
    switch (call->arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (peek(words, call->arguments[0], sizeof words))
            number = process->thread_number(words[HOLDER_AT / 4]);
        return number != 0 ? number : global_lock_holder(process, call->arguments[0]);
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
