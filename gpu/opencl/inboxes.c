/* Commands on their way from the threads that enqueued them to the list of commands.c: a launch takes no lock, and
 * makes no system call.
 *
 * Thread safety: only its owner writes to an inbox, and `written` publishes a command. Commands are taken under
 * gpu_lock. A signal handler that launches while its thread puts a command in finds `is_busy`, and does without the
 * inbox; so does the thread from then on, if the handler never returns. Inboxes stay where they are, and the inbox of a
 * thread that has ended goes to another thread. */
#define _GNU_SOURCE
#include <pthread.h>

#include "opencl_layer.h"
#include "sys.h"

struct inbox {
    struct inbox *next;
    bool is_owned;
    bool is_busy;
    uint32_t written, taken; /* commands since the beginning */
    struct command commands[INBOX_COMMANDS];
};

static struct inbox *inboxes;
static pthread_key_t at_exit;
static bool is_started;
static __thread struct inbox *own;

/* A thread ends. Its commands are still taken. */
static void give_up(void *given)
{
    struct inbox *inbox = given;
    own = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&inbox->is_owned, false, __ATOMIC_RELEASE);
}

void inboxes_start(void)
{
    is_started = pthread_key_create(&at_exit, give_up) == 0;
}

/* Return an inbox without an owner. Under the lock. */
static struct inbox *find_free(void)
{
    for (struct inbox *inbox = inboxes; inbox != NULL; inbox = inbox->next)
        if (!__atomic_load_n(&inbox->is_owned, __ATOMIC_ACQUIRE))
            return inbox;
    struct inbox *inbox = sys_alloc(sizeof *inbox);
    if (inbox != NULL) {
        inbox->next = inboxes;
        inboxes = inbox;
    }
    return inbox;
}

static __attribute__((noinline)) struct inbox *open_own(void)
{
    if (!is_started)
        return NULL;
    /* Signals stay blocked until the thread has its inbox. */
    uint64_t signals = sys_block_signals();
    uint64_t mask = gpu_lock();
    struct inbox *inbox = find_free();
    if (inbox != NULL) {
        inbox->is_owned = true;
        inbox->is_busy = false;
    }
    gpu_unlock(mask);
    if (inbox != NULL && pthread_setspecific(at_exit, inbox) != 0) {
        give_up(inbox);
        inbox = NULL;
    }
    own = inbox;
    sys_set_signal_mask(signals);
    return inbox;
}

uint32_t inboxes_put(const struct command *command)
{
    struct inbox *inbox = own != NULL ? own : open_own();
    if (inbox == NULL || inbox->is_busy)
        return 0;
    inbox->is_busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t waiting = inbox->written - __atomic_load_n(&inbox->taken, __ATOMIC_ACQUIRE);
    bool has_room = waiting < INBOX_COMMANDS;
    if (has_room) {
        inbox->commands[inbox->written % INBOX_COMMANDS] = *command;
        __atomic_store_n(&inbox->written, inbox->written + 1, __ATOMIC_RELEASE);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    inbox->is_busy = false;
    return has_room ? waiting + 1 : 0;
}

void inboxes_take(bool (*take)(const struct command *command))
{
    for (struct inbox *inbox = inboxes; inbox != NULL; inbox = inbox->next)
        while (inbox->taken != __atomic_load_n(&inbox->written, __ATOMIC_ACQUIRE) &&
               take(&inbox->commands[inbox->taken % INBOX_COMMANDS]))
            __atomic_store_n(&inbox->taken, inbox->taken + 1, __ATOMIC_RELEASE);
}
