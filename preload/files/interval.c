#define _GNU_SOURCE
#include "interval.h"

#include <string.h>

#include "sys.h"

/* With recursion from more than one call site, nearly every sample has a new path. Nodes are never freed. So as they
 * become many, paths are shortened at both ends, and in the end no new nodes are added: 16 MiB at most. */
#define MOST_NODES ((size_t)1 << 19)
static const struct path_limit {
    size_t nodes; /* from this number of nodes on */
    size_t outer, inner;
} path_limits[] = {
    {(size_t)1 << 18, 8, 2}, {(size_t)1 << 17, 16, 4}, {(size_t)1 << 16, 32, 16}, {0, OUTER_FRAMES, INNER_FRAMES}};

void interval_begin(struct interval *interval, uint64_t now_ns, bool keep_totals)
{
    interval->paths.record_size = interval->paths.key_size = sizeof(struct path_node);
    interval->blocks.record_size = sizeof(struct block);
    interval->blocks.key_size = offsetof(struct block, bins);
    interval->calls.record_size = sizeof(struct call);
    interval->calls.key_size = offsetof(struct call, count);
    interval->start_ns = now_ns;
    interval->sample_count = 0;
    interval->totals = (struct thread_counters){0};
    interval->profiler_ticks = interval->thread_ns = interval->shortened = 0;
    interval->io.length = 0;
    interval->io.failed = false;
    interval->images.length = 0;
    interval->images.failed = false;
    if (!keep_totals) {
        table_clear(&interval->blocks);
        table_clear(&interval->calls);
    }
}

void interval_free(struct interval *interval)
{
    table_free(&interval->paths);
    table_free(&interval->blocks);
    table_free(&interval->calls);
    buffer_free(&interval->io);
    buffer_free(&interval->images);
    sys_free(interval->samples, interval->sample_capacity * sizeof *interval->samples);
    sys_free(interval->spare, interval->sample_capacity * sizeof *interval->spare);
    *interval = (struct interval){0};
}

bool interval_is_empty(const struct interval *interval)
{
    return interval->totals.samples == 0 && interval->calls.count == 0;
}

const struct module *interval_resolve(uint64_t pc, uint64_t *address)
{
    const struct code_range *range = modules_find(modules_current(), pc);
    if (range == NULL)
        return NULL;
    *address = pc - range->base;
    return range->module;
}

static bool is_node(const struct interval *interval, uint32_t node, const struct path_node *key)
{
    const struct path_node *one = node != 0 ? table_record(&interval->paths, node - 1) : NULL;
    return one != NULL && one->address == key->address && one->parent == key->parent && one->module == key->module;
}

/* Return the node below `parent`, which is `*depth` nodes below the root, or `parent` if there is no room for another.
 * Paths often begin as the one before. */
static uint32_t add_node(struct interval *interval, uint32_t parent, uint32_t module, uint64_t address, size_t *depth)
{
    struct path_node key = {.address = address, .parent = parent, .module = module};
    uint32_t *last = &interval->last_path[(*depth)++];
    if (is_node(interval, *last, &key))
        return *last;
    bool full = interval->paths.count >= MOST_NODES;
    const uint8_t *record = full ? table_find(&interval->paths, &key) : table_add(&interval->paths, &key, NULL);
    if (record == NULL)
        return parent;
    return *last = (uint32_t)((size_t)(record - interval->paths.records) / sizeof key) + 1;
}

static const struct path_limit *limit_of(const struct interval *interval)
{
    const struct path_limit *limit = path_limits;
    while (interval->paths.count < limit->nodes)
        limit++;
    return limit;
}

/* Resolve a frame. A Python function is a module of its own. */
static const struct module *resolve_frame(const uint16_t *functions, uint64_t frame, uint64_t *address)
{
    if ((frame & PYTHON_FRAME) == 0)
        return interval_resolve(frame, address);
    uint16_t id = functions != NULL ? functions[(frame & ~PYTHON_FRAME) >> 32 & (PYTHON_CODES - 1)] : 0;
    *address = (uint32_t)frame;
    return id != 0 ? modules_get(id) : NULL;
}

/* Add a path from the outermost frame inwards. Elided frames are those between the outer and the inner ones. */
static uint32_t add_path(struct interval *interval, const uint16_t *functions, const struct sample *sample)
{
    const struct path_limit *limit = limit_of(interval);
    size_t count = sample->frame_count;
    size_t inner = count < limit->inner ? count : limit->inner;
    size_t outer = count - inner < limit->outer ? count - inner : limit->outer;
    bool shortened = inner + outer < count || interval->paths.count >= MOST_NODES;
    bool elided = inner + outer < count || (sample->flags & SAMPLE_ELIDED) != 0;
    uint32_t node = 0;
    size_t depth = 0;
    interval->shortened += shortened;
    if (count > 0 && (sample->flags & SAMPLE_BROKEN) != 0)
        node = add_node(interval, node, NODE_BROKEN, 0, &depth);
    for (size_t i = count; i-- > 0;) {
        uint64_t address;
        if (i >= inner && i < count - outer)
            continue;
        if (elided && i + 1 == inner)
            node = add_node(interval, node, NODE_ELIDED, 0, &depth);
        const struct module *module = resolve_frame(functions, sample->frames[i], &address);
        if (module != NULL)
            node = add_node(interval, node, module->id, address, &depth);
    }
    return node;
}

