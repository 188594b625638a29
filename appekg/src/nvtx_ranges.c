/* Beats as ranges of NVTX, NVIDIA's interface for marks of programs, for a tool that NVTX_INJECTION64_PATH names. The
 * interface is declared here from NVIDIA's published header of version 3, so that the library builds without it;
 * tests/integration/appekg/test_nvtx.py compares the two.
 *
 * Thread safety: `is_on` is atomic, and set with the first beat kept waiting. The rest of the start is pthread_once's.
 * `lock` guards the open ranges; no other is taken under it. The tool is called by threads of the program, of which it
 * may start more; never under a lock, inside a slot, or by the interval thread. */
#define _GNU_SOURCE
#include "nvtx_ranges.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "catalogue.h"
#include "environment.h"
#include "fixed_text.h"
#include "log.h"
#include "record.h"

#define NVTX_VERSION 3
enum { CORE_MARK = 2, CORE_RANGE_START = 5, CORE_RANGE_END = 7 };
#define MOST_FUNCTIONS 16

typedef uint64_t range_start(const char *message);
typedef void range_end(uint64_t range);
typedef void mark(const char *message);
typedef int initialize_injection(nvtx_export_table *tables);

#define MOST_RANGES 4096

/* Of open beats. EXPECTED until the tool has begun it: ENDED if its beat ends sooner, in another thread. */
enum state { EXPECTED, ENDED, BEGUN };
static struct range {
    uint64_t start, range;
    uint32_t id, generation;
    enum state state;
} ranges[MOST_RANGES];
static uint32_t count;
static struct lock lock;
static bool is_on;

/* The tool puts its functions into these. */
static nvtx_function *functions[NVTX_MODULES][MOST_FUNCTIONS];
static nvtx_function **tables[NVTX_MODULES][MOST_FUNCTIONS + 1];

/* Functions of each module, with an invalid one at 0. */
static const unsigned sizes[NVTX_MODULES] = {0, 16, 9, 15, 7, 16, 7};

static int module_table(int module, nvtx_function ****table, unsigned *size)
{
    if (module <= 0 || module >= NVTX_MODULES)
        return 0;
    *size = sizes[module];
    *table = tables[module];
    return 1;
}

static void set_tool_version(uint32_t version)
{
    (void)version;
}

const void *nvtx_ranges_table(uint32_t number)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set_tool_version)(uint32_t);
    } version = {sizeof version, NVTX_VERSION, 0, set_tool_version};
    return number == NVTX_TABLE_CALLBACKS ? (const void *)&callbacks : number == NVTX_TABLE_VERSION ? &version : NULL;
}

static void load_tool(void)
{
    const char *path = environment_text("NVTX_INJECTION64_PATH");
    for (int module = 1; module < NVTX_MODULES; module++)
        for (unsigned i = 1; i < sizes[module]; i++)
            tables[module][i] = &functions[module][i];
    void *tool = path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
    initialize_injection *initialize = NULL;
    if (tool != NULL)
        *(void **)&initialize = dlsym(tool, "InitializeInjectionNvtx2");
    if (initialize != NULL && initialize(nvtx_ranges_table) != 0)
        return;
    log_warn("EKG_NVTX: the tool refuses, or cannot be loaded: no ranges", path);
    nvtx_ranges_stop();
}

void nvtx_ranges_choose(bool wanted)
{
    bool has_tool = environment_text("NVTX_INJECTION64_PATH") != NULL;
    if (wanted && !has_tool)
        log_warn("EKG_NVTX: no ranges, because no tool shows them: NVTX_INJECTION64_PATH is not set", NULL);
    __atomic_store_n(&is_on, wanted && has_tool, __ATOMIC_RELAXED);
}

bool nvtx_ranges_are_on(void)
{
    return __atomic_load_n(&is_on, __ATOMIC_RELAXED);
}

void nvtx_ranges_stop(void)
{
    __atomic_store_n(&is_on, false, __ATOMIC_RELAXED);
}

/* Return a function of the tool; NULL: there is none. */
static nvtx_function *tool_function(int number)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_tool);
    return nvtx_ranges_are_on() ? functions[NVTX_MODULE_CORE][number] : NULL;
}

