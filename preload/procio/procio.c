/* Thread safety: procio_begin runs while the process has no interval thread; from then on that thread alone uses the
 * state, except `buffered`, which is atomic. The application's threads read and write meanwhile: a total is valid for
 * some moment during the call. */
#define _GNU_SOURCE
#include "procio.h"

#include <string.h>
#include <sys/resource.h>

#include "fixed_text.h"
#include "output.h"
#include "sys.h"
#include "worker.h"

/* Records of kind 11. */
enum { RECORD_PROCESS = 1, RECORD_CHILDREN = 2, RECORD_REFUSED = 3, RECORD_BUFFERED = 4 };
/* Flag of RECORD_PROCESS: what children have read and written is part of it. */
#define WITH_CHILDREN 1

#define FILE_BYTES 512 /* enough for seven numbers of 20 digits */
#define PAUSE_NS 10000000u
#define MOST_THREADS 256 /* that are read one by one, to separate children */
#define MOST_TRIES 4

struct totals {
    uint64_t value[PROCIO_VALUES];
};

static struct totals baseline;  /* of the process at the start */
static struct totals inherited; /* of threads and children that had ended by then, part of the baseline */
static struct totals reported;  /* the application's totals so far, which never decrease */
static struct totals parked;    /* of interval threads that have ended */
static struct rusage children;  /* of children that had ended by the start */
static uint64_t buffered[2];    /* bytes and calls at exit; atomic */
static uint64_t last_ns;
static long refusal;                                     /* negative errno: the file cannot be read */
static int process_fd = -1, own_fd = -1, writer_fd = -1; /* in the interval thread's table */
static pid_t writer_of_fd;

static void add(struct totals *to, const struct totals *more)
{
    for (int i = 0; i < PROCIO_VALUES; i++)
        to->value[i] += more->value[i];
}

static void subtract(struct totals *from, const struct totals *less)
{
    for (int i = 0; i < PROCIO_VALUES; i++)
        from->value[i] -= from->value[i] < less->value[i] ? from->value[i] : less->value[i];
}

