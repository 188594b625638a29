/* Thread safety: `connection`, `events`, `stopping`, `stopped`, `holds` and `used` are atomic. on_event, in LDMS's
 * threads, writes the first two; the interval thread sets `stopping`. The rest belongs to the sender once it runs, and
 * before that to the thread that starts it. No locks. */
#define _GNU_SOURCE
#include "ldms.h"

#include <pthread.h>
#include <string.h>

#include "libc.h"
#include "log.h"
#include "sys.h"

#define SECOND_NS 1000000000u
#define FIRST_PAUSE_NS (SECOND_NS / 2) /* between attempts to connect; doubled each time */
#define LONGEST_PAUSE_NS ((uint64_t)60 * SECOND_NS)
#define QUOTA_PAUSE_NS (SECOND_NS / 20) /* the peer accepts no more for now */
#define LAST_EVENT_NS (SECOND_NS / 10)  /* LDMS sends in its own thread: time for that before the end */
#define IDLE_NS ((uint64_t)3600 * SECOND_NS)
#define MOST_ATTEMPTS 3 /* to send one message */

enum { CONNECTING, CONNECTED, BROKEN }; /* the last two bits of `connection` */

static struct ldms_api api;
static struct ldms_target target;
static struct ldms_transport *transport;
static uint32_t connection = BROKEN; /* a futex: number of the attempt to connect, and its state */
static uint32_t events;              /* a futex: number of events */
static uint32_t events_before;       /* value before the last message was sent */
static bool has_sent;
static uint32_t stopping;
static uint32_t stopped; /* a futex */
static uint64_t holds;
static bool used;
static bool has_complained;
static uint64_t pause_ns, next_attempt_ns;

static uint32_t state_of_connection(void)
{
    return __atomic_load_n(&connection, __ATOMIC_ACQUIRE) & 3;
}

static bool is_stopping(void)
{
    return __atomic_load_n(&stopping, __ATOMIC_ACQUIRE) != 0;
}

/* Handle an event, in a thread of LDMS. An abandoned attempt changes nothing; its connection is closed if it is
 * established. */
