/* Commands on their way from the threads that enqueued them to the list of commands.c: a launch takes no lock, and
 * makes no system call.
 *
 * Thread safety: a thread puts its commands into an inbox of its own, unless many share one. It marks it as busy
 * meanwhile: who finds it so, as a signal handler of the thread, or the thread itself if a handler never returned, uses
 * the next one. `written` publishes a command. Commands are taken under gpu_lock. Async-signal-safe. */
#define _GNU_SOURCE
#include "opencl_layer.h"

#define INBOXES 64u

static struct inbox {
    bool is_busy;
    uint32_t written, taken; /* commands since the beginning */
    struct command commands[INBOX_COMMANDS];
} inboxes[INBOXES];
static uint32_t used; /* by threads, each of which has its number */
static __thread uint32_t own;

uint32_t inboxes_put(const struct command *command)
{
    if (own == 0)
        own = __atomic_add_fetch(&used, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < INBOXES; i++) {
        struct inbox *inbox = &inboxes[(own + i) % INBOXES];
        if (__atomic_exchange_n(&inbox->is_busy, true, __ATOMIC_ACQUIRE))
            continue;
        uint32_t waiting = inbox->written - __atomic_load_n(&inbox->taken, __ATOMIC_ACQUIRE);
        bool has_room = waiting < INBOX_COMMANDS;
        if (has_room)
            inbox->commands[inbox->written % INBOX_COMMANDS] = *command;
        __atomic_store_n(&inbox->written, inbox->written + has_room, __ATOMIC_RELEASE);
        __atomic_store_n(&inbox->is_busy, false, __ATOMIC_RELEASE);
        return has_room ? waiting + 1 : 0;
    }
    return 0;
}

void inboxes_take(bool (*take)(const struct command *command))
{
    for (struct inbox *inbox = inboxes; inbox < inboxes + INBOXES; inbox++)
        while (inbox->taken != __atomic_load_n(&inbox->written, __ATOMIC_ACQUIRE) &&
               take(&inbox->commands[inbox->taken % INBOX_COMMANDS]))
            __atomic_store_n(&inbox->taken, inbox->taken + 1, __ATOMIC_RELEASE);
}