static void get_name(uint32_t id, char name[LONGEST_BEAT_NAME])
{
    struct beat beat;
    catalogue_get(id, &beat);
    memcpy(name, beat.name, LONGEST_BEAT_NAME);
    if (*name == '\0') {
        text_append(name, LONGEST_BEAT_NAME, "heartbeat ");
        text_append_number(name, LONGEST_BEAT_NAME, id, 1);
    }
}

/* Return the newest range of a beat with a state in [least, most]; NULL: there is none. Under the lock. */
static struct range *find(uint32_t id, uint64_t start, enum state least, enum state most)
{
    for (uint32_t at = count; at > 0; at--) {
        struct range *one = &ranges[at - 1];
        if (one->start == start && one->id == id && one->state >= least && one->state <= most)
            return one;
    }
    return NULL;
}

/* Under the lock. */
static uint64_t remove_range(struct range *range)
{
    uint64_t number = range->range;
    memmove(range, range + 1, (size_t)(&ranges[--count] - range) * sizeof *range);
    return number;
}

static bool take_forgotten(uint32_t generation, uint64_t *number)
{
    uint64_t mask = lock_take(&lock);
    struct range *one = ranges;
    while (one < ranges + count && (one->generation == generation || one->state != BEGUN))
        one++;
    bool is_found = one < ranges + count;
    if (is_found)
        *number = remove_range(one);
    lock_give(&lock, mask);
    return is_found;
}

/* End the ranges of beats that were forgotten when recording was switched off. */
static void end_forgotten(uint32_t generation, range_end *end)
{
    static uint32_t newest;
    uint32_t before = __atomic_load_n(&newest, __ATOMIC_RELAXED);
    uint64_t number = 0;
    if (generation - before - 1 < UINT32_MAX / 2 &&
        __atomic_compare_exchange_n(&newest, &before, generation, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        while (take_forgotten(generation, &number))
            end(number);
}

bool nvtx_ranges_expect(uint32_t id, uint32_t generation, uint64_t start)
{
    uint64_t mask = lock_take(&lock);
    bool has_room = count < MOST_RANGES;
    if (has_room)
        ranges[count++] = (struct range){.start = start, .id = id, .generation = generation};
    lock_give(&lock, mask);
    return has_room;
}

void nvtx_ranges_begin(uint32_t id, uint32_t generation, uint64_t start)
{
    int saved_errno = errno;
    char name[LONGEST_BEAT_NAME];
    range_start *begin = (range_start *)tool_function(CORE_RANGE_START);
    range_end *end = (range_end *)tool_function(CORE_RANGE_END);
    if (begin != NULL && end != NULL) {
        end_forgotten(generation, end);
        get_name(id, name);
        uint64_t number = begin(name);
        uint64_t mask = lock_take(&lock);
        struct range *range = find(id, start, EXPECTED, ENDED);
        bool is_over = range != NULL && range->state == ENDED;
        if (is_over)
            remove_range(range);
        else if (range != NULL)
            *range = (struct range){start, number, id, generation, BEGUN};
        lock_give(&lock, mask);
        if (is_over)
            end(number);
    }
    errno = saved_errno;
}

void nvtx_ranges_end(uint32_t id, uint64_t start)
{
    int saved_errno = errno;
    uint64_t number = 0;
    range_end *end = (range_end *)tool_function(CORE_RANGE_END);
    uint64_t mask = lock_take(&lock);
    struct range *range = find(id, start, BEGUN, BEGUN);
    struct range *expected = range == NULL ? find(id, start, EXPECTED, EXPECTED) : NULL;
    if (range != NULL)
        number = remove_range(range);
    if (expected != NULL)
        expected->state = ENDED;
    lock_give(&lock, mask);
    if (range != NULL && end != NULL)
        end(number);
    errno = saved_errno;
}

void nvtx_ranges_mark(uint32_t id)
{
    int saved_errno = errno;
    char name[LONGEST_BEAT_NAME];
    mark *make = (mark *)tool_function(CORE_MARK);
    if (make != NULL) {
        get_name(id, name);
        make(name);
    }
    errno = saved_errno;
}