static void on_event(struct ldms_transport *from, struct ldms_event *event, void *argument)
{
    uint32_t attempt = (uint32_t)(uintptr_t)argument;
    uint32_t old = __atomic_load_n(&connection, __ATOMIC_ACQUIRE);
    bool is_new = event->type == LDMS_CONNECTED;
    if (is_new || event->type == LDMS_REJECTED || event->type == LDMS_ERROR || event->type == LDMS_DISCONNECTED) {
        uint32_t now = attempt << 2 | (is_new ? CONNECTED : BROKEN);
        while (old >> 2 == attempt &&
               !__atomic_compare_exchange_n(&connection, &old, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
        futex_wake(&connection);
        if (is_new && old >> 2 != attempt)
            api.close(from);
    }
    __atomic_add_fetch(&events, 1, __ATOMIC_RELEASE);
    futex_wake(&events);
    messages_wake();
}

/* Release the transport, once. Close it only if it was connected: some versions abort the program when an unconnected
 * one is closed. */
static void drop_connection(void)
{
    uint32_t old = __atomic_load_n(&connection, __ATOMIC_ACQUIRE);
    __atomic_store_n(&connection, ((old >> 2) + 1) << 2 | BROKEN, __ATOMIC_RELEASE);
    if (transport == NULL)
        return;
    if ((old & 3) == CONNECTED)
        api.close(transport);
    api.put(transport, "init");
    transport = NULL;
}

static void complain(void)
{
    char where[256] = "";
    const char *const parts[] = {target.transport, " ", target.host, ":", target.port};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !has_complained; i++)
        strncat(where, parts[i], sizeof where - 1 - strlen(where));
    if (!has_complained)
        log_warn("no connection to LDMS, trying again", where);
    has_complained = true;
}

static void try_to_connect(void)
{
    uint32_t attempt = ((__atomic_load_n(&connection, __ATOMIC_ACQUIRE) >> 2) + 1) & (UINT32_MAX >> 2);
    __atomic_store_n(&connection, attempt << 2 | CONNECTING, __ATOMIC_RELEASE);
    transport = ldms_create(&api, target.transport, target.authentication);
    if (transport != NULL &&
        api.connect(transport, target.host, target.port, on_event, (void *)(uintptr_t)attempt) == 0)
        futex_wait(&connection, attempt << 2 | CONNECTING, monotonic_ns() + target.timeout_ns);
    if (state_of_connection() == CONNECTED) {
        pause_ns = FIRST_PAUSE_NS;
        return;
    }
    drop_connection();
    complain();
    next_attempt_ns = monotonic_ns() + pause_ns;
    pause_ns = pause_ns < LONGEST_PAUSE_NS / 2 ? pause_ns * 2 : LONGEST_PAUSE_NS;
}

/* Wait for a connection. False if there will be none, because the program ends and does not wait for another
 * attempt. */
static bool connected(void)
{
    while (state_of_connection() != CONNECTED) {
        uint64_t now_ns = monotonic_ns();
        if (transport != NULL)
            drop_connection();
        if (now_ns >= next_attempt_ns)
            try_to_connect();
        else if (is_stopping())
            return false;
        else
            futex_wait(&stopping, 0, next_attempt_ns);
    }
    return true;
}

/* Send it, over another connection if necessary. A message that breaks every connection is dropped. */
static void send(const struct message *message)
{
    int failures = 0;
    while (failures < MOST_ATTEMPTS && connected()) {
        events_before = __atomic_load_n(&events, __ATOMIC_ACQUIRE);
        int error = ldms_publish(&api, transport, target.stream, message->text, message->length);
        if (error == 0) {
            has_sent = true;
            __atomic_store_n(&holds, 0, __ATOMIC_RELEASE);
            return;
        }
        if (error == EAGAIN || error == ENOBUFS) {
            futex_wait(&stopping, 0, monotonic_ns() + QUOTA_PAUSE_NS);
            if (is_stopping())
                break;
        } else {
            failures++;
            drop_connection();
        }
    }
    messages_count_lost();
    __atomic_store_n(&holds, 0, __ATOMIC_RELEASE);
}

static void send_all(void)
{
    struct message *message;
    while (__atomic_store_n(&holds, 1, __ATOMIC_RELEASE), (message = messages_take()) != NULL) {
        send(message);
        message_free(message);
    }
    __atomic_store_n(&holds, 0, __ATOMIC_RELEASE);
}

static void *run(void *unused)
{
    (void)unused;
    SYS5(SYS_prctl, 15 /* PR_SET_NAME */, "appekg-ldms", 0, 0, 0);
    __atomic_store_n(&used, true, __ATOMIC_RELEASE);
    for (uint32_t value = messages_sequence(); !is_stopping(); value = messages_sequence()) {
        send_all();
        if (connected())
            messages_wait(value, monotonic_ns() + IDLE_NS);
    }
    send_all();
    if (has_sent && state_of_connection() == CONNECTED)
        futex_wait(&events, events_before, monotonic_ns() + LAST_EVENT_NS);
    drop_connection();
    __atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
    futex_wake(&stopped);
    return NULL;
}

bool ldms_sender_start(const struct ldms_api *with, const struct ldms_target *to)
{
    pthread_t thread;
    api = *with;
    target = *to;
    pause_ns = FIRST_PAUSE_NS;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

void ldms_sender_stop(uint64_t longest_ns)
{
    __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
    futex_wake(&stopping);
    messages_wake();
    futex_wait(&stopped, 0, monotonic_ns() + longest_ns);
}

uint64_t ldms_sender_pending(void)
{
    return __atomic_load_n(&holds, __ATOMIC_ACQUIRE);
}

bool ldms_sender_was_used(void)
{
    return __atomic_load_n(&used, __ATOMIC_ACQUIRE);
}

void ldms_sender_forget(void)
{
    transport = NULL;
    connection = BROKEN;
    stopping = stopped = 0;
    holds = 0;
    next_attempt_ns = 0;
    has_complained = has_sent = false;
}
