/* What the collector calls: it begins, gives back the calls that were recorded with their paths, and asks for the image
 * of an interval.
 *
 * Thread safety: the interval thread alone uses the buffers, under the collector's lock; a forked child begins anew,
 * when it has one thread. */
#define _GNU_SOURCE
#include "extension.h"

#include "counts.h"
#include "descriptors.h"
#include "environment.h"
#include "log.h"
#include "vfork.h"

#define IMAGE_IO 11

static struct buffer events, image;
static uint64_t begun_ns; /* CLOCK_MONOTONIC; times of events count from here */

static void begin(bool forked, bool wanted)
{
    vfork_begin();
    events.length = 0;
    begun_ns = monotonic_ns();
    if (forked) {
        io_counts_after_fork();
        descriptors_after_fork();
    }
    __atomic_store_n(&io_is_on, wanted, __ATOMIC_RELAXED);
}

static void take(const struct extension_event *event)
{
    uint64_t calls_milli = event->words[1], bytes = event->words[2], ns = event->words[3];
    buffer_varint(&events, event->time_ns > begun_ns ? (event->time_ns - begun_ns) / 1000 : 0);
    buffer_varint(&events, event->words[0] >> 8);
    buffer_varint(&events, event->words[0] & 255);
    buffer_varint(&events, event->node);
    buffer_varint(&events, calls_milli);
    buffer_varint(&events, bytes);
    buffer_varint(&events, ns);
}

static const uint8_t *put(const struct extension_interval *interval, size_t *length)
{
    image.length = 0;
    image.failed = false;
    descriptor_put_names(&image);
    io_put_counts(&image);
    if (!events.failed && events.length > 0) {
        struct buffer start = {0};
        buffer_varint(&start, begun_ns > interval->run_start_ns ? (begun_ns - interval->run_start_ns) / 1000 : 0);
        buffer_varint(&image, RECORD_PATHS);
        buffer_varint(&image, start.length + events.length);
        buffer_bytes(&image, start.data, start.length);
        buffer_bytes(&image, events.data, events.length);
        buffer_free(&start);
    }
    events.length = 0;
    events.failed = false;
    /* Before an exec, which may fail: then intervals follow. */
    __atomic_store_n(&io_is_on, !interval->is_last, __ATOMIC_RELAXED);
    if (image.failed || image.length == 0)
        return NULL;
    *length = image.length;
    return image.data;
}

static const struct extension extension = {
    .version = EXTENSION_VERSION, .kind = IMAGE_IO, .begin = begin, .take = take, .put = put};

__attribute__((constructor)) static void add(void)
{
    if (!environment_flag("INCPROF_IO", true))
        return;
    int number = incprof_extension_add != NULL ? incprof_extension_add(&extension) : -1;
    paths_begin(number);
    if (number >= 0)
        return;
    log_start("incprof");
    log_warn(incprof_extension_add == NULL ? "libincprof_io.so records nothing without libincprof.so"
                                           : "libincprof_io.so records nothing: libincprof.so is of another version",
             NULL);
}
