/* Thread safety: put_count and take_count are each written by one side, the interval thread and the sender; messages in
 * the ring are passed by atomic exchange, so that either side may take a message, and only one gets it. The other
 * counters are atomic. messages_forget runs in a forked child, which has neither thread. No locks. */
#define _GNU_SOURCE
#include "ldms.h"

#include <string.h>

#include "libc.h"
#include "sys.h"

static struct message *ring[MESSAGES];
static uint32_t put_count;  /* by the interval thread */
static uint32_t take_count; /* by the sender */
static uint32_t waiting;    /* messages in the ring */
static uint32_t sequence;   /* a futex: changes with each event */
static uint64_t lost;

void message_free(struct message *message)
{
    if (message != NULL)
        sys_free(message, sizeof *message + message->length);
}

/* Return a copy of the text; NULL if out of memory. */
static struct message *copy_of(const struct buffer *text)
{
    struct message *message = text->failed ? NULL : sys_alloc(sizeof *message + text->length + 1);
    if (message == NULL)
        return NULL;
    message->length = text->length + 1;
    memcpy(message->text, text->data, text->length);
    return message;
}

void messages_put(const struct buffer *text)
{
    struct message *message = copy_of(text);
    if (message == NULL) {
        messages_count_lost();
        return;
    }
    __atomic_add_fetch(&waiting, 1, __ATOMIC_RELAXED);
    struct message *oldest = __atomic_exchange_n(&ring[put_count % MESSAGES], message, __ATOMIC_ACQ_REL);
    __atomic_store_n(&put_count, put_count + 1, __ATOMIC_RELEASE);
    if (oldest != NULL) {
        message_free(oldest);
        __atomic_sub_fetch(&waiting, 1, __ATOMIC_RELAXED);
        messages_count_lost();
    }
    messages_wake();
}

/* Slots that the interval thread has overtaken hold newer messages: the first is the oldest remaining one. */
struct message *messages_take(void)
{
    uint32_t end = __atomic_load_n(&put_count, __ATOMIC_ACQUIRE);
    if (end - take_count > MESSAGES)
        take_count = end - MESSAGES;
    while (take_count != end) {
        struct message *message = __atomic_exchange_n(&ring[take_count++ % MESSAGES], NULL, __ATOMIC_ACQ_REL);
        if (message == NULL)
            continue;
        __atomic_sub_fetch(&waiting, 1, __ATOMIC_RELAXED);
        return message;
    }
    return NULL;
}

uint32_t messages_sequence(void)
{
    return __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
}

void messages_wait(uint32_t value, uint64_t deadline_ns)
{
    futex_wait(&sequence, value, deadline_ns);
}

void messages_wake(void)
{
    __atomic_add_fetch(&sequence, 1, __ATOMIC_RELEASE);
    futex_wake(&sequence);
}

uint32_t messages_count(void)
{
    return __atomic_load_n(&waiting, __ATOMIC_ACQUIRE);
}

uint64_t messages_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

void messages_count_lost(void)
{
    __atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
}

void messages_forget(void)
{
    for (uint32_t i = 0; i < MESSAGES; i++)
        message_free(ring[i]);
    memset(ring, 0, sizeof ring);
    put_count = take_count = waiting = 0;
    lost = 0;
}
