/* Thread safety: an entry of `added` is written once (compare and swap) and valid for good. `wanted` is written before
 * the recording begins, by the process's only thread. */
#define _GNU_SOURCE
#include "extensions.h"

#include "modules.h"
#include "next.h"
#include "stream.h"
#include "sys.h"

static const struct extension *added[MOST_EXTENSIONS];
static bool has_begun, wanted;
static uint32_t kinds_put; /* bits */

static const struct extension *get(uint32_t number)
{
    return number < MOST_EXTENSIONS ? __atomic_load_n(&added[number], __ATOMIC_ACQUIRE) : NULL;
}

EXPORT int incprof_extension_add(const struct extension *extension)
{
    if (extension->version != EXTENSION_VERSION)
        return -1;
    for (int number = 0; number < MOST_EXTENSIONS; number++) {
        const struct extension *none = NULL;
        if (!__atomic_compare_exchange_n(&added[number], &none, extension, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        own_maps_add_profiler((uint64_t)(uintptr_t)extension->begin);
        if (has_begun)
            extension->begin(false, wanted);
        return number;
    }
    return -1;
}

bool extensions_exist(void)
{
    return get(0) != NULL;
}

void extensions_begin(bool forked, bool with_images)
{
    has_begun = true;
    wanted = with_images;
    kinds_put = 0;
    for (uint32_t number = 0; get(number) != NULL; number++)
        get(number)->begin(forked, with_images);
}

void extensions_take(const struct sample *event, uint32_t node)
{
    const struct extension *extension = get(event->weight);
    struct extension_event given = {.time_ns = event->time_ns, .thread = event->thread, .node = node};
    for (size_t i = 0; i < EXTENSION_WORDS; i++)
        given.words[i] = event->words[i];
    if (extension != NULL)
        extension->take(&given);
}

void extensions_put(struct interval *interval, uint64_t run_start_ns, uint64_t end_ns, bool is_last)
{
    const struct extension_interval about = {
        .run_start_ns = run_start_ns, .start_ns = interval->start_ns, .end_ns = end_ns, .is_last = is_last};
    for (uint32_t number = 0; get(number) != NULL; number++) {
        size_t length = 0;
        const uint8_t *payload = get(number)->put(&about, &length);
        if (payload == NULL)
            continue;
        size_t start = stream_begin_image(&interval->images, get(number)->kind, 0, interval->number);
        buffer_bytes(&interval->images, payload, length);
        stream_end_image(&interval->images, start);
        kinds_put |= 1u << get(number)->kind;
    }
}

bool extensions_have_put(uint32_t kind)
{
    return (kinds_put >> kind & 1) != 0;
}
