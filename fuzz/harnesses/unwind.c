/* Walks over drawn stacks by drawn rules, the memory of one kept for the next: nothing is read outside the stack but
 * through the kernel, no walk goes on for ever, and every frame lies in code of the application's. */
#define _GNU_SOURCE
#include "drawn.h"
#include "path.h"
#include "sys.h"

#define CODE 0x10000000u
#define CODE_STEP 0x100000u
#define MOST_RANGES 3
#define LOOKS 12 /* at the clock, before a walk's time is up */

static uint64_t looks;
static struct path path;
static struct path_memory memory;
static struct unwind_cache cache;
static uint8_t window[UNWIND_WINDOW];

static int count_lookups(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){0, (long)++looks};
    return 0;
}
int (*vdso_clock_gettime)(clockid_t clock, struct timespec *now) = count_lookups;

/* Bytes of .eh_frame. */
struct frames {
    uint8_t *at;
    size_t length;
};

static void put(struct frames *frames, const void *bytes, size_t count)
{
    memcpy(frames->at + frames->length, bytes, count);
    frames->length += count;
}

static void put_length(struct frames *frames, size_t record)
{
    uint32_t length = (uint32_t)(frames->length - record - 4);
    memcpy(frames->at + record, &length, sizeof length);
}

/* Instructions that change the rules, each of one kind, and how far they hold. */
static void draw_instructions(struct drawn *drawn, struct frames *frames)
{
    uint8_t kind = (uint8_t)draw(drawn, 1), offset = draw(drawn, 1) & 0x7f, reg = draw(drawn, 1) & 15;
    const struct {
        uint8_t length, bytes[13];
    } instructions[] = {
        {3, {0x12, 7, offset}}, /* def_cfa_sf: by the stack pointer, the frame pointer, another register */
        {3, {0x12, 6, offset}},
        {3, {0x12, reg, offset}},
        {5, {0x0f, 3, 0x76, offset, 0x06}}, /* def_cfa_expression: what is at the frame pointer, the stack pointer */
        {5, {0x0f, 3, 0x77, offset, 0x06}},
        {13, {0x0f, 11, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b}}, /* of a linkage table, and nops */
        {2, {0x07, 16}},                                            /* undefined: the return address */
        {2, {0x08, 16}},                                            /* same_value */
        {3, {0x11, 6, offset}},                                     /* offset_extended_sf: of the frame pointer */
        {5, {0x10, 6, 2, 0x76, offset}}, /* expression: of the frame pointer, at itself, at the stack pointer */
        {5, {0x10, 6, 2, 0x77, offset}},
        {1, {0x0a}}, /* remember_state */
        {1, {0x0b}}, /* restore_state */
    };
    size_t chosen = kind % (sizeof instructions / sizeof *instructions);
    const uint8_t advance[] = {0x02, (uint8_t)draw(drawn, 1)};
    put(frames, instructions[chosen].bytes, instructions[chosen].length);
    if (kind < 192)
        put(frames, advance, sizeof advance);
}

/* A record that others refer to, and a function's, which is all of the code. */
static void draw_rules(struct drawn *drawn, struct module *module)
{
    static const uint8_t common[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1};
    static const uint8_t common_of_handlers[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x03};
    struct cfi_table *table = &module->cfi;
    module->app = draw_below(drawn, 4) > 0;
    module->plt_high = draw(drawn, 1);
    *table = (struct cfi_table){.high = CODE_STEP, .size = 4096};
    uint64_t rows = draw_below(drawn, 16);
    if (rows == 0)
        return;
    table->frames = table->copy = sys_alloc(table->size + 1);
    struct frames frames = {table->copy, 0};
    if (draw_below(drawn, 8) == 0)
        put(&frames, common_of_handlers, sizeof common_of_handlers);
    else
        put(&frames, common, sizeof common);
    put_length(&frames, 0);
    size_t record = frames.length;
    const uint32_t head[] = {0, (uint32_t)record + 4, 0, 1 + (uint32_t)draw_below(drawn, CODE_STEP)};
    put(&frames, head, sizeof head);
    put(&frames, "", 1);
    for (; rows > 0; rows--)
        draw_instructions(drawn, &frames);
    put_length(&frames, record);
    struct cfi_entry *entry = sys_alloc(sizeof *entry);
    entry->record = (int32_t)record;
    table->entries = table->list = entry;
    table->list_bytes = sizeof *entry;
    table->count = 1;
}

