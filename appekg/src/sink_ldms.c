/* EKG_SINK=ldms: one JSON message per interval, published by LDMS (docs/use/appekg.md). The interval thread builds the
 * text and puts it into a ring; a separate thread, which may use libc and may hang, takes it from there. */
#define _GNU_SOURCE
#include <string.h>

#include "buffer.h"
#include "environment.h"
#include "ldms.h"
#include "log.h"
#include "sink.h"

#define SECOND_NS 1000000000u
#ifndef LONGEST_FLUSH_NS /* tests may not depend on how busy the machine is */
#define LONGEST_FLUSH_NS (SECOND_NS / 2)
#endif
#define LONGEST_TIMEOUT_NS (3600ull * SECOND_NS)
#define MOST_IDS 1000 /* in one message */

static const struct session *session;
static struct buffer text;
static struct id_sums sums;
static char words[5][128];

/* Return a copy of a setting, which survives changes of the environment. */
static const char *setting(size_t number, const char *name, const char *fallback)
{
    const char *value = environment_text(name);
    if (value != NULL && strlen(value) >= sizeof words[number]) {
        environment_complain(name, value, fallback);
        value = NULL;
    }
    return strcpy(words[number], value != NULL ? value : fallback);
}

static struct ldms_target settings(void)
{
    return (struct ldms_target){
        .transport = setting(0, "EKG_LDMS_XPRT", "sock"),
        .host = setting(1, "EKG_LDMS_HOST", "localhost"),
        .port = setting(2, "EKG_LDMS_PORT", "412"),
        .authentication = setting(3, "EKG_LDMS_AUTH", "munge"),
        .stream = setting(4, "EKG_LDMS_STREAM", "appekg"),
        .timeout_ns = environment_time("EKG_LDMS_TIMEOUT", SECOND_NS / 100, LONGEST_TIMEOUT_NS, 5ull * SECOND_NS, "5"),
    };
}

/* Start the sender. Threads that LDMS creates at load time are marked like the sender. */
static bool start(const struct ldms_target *target)
{
    struct ldms_api api;
    struct last_thread_marked before = last_thread_mark();
    bool loaded = ldms_load(&api);
    bool started = loaded && last_thread_guard() && ldms_sender_start(&api, target);
    last_thread_unmark(before);
    if (loaded && !started)
        log_warn("no thread for LDMS, heartbeats go to the file instead", NULL);
    return started;
}

static bool open_ldms(const struct session *of)
{
    session = of;
    messages_forget();
    id_sums_free(&sums);
    sums.most = MOST_IDS;
    if (ldms_sender_was_used()) {
        log_warn("a forked child has no LDMS, heartbeats go to the file instead", NULL);
        return false;
    }
    const struct ldms_target target = settings();
    return start(&target);
}

static void write_ldms(const struct snapshot *snapshot)
{
    id_sums_add(&sums, snapshot);
    text.length = 0;
    text.failed = false;
    interval_json(&text, session, snapshot, &sums, messages_lost());
    messages_put(&text);
}

/* Close the sink. Unsent messages are dropped. */
static void close_ldms(const struct snapshot *last)
{
    ldms_sender_stop(LONGEST_FLUSH_NS);
    uint64_t missing = messages_lost() + messages_count() + ldms_sender_pending();
    if (missing > 0) {
        text.length = 0;
        text.failed = false;
        buffer_decimal(&text, missing);
        buffer_text(&text, " of ");
        buffer_decimal(&text, last->number + 1);
        buffer_u8(&text, '\0');
        log_warn("intervals that LDMS did not get", text.failed ? NULL : (const char *)text.data);
    }
    id_sums_free(&sums);
    buffer_free(&text);
}

static void forget_ldms(void)
{
    messages_forget();
    ldms_sender_forget();
    id_sums_free(&sums);
    buffer_free(&text);
}

const struct sink sink_ldms = {
    .name = "ldms", .open = open_ldms, .write = write_ldms, .close = close_ldms, .forget = forget_ldms};
