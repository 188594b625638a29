/* A stand-in for libldms and libldmsd_stream: their symbols and signatures, no network. Each call is written
 * to the file STANDIN_LOG, one line each; STANDIN_MODE selects the answers. GENERATION is 45 (ldms_msg_publish), 44
 * (ldms_stream_publish) or 43 (ldmsd_stream_publish, a log function for every transport).
 *
 * As in LDMS, events come from a thread of the library's own, which lives until the process ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct attr_value_list;
struct ldms_xprt;
typedef struct ldms_xprt *ldms_t;
typedef struct ldms_cred {
    uid_t uid;
    gid_t gid;
} *ldms_cred_t;

enum ldms_xprt_event_type {
    LDMS_XPRT_EVENT_CONNECTED,
    LDMS_XPRT_EVENT_REJECTED,
    LDMS_XPRT_EVENT_ERROR,
    LDMS_XPRT_EVENT_DISCONNECTED,
    LDMS_XPRT_EVENT_RECV,
    LDMS_XPRT_EVENT_SET_DELETE,
    LDMS_XPRT_EVENT_SEND_COMPLETE,
};

typedef struct ldms_xprt_event {
    enum ldms_xprt_event_type type;
    char *data;
    size_t data_len;
} *ldms_xprt_event_t;

typedef void (*ldms_event_cb_t)(ldms_t x, ldms_xprt_event_t e, void *cb_arg);

struct ldms_xprt {
    char name[64], auth[64];
    ldms_event_cb_t callback;
    void *argument;
    int connected, references, number;
};

struct delivery {
    ldms_t x;
    enum ldms_xprt_event_type type;
    struct delivery *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct delivery *first, **last = &first;
static int has_thread, published, transports;

static int mode_is(const char *name)
{
    const char *mode = getenv("STANDIN_MODE");
    return mode != NULL && strcmp(mode, name) == 0;
}

static void note(const char *format, ...)
{
    char *line;
    va_list values;
    va_start(values, format);
    int length = vasprintf(&line, format, values);
    va_end(values);
    int fd = open(getenv("STANDIN_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
    free(line);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* Until the file exists. */
static void wait_for_gate(void)
{
    char *gate;
    if (asprintf(&gate, "%s.gate", getenv("STANDIN_LOG")) < 0)
        abort();
    while (access(gate, F_OK) != 0)
        usleep(10000);
    free(gate);
}

static void *deliver(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (first == NULL)
            pthread_cond_wait(&change, &lock);
        struct delivery *delivery = first;
        first = delivery->next;
        if (first == NULL)
            last = &first;
        ldms_t x = delivery->x;
        x->connected =
            delivery->type == LDMS_XPRT_EVENT_CONNECTED || (x->connected && delivery->type >= LDMS_XPRT_EVENT_RECV);
        pthread_mutex_unlock(&lock);
        struct ldms_xprt_event event = {.type = delivery->type};
        x->callback(x, &event, x->argument);
        free(delivery);
    }
    return NULL;
}

static void post(ldms_t x, enum ldms_xprt_event_type type)
{
    struct delivery *delivery = calloc(1, sizeof *delivery);
    *delivery = (struct delivery){x, type, NULL};
    pthread_mutex_lock(&lock);
    *last = delivery;
    last = &delivery->next;
    pthread_cond_signal(&change);
    pthread_mutex_unlock(&lock);
}

static ldms_t create(const char *name, const char *auth)
{
    pthread_t thread;
    ldms_t x = calloc(1, sizeof *x);
    snprintf(x->name, sizeof x->name, "%s", name);
    snprintf(x->auth, sizeof x->auth, "%s", auth);
    x->references = 1;
    x->number = ++transports;
    if (!has_thread)
        has_thread = pthread_create(&thread, NULL, deliver, NULL) == 0;
    if (mode_is("no-transport")) {
        free(x);
        errno = ENOENT;
        return NULL;
    }
    return x;
}

#if GENERATION == 43
typedef void (*ldms_log_fn_t)(const char *fmt, ...);

