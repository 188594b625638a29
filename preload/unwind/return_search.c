#define _GNU_SOURCE
#include "unwind.h"

#include <string.h>
#include <sys/uio.h>

#include "registers.h"
#include "sys.h"

/* Six saved registers, and locals. */
#define NEAR_WORDS 32
/* The function's own aligned buffer. */
#define FAR_BYTES ((uint64_t)1 << 20)
#define TRIAL_FRAMES 8
#define LEAST_FRAMES 2
#define MOST_TRIALS 32 /* limits the time for any stack */

#define CALL_BYTES 7 /* the longest */

/* Return the length of an instruction's operand, from its ModRM byte on. */
static size_t operand_length(const uint8_t *modrm)
{
    unsigned int mode = modrm[0] >> 6;
    bool has_index = mode != 3 && (modrm[0] & 7) == 4;
    unsigned int base = (has_index ? modrm[1] : modrm[0]) & 7;
    size_t displacement = mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;
    return 1 + has_index + displacement;
}

/* Return whether these CALL_BYTES end with a call of an address. */
static bool is_direct(const uint8_t *code)
{
    return code[CALL_BYTES - 5] == 0xe8;
}

/* Return whether they end with a call through a register or memory: opcode ff, /2. */
static bool is_indirect(const uint8_t *code)
{
    for (size_t length = 2; length <= CALL_BYTES; length++) {
        const uint8_t *call = code + CALL_BYTES - length;
        if (call[0] == 0xff && (call[1] >> 3 & 7) == 2 && operand_length(call + 1) == length - 1)
            return true;
    }
    return false;
}

/* Read the CALL_BYTES before `pc`, which is in code; its library may have been unloaded since. */
static bool read_call(const struct cursor *cursor, uint64_t pc, uint8_t *code)
{
    const struct code_range *range = modules_find(cursor->map, pc - 1);
    if (range == NULL || pc - range->start < CALL_BYTES)
        return false;
    pid_t pid = range->module->pid != 0 ? range->module->pid : (pid_t)SYS0(SYS_getpid);
    struct iovec local = {code, CALL_BYTES};
    struct iovec remote = {(void *)(pc - CALL_BYTES), CALL_BYTES};
    return SYS6(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0) == CALL_BYTES;
}

static bool is_return(const struct cursor *cursor, uint64_t pc)
{
    uint8_t code[CALL_BYTES + 1] = {0}; /* an operand may seem to continue */
    return read_call(cursor, pc, code) && (is_direct(code) || is_indirect(code));
}

bool return_follows_call(const struct cursor *cursor, uint64_t pc, uint64_t *target)
{
    uint8_t code[CALL_BYTES + 1] = {0}; /* an operand may seem to continue */
    int32_t distance;
    *target = 0;
    if (!read_call(cursor, pc, code))
        return false;
    memcpy(&distance, code + CALL_BYTES - sizeof distance, sizeof distance);
    if (!is_direct(code))
        return is_indirect(code);
    *target = pc + (uint64_t)(int64_t)distance;
    return true;
}

/* Return whether `target` is code without rules, or a stub for it. Code with rules between it and the leaf would show
 * that it is another function. */
static bool may_begin(const struct cursor *cursor, uint64_t target)
{
    const struct code_range *range = modules_find(cursor->map, target);
    if (range == NULL)
        return false;
    uint64_t address = target - range->base;
    const struct module *module = range->module;
    if (address >= module->plt_low && address < module->plt_high)
        return true;
    if (range != cursor->range || target > cursor->pc)
        return false;
    const struct cfi_row row = cfi_find(&module->cfi, address);
    return row.cfa == CFA_NONE && row.pc == cursor->row.pc;
}

/* Return whether the call before `pc` may have called the leaf's function. Any other callee has returned, and its
 * return address is stale. */
static bool is_return_of_leaf(const struct cursor *cursor, uint64_t pc)
{
    uint8_t code[CALL_BYTES + 1] = {0}; /* an operand may seem to continue */
    int32_t distance;
    if (!read_call(cursor, pc, code))
        return false;
    memcpy(&distance, code + CALL_BYTES - sizeof distance, sizeof distance);
    return (is_direct(code) && may_begin(cursor, pc + (uint64_t)(int64_t)distance)) || is_indirect(code);
}

struct search {
    struct cursor *cursor;
    struct frame caller;
    int trials;        /* that are left */
    uint64_t waypoint; /* address of a frame on the way, or 0 */
};