uint32_t interval_node(struct interval *interval, const uint16_t *functions, const struct sample *path)
{
    return add_path(interval, functions, path);
}

static bool more_samples(struct interval *interval)
{
    size_t capacity = interval->sample_capacity > 0 ? 2 * interval->sample_capacity : 1024;
    size_t bytes = capacity * sizeof *interval->samples;
    struct interval_sample *samples = sys_alloc(bytes);
    struct interval_sample *spare = sys_alloc(bytes);
    if (samples == NULL || spare == NULL) {
        sys_free(samples, bytes);
        sys_free(spare, bytes);
        return false;
    }
    if (interval->sample_count > 0)
        memcpy(samples, interval->samples, interval->sample_count * sizeof *samples);
    sys_free(interval->samples, interval->sample_capacity * sizeof *samples);
    sys_free(interval->spare, interval->sample_capacity * sizeof *samples);
    interval->samples = samples;
    interval->spare = spare;
    interval->sample_capacity = capacity;
    return true;
}

static void add_to_histogram(struct interval *interval, const struct sample *sample)
{
    uint64_t address;
    const struct module *module = interval_resolve(sample->frames[0], &address);
    if (module == NULL)
        return;
    struct block key = {
        .low = address & ~(uint64_t)(BLOCK_BYTES - 1), .module = module->id, .library = sample->kind == KIND_LIBRARY};
    struct block *block = table_add(&interval->blocks, &key, NULL);
    if (block != NULL)
        block->bins[(address - block->low) * BLOCK_BINS / BLOCK_BYTES] += sample->weight;
}

void interval_add_sample(struct interval *interval, const uint16_t *functions, const struct sample *sample)
{
    if (interval->sample_count == interval->sample_capacity && !more_samples(interval)) {
        interval->totals.lost++;
        return;
    }
    uint64_t address;
    const struct module *leaf = interval_resolve(sample->leaf_pc, &address);
    interval->samples[interval->sample_count++] = (struct interval_sample){
        .time_ns = sample->time_ns,
        .thread = sample->thread,
        .node = add_path(interval, functions, sample),
        .weight = sample->weight,
        .library = leaf != NULL ? leaf->id : 0,
        .kind = sample->kind,
    };
    if (sample->weight == 0) /* of a dense sampling window, which stands for no time */
        return;
    interval->totals.samples++;
    interval->totals.ticks += sample->weight;
    if (sample->kind == KIND_PROFILER)
        interval->profiler_ticks += sample->weight;
    else if (sample->frame_count > 0)
        add_to_histogram(interval, sample);
}

void interval_add_calls(struct interval *interval, uint64_t from, uint64_t self, uint64_t calls)
{
    struct call key = {.self = self, .from = from, .module = NO_MODULE};
    uint64_t address;
    const struct module *module = interval_resolve(self, &address);
    if (module != NULL) {
        key.self = address;
        key.module = module->id;
        key.from = interval_resolve(from, &address) == module ? address : 0;
    }
    struct call *call = table_add(&interval->calls, &key, NULL);
    if (call != NULL)
        call->count += calls;
}

bool interval_has_new_calls(const struct interval *interval)
{
    for (size_t i = 0; i < interval->calls.count; i++) {
        const struct call *call = table_record(&interval->calls, i);
        if (call->module == NO_MODULE && call->count > 0)
            return true;
    }
    return false;
}

void interval_look_up_calls(struct interval *interval)
{
    for (size_t i = 0, count = interval->calls.count; i < count; i++) {
        struct call *call = table_record(&interval->calls, i);
        uint64_t address;
        if (call->module != NO_MODULE || interval_resolve(call->self, &address) == NULL)
            continue;
        const struct call unresolved = *call;
        call->count = 0; /* the record may move */
        interval_add_calls(interval, unresolved.from, unresolved.self, unresolved.count);
    }
}

/* Bottom-up merge sort by time: rings are already sorted, so few passes move anything far. */
void interval_sort(struct interval *interval)
{
    size_t count = interval->sample_count;
    for (size_t width = 1; width < count; width *= 2) {
        const struct interval_sample *from = interval->samples;
        struct interval_sample *to = interval->spare;
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = middle + width < count ? middle + width : count;
            size_t left = low;
            size_t right = middle;
            for (size_t i = low; i < high; i++) {
                bool take_left = right == high || (left < middle && from[left].time_ns <= from[right].time_ns);
                to[i] = take_left ? from[left++] : from[right++];
            }
        }
        interval->spare = interval->samples;
        interval->samples = to;
    }
}