/* Most often a place on the stack or in the code. */
static uint64_t draw_address(struct drawn *drawn, const uint64_t *stack)
{
    uint64_t kind = draw(drawn, 1);
    if (kind < 96)
        return (uint64_t)(uintptr_t)stack + draw(drawn, 1) * 8;
    if (kind < 224)
        return CODE + kind % (MOST_RANGES + 1) * CODE_STEP + draw(drawn, 2) % 4096;
    return draw(drawn, 8);
}

static void check_path(const struct code_map *map)
{
    size_t inner = path.frames < INNER_FRAMES ? (size_t)path.frames : INNER_FRAMES;
    DEMAND(path.frames >= 0 && path.walked <= 2 * 64 * (LOOKS + 1) && path.mark_count <= PATH_MARKS);
    for (size_t i = 0; i < inner + path_outer_count(&path); i++) {
        uint64_t pc = i < inner ? path.inner[i] : path_outer(&path, &memory, i - inner);
        const struct code_range *range = modules_find(map, pc);
        DEMAND(range != NULL && range->module->app);
    }
}

static void walk_once(struct drawn *drawn, const struct code_map *map, uint64_t *stack, size_t words)
{
    ucontext_t context = {0};
    for (int i = 0; i < NGREG; i++)
        context.uc_mcontext.gregs[i] = (greg_t)draw_address(drawn, stack);
    uint64_t low = (uint64_t)(uintptr_t)stack, known = draw_below(drawn, 4) > 0;
    if (known)
        context.uc_mcontext.gregs[REG_RSP] = (greg_t)(low + draw_below(drawn, words * 8));
    struct cursor cursor;
    unwind_start(&cursor, map, &context, known ? low : 0, known ? low + words * 8 : 0, window, &cache);
    looks = 0;
    path_walk(&path, &memory, &cursor, NULL, LOOKS);
    check_path(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    static struct module modules[MOST_RANGES];
    static struct code_range ranges[MOST_RANGES];
    struct code_map *map = calloc(1, sizeof *map);
    watched_allow(ALLOWED_BYTES(size));
    map->ranges = ranges;
    map->count = MOST_RANGES;
    for (size_t i = 0; i < MOST_RANGES; i++) {
        uint64_t start = CODE + i * CODE_STEP;
        draw_rules(&drawn, &modules[i]);
        map->ranges[i] =
            (struct code_range){.start = start, .end = start + CODE_STEP, .base = start, .module = &modules[i]};
    }
    size_t words = 16 + draw_below(&drawn, 2048);
    uint64_t *stack = calloc(words, 8);
    /* What is drawn comes again and again, so that short inputs make deep stacks. */
    size_t period = 1 + draw_below(&drawn, 64), fresh = period < words ? period : words;
    for (size_t i = 0; i < words; i++)
        stack[i] = i < fresh ? draw_address(&drawn, stack) : stack[i - fresh];
    for (size_t i = fresh; i < words; i++)
        if (stack[i] - (uint64_t)(uintptr_t)stack < words * 8)
            stack[i] += i / fresh * fresh * 8;
    memset(&memory, 0, sizeof memory);
    memset(&cache, 0, sizeof cache);
    for (int walks = 0; walks < 6; walks++) {
        walk_once(&drawn, map, stack, words);
        for (uint64_t changes = draw_below(&drawn, 4); changes > 0; changes--)
            stack[draw_below(&drawn, words)] = draw_address(&drawn, stack);
    }
    for (size_t i = 0; i < MOST_RANGES; i++)
        cfi_free(&modules[i].cfi);
    free(stack);
    free(map);
    return 0;
}