static bool take_value(const char **at, const char *end, uint64_t *value)
{
    while (*at < end && **at != ':')
        ++*at;
    while (*at < end && (**at == ':' || **at == ' '))
        ++*at;
    const char *first = *at;
    for (*value = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        *value = *value * 10 + (uint64_t)(**at - '0');
    return *at > first;
}

bool procio_parse(const char *text, size_t length, uint64_t values[PROCIO_VALUES])
{
    const char *at = text;
    for (int i = 0; i < PROCIO_VALUES; i++)
        if (!take_value(&at, text + length, &values[i]))
            return false;
    return true;
}

/* Read an open file. Returns its length, or negative errno. */
static long read_totals(int fd, struct totals *totals)
{
    char text[FILE_BYTES];
    long got = SYS4(SYS_pread64, fd, text, sizeof text, 0);
    if (got > 0 && !procio_parse(text, (size_t)got, totals->value))
        return -EINVAL;
    return got != 0 ? got : -EINVAL;
}

/* Return the calling thread's reading of its own file as totals: the kernel counts it once it is done. */
static struct totals one_read(long bytes)
{
    struct totals totals = {{0}};
    totals.value[PROCIO_READ] = (uint64_t)bytes;
    totals.value[PROCIO_READS] = 1;
    return totals;
}

static long read_file(const char *path, struct totals *totals)
{
    int fd = sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    long got = read_totals(fd, totals);
    sys_close(fd);
    return got;
}

void procio_begin(bool forked)
{
    struct totals own;
    baseline = inherited = reported = parked = (struct totals){{0}};
    memset(&children, 0, sizeof children);
    process_fd = own_fd = writer_fd = -1;
    writer_of_fd = 0;
    buffered[0] = buffered[1] = 0;
    last_ns = 0;
    refusal = 0;
    if (forked)
        return;
    SYS2(SYS_getrusage, RUSAGE_CHILDREN, &children);
    long own_bytes = read_file("/proc/thread-self/io", &own);
    long bytes = own_bytes > 0 ? read_file("/proc/self/io", &baseline) : own_bytes;
    if (bytes < 0) {
        refusal = bytes;
        return;
    }
    const struct totals first = one_read(own_bytes), second = one_read(bytes);
    add(&own, &first);
    inherited = baseline;
    subtract(&inherited, &own);
    add(&baseline, &second);
}

static bool have_children_ended(void)
{
    struct rusage now;
    SYS2(SYS_getrusage, RUSAGE_CHILDREN, &now);
    return now.ru_minflt != children.ru_minflt || now.ru_majflt != children.ru_majflt ||
           now.ru_nvcsw != children.ru_nvcsw || now.ru_nivcsw != children.ru_nivcsw;
}

/* Keep the files of the process and of this thread open, and that of the writer, once it exists. */
static long open_files(void)
{
    char path[64] = "/proc/self/task/";
    pid_t writer = writer_tid();
    if (process_fd < 0)
        process_fd = sys_open("/proc/self/io", O_RDONLY, 0);
    if (own_fd < 0)
        own_fd = sys_open("/proc/thread-self/io", O_RDONLY, 0);
    if (writer != writer_of_fd) {
        if (writer_fd >= 0)
            sys_close(writer_fd);
        text_append_number(path, sizeof path, (uint64_t)writer, 1);
        text_append(path, sizeof path, "/io");
        writer_fd = writer > 0 ? sys_open(path, O_RDONLY, 0) : -1;
        writer_of_fd = writer;
    }
    return process_fd < 0 ? process_fd : own_fd < 0 ? own_fd : 0;
}

static void read_writer(struct totals *totals)
{
    *totals = (struct totals){{0}};
    if (writer_fd >= 0)
        read_totals(writer_fd, totals);
}

/* Read the totals of the process and those of the collector's threads at the same moment. Returns 0 or negative
 * errno. */
static long read_both(struct totals *process, struct totals *own)
{
    struct totals writer, writer_later;
    long bytes;
    int tries = 0;
    do {
        read_writer(&writer);
        if ((bytes = read_totals(process_fd, process)) < 0)
            return bytes;
        long error = read_totals(own_fd, own);
        if (error < 0)
            return error;
        read_writer(&writer_later);
    } while (memcmp(&writer, &writer_later, sizeof writer) != 0 && ++tries < MOST_TRIES);
    /* The reading of the process's file is in this thread's own totals, not in what was read. */
    const struct totals since = one_read(bytes);
    subtract(own, &since);
    add(own, &writer_later);
    return 0;
}

/* Return whether the directory entry is an application thread's. */
static bool is_of_application(const char *tid)
{
    char own[24] = "", writer[24] = "";
    text_append_number(own, sizeof own, (uint64_t)worker_tid(), 1);
    text_append_number(writer, sizeof writer, (uint64_t)writer_tid(), 1);
    return tid[0] != '.' && strcmp(tid, own) != 0 && strcmp(tid, writer) != 0;
}

/* Add up the totals of the application's threads. False if there are too many. */
static bool read_threads(struct totals *sum)
{
    _Alignas(8) char entries[2048];
    int directory = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
    long got = directory;
    int threads = 0;
    *sum = (struct totals){{0}};
    while (got >= 0 && threads <= MOST_THREADS &&
           (got = SYS3(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            char path[64] = "/proc/self/task/";
            struct totals one;
            text_append(path, sizeof path, entry->name);
            text_append(path, sizeof path, "/io");
            if (is_of_application(entry->name) && read_file(path, &one) > 0) {
                add(sum, &one);
                threads++;
            }
            at += entry->length;
        }
    }
    if (directory >= 0)
        sys_close(directory);
    return got == 0 && threads <= MOST_THREADS;
}

/* Read what the process has beyond its threads, while none of them has ended: what children have read and written.
 * False if there are too many threads. `process`: without the collector's, at the same moment. */
static bool read_children(struct totals *process, struct totals *ended)
{
    struct totals before, after, own;
    int tries = 0;
    do {
        if (!read_threads(&before) || read_both(process, &own) < 0 || !read_threads(&after))
            return false;
        subtract(process, &own);
        subtract(process, &parked);
    } while (memcmp(&before, &after, sizeof before) != 0 && ++tries < MOST_TRIES);
    *ended = *process;
    subtract(ended, &after);
    subtract(ended, &inherited);
    return true;
}

/* Read the application's totals since the start, and those of its children. Returns 0 or negative errno. */
static long read_all(bool have_threads_ended, struct totals *application, struct totals *of_children, bool *is_mixed)
{
    struct totals own;
    *of_children = (struct totals){{0}};
    *is_mixed = false;
    long error = open_files();
    if (error == 0)
        error = read_both(application, &own);
    if (error != 0)
        return error;
    subtract(application, &own);
    subtract(application, &parked);
    if (have_children_ended())
        *is_mixed = have_threads_ended || !read_children(application, of_children);
    subtract(application, &baseline);
    subtract(application, of_children);
    return 0;
}

static void put_record(struct buffer *out, uint64_t type, const uint64_t *values, int count)
{
    static struct buffer text; /* kept: a new one would be mapped and unmapped each time */
    text.length = 0;
    text.failed = false;
    for (int i = 0; i < count; i++)
        buffer_varint(&text, values[i]);
    buffer_record(out, type, &text);
}

static bool is_zero(const struct totals *totals)
{
    static const struct totals zero;
    return memcmp(totals, &zero, sizeof zero) == 0;
}

void procio_put(struct buffer *out, bool have_threads_ended, uint64_t now_ns, bool is_last)
{
    struct totals application, of_children;
    bool is_mixed = false;
    if (!is_last && last_ns != 0 && now_ns < last_ns + PAUSE_NS)
        return;
    last_ns = now_ns;
    if (refusal == 0)
        refusal = read_all(have_threads_ended, &application, &of_children, &is_mixed);
    if (refusal != 0) {
        const uint64_t number = (uint64_t)-refusal;
        put_record(out, RECORD_REFUSED, &number, 1);
        return;
    }
    for (int i = 0; i < PROCIO_VALUES; i++)
        if (reported.value[i] < application.value[i])
            reported.value[i] = application.value[i];
    uint64_t values[PROCIO_VALUES + 2];
    memcpy(values, reported.value, sizeof reported.value);
    values[PROCIO_VALUES] = is_mixed ? WITH_CHILDREN : 0;
    values[PROCIO_VALUES + 1] = now_ns / 1000;
    put_record(out, RECORD_PROCESS, values, PROCIO_VALUES + 2);
    if (!is_zero(&of_children))
        put_record(out, RECORD_CHILDREN, of_children.value, PROCIO_VALUES);
    const uint64_t left[2] = {
        __atomic_load_n(&buffered[0], __ATOMIC_RELAXED),
        __atomic_load_n(&buffered[1], __ATOMIC_RELAXED),
    };
    if (left[1] != 0)
        put_record(out, RECORD_BUFFERED, left, 2);
}

void procio_add_at_end(uint64_t bytes, uint64_t calls)
{
    __atomic_store_n(&buffered[0], bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&buffered[1], calls, __ATOMIC_RELAXED);
}

void procio_park(void)
{
    struct totals process, own;
    if (process_fd >= 0 && read_both(&process, &own) == 0)
        add(&parked, &own);
    process_fd = own_fd = writer_fd = -1;
    writer_of_fd = 0;
}
