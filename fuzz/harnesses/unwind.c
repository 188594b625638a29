/* Walks over drawn stacks by drawn rules, the memory of one kept for the next: nothing is read outside the stack but
 * through the kernel, no walk goes on for ever, and every frame lies in code of the application's. */
#define _GNU_SOURCE
#include "drawn.h"
#include "path.h"
#include "watched.h"

#define CODE 0x10000000u
#define CODE_STEP 0x100000u
#define MOST_RANGES 3
#define LOOKS 12 /* at the clock, before a walk's time is up */

static uint64_t looks;
static struct path path;
static struct path_memory memory;
static struct unwind_cache cache;
static uint8_t window[UNWIND_WINDOW];

static int count_looks(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){0, (long)++looks};
    return 0;
}
int (*vdso_clock_gettime)(clockid_t clock, struct timespec *now) = count_looks;

static void draw_rules(struct drawn *drawn, struct module *module)
{
    struct cfi_table *table = &module->cfi;
    module->app = draw_below(drawn, 4) > 0;
    module->plt_high = draw(drawn, 1);
    *table = (struct cfi_table){.high = CODE_STEP};
    uint32_t pc = 0;
    for (uint64_t left = draw_below(drawn, 16); left > 0; left--) {
        struct cfi_row row = {.pc = pc, .cfa_offset = (int16_t)draw(drawn, 2), .fp_offset = (int8_t)draw(drawn, 1)};
        uint64_t rules = draw(drawn, 1);
        row.cfa = rules % (CFA_SIGNAL + 1);
        row.fp = rules / 16 % (FP_AT_SP + 1);
        row.reg = draw(drawn, 1) & 15;
        cfi_add_row(table, &row);
        pc += 1 + (uint32_t)draw(drawn, 1);
    }
    if (table->count > 0)
        cfi_build_index(table);
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
    struct code_map *map = calloc(1, sizeof *map + MOST_RANGES * sizeof map->ranges[0]);
    watched_allow(ALLOWED_BYTES(size));
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