ldms_t ldms_xprt_new_with_auth(const char *xprt_name, ldms_log_fn_t log_fn, const char *auth_name,
                               struct attr_value_list *auth_av_list)
{
    (void)auth_av_list;
    if (log_fn == NULL)
        printf("noise\n");
    else
        log_fn("%s\n", "noise");
    return create(xprt_name, auth_name);
}

void ldms_xprt_put(ldms_t x)
#else
static int log_level = 7;

int ovis_log_str_to_level(const char *level_s)
{
    return strcmp(level_s, "QUIET") == 0 ? 16 : -EINVAL;
}

int ovis_log_set_level(void *mylog, int level)
{
    (void)mylog;
    log_level = level;
    return 0;
}

ldms_t ldms_xprt_new_with_auth(const char *xprt_name, const char *auth_name, struct attr_value_list *auth_av_list)
{
    (void)auth_av_list;
    if (log_level != 16)
        printf("noise\n");
    return create(xprt_name, auth_name);
}

void ldms_xprt_put(ldms_t x, const char *name)
#endif
{
#if GENERATION != 43
    if (strcmp(name, "init") != 0)
        note("misuse: put %s\n", name);
#endif
    if (--x->references < 0)
        note("misuse: put twice\n");
    note("put %d\n", x->number); /* and leaked, so that a later use is found */
}

int ldms_xprt_connect_by_name(ldms_t x, const char *host, const char *port, ldms_event_cb_t cb, void *cb_arg)
{
    note("connect %s %s %s %s\n", x->name, host, port, x->auth);
    x->callback = cb;
    x->argument = cb_arg;
    if (mode_is("hang-connect"))
        hang();
    if (mode_is("refuse"))
        return ECONNREFUSED;
    if (mode_is("silence"))
        return 0;
    if (mode_is("error-event") || (mode_is("second-try") && x->number == 1))
        post(x, LDMS_XPRT_EVENT_ERROR);
    else if (mode_is("reject"))
        post(x, LDMS_XPRT_EVENT_REJECTED);
    else
        post(x, LDMS_XPRT_EVENT_CONNECTED);
    return 0;
}

void ldms_xprt_close(ldms_t x)
{
    note(x->connected ? "close %d\n" : "misuse: close %d\n", x->number);
    x->connected = 0;
}

static int publish(const char *function, ldms_t x, const char *name, int type, uint32_t perm, const char *data,
                   size_t length)
{
    if (!x->connected)
        return ENOTCONN;
    if (x->references < 1 || data[length - 1] != '\0' || strlen(data) != length - 1)
        note("misuse: publish\n");
    if (mode_is("hang-publish") && published >= 2)
        hang();
    if (mode_is("gate"))
        wait_for_gate();
    if (mode_is("slow"))
        sleep(1);
    if (mode_is("refuse-messages"))
        return E2BIG;
    if (mode_is("quota") && published++ % 2 == 0)
        return EAGAIN;
    published++;
    note("%s %s %d %o %s\n", function, name, type, (unsigned int)perm, data);
    post(x, LDMS_XPRT_EVENT_SEND_COMPLETE);
    if (mode_is("disconnect") && published % 3 == 0)
        post(x, LDMS_XPRT_EVENT_DISCONNECTED);
    return 0;
}

#if GENERATION == 45
int ldms_msg_publish(ldms_t x, const char *name, int msg_type, ldms_cred_t cred, uint32_t perm, const char *data,
                     size_t data_len)
{
    (void)cred;
    return publish("message", x, name, msg_type, perm, data, data_len);
}
#elif GENERATION == 44
int ldms_stream_publish(ldms_t x, const char *stream_name, int stream_type, ldms_cred_t cred, uint32_t perm,
                        const char *data, size_t data_len)
{
    (void)cred;
    return publish("stream", x, stream_name, stream_type, perm, data, data_len);
}
#endif

/* What ldmsd_stream_publish does, in a library of its own. */
int ldms_standin_publish(ldms_t x, const char *name, int type, const char *data, size_t length)
{
    return publish("ldmsd_stream", x, name, type, 0, data, length);
}