static bool is_near(uint64_t low, uint64_t at)
{
    return at >= low && at - low < 8 * (uint64_t)NEAR_WORDS;
}

/* Return whether rules unwind from the caller up the stack, with every address after a call: to the stack's end, a
 * handler's beginning, or for some frames. If the caller has no rules, two frames suffice. */
static bool unwinds_on(struct search *search)
{
    struct cursor trial = *search->cursor;
    enum unwind_result result = UNWIND_CALLER;
    int steps = 0;
    bool is_through = search->waypoint == 0;
    search->trials--;
    unwind_go_to(&trial, &search->caller);
    while (result == UNWIND_CALLER && steps < TRIAL_FRAMES && trial.row.cfa != CFA_NONE) {
        uint64_t sp = trial.sp;
        result = unwind_step(&trial);
        bool is_handler = result == UNWIND_CALLER && trial.row.cfa == CFA_SIGNAL;
        if (is_handler || (result == UNWIND_END && trial.pc != 0))
            result = UNWIND_END;
        else if (result != UNWIND_CALLER || trial.sp <= sp || !is_return(&trial, trial.pc))
            result = UNWIND_BROKEN;
        is_through = is_through || is_near(search->waypoint, trial.return_at);
        steps++;
    }
    search->cursor->stack = trial.stack; /* both read into the same window */
    return is_through && (result == UNWIND_END || (result == UNWIND_CALLER && steps >= LEAST_FRAMES));
}

/* Read a candidate for the saved frame pointer: registers are pushed right below the return address, or stored at the
 * bottom; stale values lie between. */
static bool read_saved(struct search *search, uint64_t low, uint64_t at, uint64_t n)
{
    uint64_t saved = n % 2 == 0 ? at - 8 - 8 * (n / 2) : low + 8 * (n / 2);
    return unwind_read_word(search->cursor, saved, &search->caller.fp);
}

/* Return whether the return address is at `at`. A frame pointer that rules use leads further out. */
static bool try_return_at(struct search *search, uint64_t low, uint64_t at)
{
    struct cursor *cursor = search->cursor;
    uint64_t pc;
    if (!unwind_read_word(cursor, at, &pc) || !is_return_of_leaf(cursor, pc))
        return false;
    search->caller = (struct frame){.pc = pc, .sp = at + 8, .fp = cursor->fp, .return_at = at, .is_exact = true};
    bool leads_on = unwinds_on(search);
    for (uint64_t n = 0; !leads_on && n < (at - low) / 8 && search->trials > 0; n++)
        leads_on = read_saved(search, low, at, n) && search->caller.fp > at && unwinds_on(search);
    return leads_on;
}

static bool search_above(struct search *search, uint64_t low)
{
    for (uint64_t at = low; is_near(low, at) && search->trials > 0; at += 8)
        if (try_return_at(search, low, at))
            return true;
    return false;
}

/* Search above a saved stack pointer: a function that aligns its stack keeps the old value in a callee-saved
 * register. */
static bool search_above_saved(struct search *search)
{
    static const uint8_t registers[] = {3, DWARF_FP, 12, 13, 14, 15};
    const struct cursor *cursor = search->cursor;
    for (size_t i = 0; i < sizeof registers; i++) {
        uint64_t low = machine_register(cursor->context, registers[i]);
        if (low > cursor->sp && low - cursor->sp < FAR_BYTES && search_above(search, low)) {
            search->waypoint = low;
            return true;
        }
    }
    return false;
}

/* Search above a page-aligned stack pointer. Usually a buffer with stale return addresses lies right above it. But the
 * alignment may be by chance, and the saved register may be that of a function further out: then rules lead from above
 * to that function. */
static bool search_pages_above(struct search *search)
{
    bool has_caller = search_above_saved(search);
    struct frame caller = search->caller;
    search->trials = MOST_TRIALS;
    if (search_above(search, search->cursor->sp))
        return true;
    search->caller = caller;
    return has_caller;
}

bool return_search(struct cursor *cursor, struct frame *caller)
{
    struct search search = {.cursor = cursor, .trials = MOST_TRIALS};
    if (cursor->range == NULL || cursor->context == NULL)
        return false;
    bool is_page = (cursor->sp & (MACHINE_PAGE - 1)) == 0;
    bool has_caller =
        is_page ? search_pages_above(&search) : search_above(&search, cursor->sp) || search_above_saved(&search);
    *caller = search.caller;
    return has_caller;
}
