#define _GNU_SOURCE
#include "unwind.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "peek.h"
#include "registers.h"
#include "sys.h"

#define BELOW 128 /* bytes; a multiple of 8 */

/* Fill the window around `address`, as far as memory is mapped: mostly from there on, and a little below, because a
 * frame's words are not read in their order. */
static bool copy_window(struct stack *stack, uint64_t address)
{
    struct iovec local = {stack->copy, UNWIND_WINDOW};
    uint64_t page = address & ~(uint64_t)4095;
    uint64_t low = address - page > BELOW ? address - BELOW : page;
    uint64_t next_page = page + 4096;
    /* Two pieces: the kernel stops at the first one that it cannot read. */
    struct iovec remote[2] = {{(void *)low, next_page - low}, {(void *)next_page, UNWIND_WINDOW - (next_page - low)}};
    long got = peek_or_error(&local, 1, remote, remote[1].iov_len > 0 ? 2 : 1);
    stack->copy_low = low;
    stack->copy_high = low + (got > 0 ? (uint64_t)got : 0);
    return got > 0 && stack->copy_high >= address + 8;
}

static bool read_word(struct stack *stack, uint64_t address, uint64_t *value)
{
    if ((address & 7) != 0)
        return false;
    if (address >= stack->low && address < stack->high && stack->high - address >= 8) {
        *value = *(const uint64_t *)address;
        return true;
    }
    bool held = address >= stack->copy_low && address < stack->copy_high && stack->copy_high - address >= 8;
    if (!held && (stack->is_all || !copy_window(stack, address)))
        return false;
    memcpy(value, stack->copy + (address - stack->copy_low), 8);
    return true;
}

bool unwind_read_word(struct cursor *cursor, uint64_t address, uint64_t *value)
{
    return read_word(&cursor->stack, address, value);
}

static struct cfi_row rule_at(const struct code_range *range, uint64_t pc)
{
    return range != NULL ? cfi_find(&range->module->cfi, pc - range->base) : (struct cfi_row){.cfa = CFA_NONE};
}

static void fill(struct unwind_place *place, const struct code_map *map, uint64_t pc)
{
    const struct code_range *range = modules_find(map, pc);
    *place = (struct unwind_place){
        .number = map->number, .low = pc, .high = pc + 1, .range = range, .row = rule_at(range, pc)};
    if (range == NULL || place->row.end == 0)
        return;
    const uint64_t origin = range->base + range->module->cfi.low;
    const uint64_t low = origin + place->row.pc, high = origin + place->row.end;
    place->low = low > range->start ? low : range->start;
    place->high = high < range->end ? high : range->end;
}

static bool is_valid(const struct unwind_place *place, const struct code_map *map, uint64_t pc)
{
    return place->number == map->number && pc >= place->low && pc < place->high;
}

/* Return the place of an address, one of two. A new one takes the first, whose contents move to the second. */
static const struct unwind_place *place_of(struct unwind_cache *cache, const struct code_map *map, uint64_t pc)
{
    size_t home = (pc >> 5 ^ pc >> 12 ^ pc >> 19) % UNWIND_CACHE;
    struct unwind_place *first = &cache->places[home], *second = &cache->places[home ^ 1];
    if (is_valid(first, map, pc))
        return first;
    if (is_valid(second, map, pc))
        return second;
    *second = *first;
    fill(first, map, pc);
    return first;
}

/* Look up the object of the cursor's frame, and the rule that unwinds it. */
static void look_up(struct cursor *cursor)
{
    static const struct unwind_place unknown = {.row = {.cfa = CFA_NONE}};
    const struct code_map *map = cursor->map;
    const struct unwind_place *place = map != NULL ? place_of(cursor->cache, map, unwind_lookup_pc(cursor)) : &unknown;
    cursor->range = place->range;
    cursor->row = place->row;
}

void unwind_start(struct cursor *cursor, const struct code_map *map, const ucontext_t *context, uint64_t stack_low,
                  uint64_t stack_high, uint8_t *copy, struct unwind_cache *cache)
{
    cursor->map = map;
    cursor->cache = cache;
    cursor->context = context;
    cursor->pc = machine_pc(context);
    cursor->sp = machine_register(context, DWARF_SP);
    cursor->fp = machine_register(context, DWARF_FP);
    cursor->link = machine_link(context);
    cursor->return_at = 0;
    cursor->leaf = cursor->is_exact = true;
    cursor->lacks_registers = false;
    look_up(cursor);
    bool own_stack = cursor->sp >= stack_low && cursor->sp < stack_high;
    cursor->stack = (struct stack){.copy = copy};
    if (own_stack) {
        cursor->stack.low = cursor->sp;
        cursor->stack.high = stack_high;
    }
}

void unwind_start_blocked(struct cursor *cursor, const struct code_map *map, uint64_t pc, uint64_t sp, uint8_t *copy,
                          struct unwind_cache *cache)
{
    *cursor = (struct cursor){
        .map = map, .cache = cache, .pc = pc, .sp = sp, .leaf = true, .is_exact = true, .lacks_registers = true};
    cursor->stack.copy = copy;
    if ((sp & 7) == 0)
        copy_window(&cursor->stack, sp);
    look_up(cursor);
}

void unwind_only_copy(struct cursor *cursor, uint64_t bytes)
{
    struct stack *stack = &cursor->stack;
    stack->low = stack->high = 0;
    stack->copy_low = cursor->sp;
    stack->copy_high = cursor->sp + bytes;
    stack->is_all = true;
}

/* `return_at`: stack address of the return address, or 0. */
static enum unwind_result arrive(struct cursor *cursor, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t return_at)
{
    cursor->pc = machine_address(pc);
    cursor->sp = sp;
    cursor->fp = fp;
    cursor->return_at = return_at;
    cursor->leaf = false;
    cursor->is_exact = true;
    cursor->context = NULL;
    look_up(cursor);
    return cursor->pc == 0 ? UNWIND_END : UNWIND_CALLER;
}

static bool is_code(const struct cursor *cursor, uint64_t pc)
{
    return modules_find(cursor->map, machine_address(pc) - 1) != NULL;
}

/* Code without call frame information (JIT, hand-written assembly): use the frame pointer if it is plausible. */
static enum unwind_result step_by_frame_pointer(struct cursor *cursor)
{
    uint64_t pc;
    uint64_t fp;
    if (cursor->fp < cursor->sp || cursor->fp - cursor->sp > ((uint64_t)1 << 20) ||
        !read_word(&cursor->stack, cursor->fp, &fp) || !read_word(&cursor->stack, cursor->fp + 8, &pc) ||
        !is_code(cursor, pc))
        return UNWIND_BROKEN;
    enum unwind_result result = arrive(cursor, pc, cursor->fp + 16, fp, cursor->fp + 8);
    cursor->is_exact = !MACHINE_HAS_LINK_REGISTER; /* with one, the two words may be anywhere in a frame */
    return result;
}

/* The interrupted code may run on another stack than its handler. Any stack but the thread's own is read through the
 * kernel. */
static enum unwind_result step_signal_frame(struct cursor *cursor)
{
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    struct stack *stack = &cursor->stack;
    uint64_t frame = cursor->sp;
#if MACHINE_HAS_LINK_REGISTER
    uint64_t link;
    if (!read_word(stack, frame + SIGNAL_LINK, &link))
        return UNWIND_BROKEN;
    cursor->link = machine_address(link);
#endif
    if (!read_word(stack, frame + SIGNAL_PC, &pc) || !read_word(stack, frame + SIGNAL_SP, &sp) ||
        !read_word(stack, frame + SIGNAL_FP, &fp))
        return UNWIND_BROKEN;
    enum unwind_result result = arrive(cursor, pc, sp, fp, 0);
    cursor->leaf = true;
    look_up(cursor);
    return result;
}

#if MACHINE_HAS_LINK_REGISTER
/* Return whether the cursor is at a signal frame. The handler's return trampoline has no rules here. The kernel puts a
 * frame record before it, and points the handler's frame pointer there; the record's two registers equal those in the
 * signal frame. */
static bool is_signal_frame(struct cursor *cursor)
{
    struct stack *stack = &cursor->stack;
    uint64_t recorded[2];
    uint64_t interrupted[2];
    return !cursor->leaf && read_word(stack, cursor->fp, &recorded[0]) &&
           read_word(stack, cursor->fp + 8, &recorded[1]) &&
           read_word(stack, cursor->sp + SIGNAL_FP, &interrupted[0]) &&
           read_word(stack, cursor->sp + SIGNAL_LINK, &interrupted[1]) && recorded[0] == interrupted[0] &&
           recorded[1] == interrupted[1];
}

static bool has_rules(const struct cursor *cursor, uint64_t pc)
{
    return rule_at(modules_find(cursor->map, pc), pc).cfa != CFA_NONE;
}

/* A leaf routine without rules (assembly, linkage stubs) has usually saved nothing, and its caller is compiled code. In
 * code compiled without rules, the link register may be stale, from a call that has returned. */
static enum unwind_result step_without_rules(struct cursor *cursor)
{
    if (is_signal_frame(cursor))
        return step_signal_frame(cursor);
    if (cursor->leaf && !cursor->lacks_registers && has_rules(cursor, cursor->link - 1))
        return arrive(cursor, cursor->link, cursor->sp, cursor->fp, 0);
    return step_by_frame_pointer(cursor);
}
#else
/* A leaf routine without rules has its return address on top of the stack, or nearby (return_search). */
static enum unwind_result step_without_rules(struct cursor *cursor)
{
    uint64_t pc;
    /* JIT code keeps frame pointers if it supports profiling at all. */
    if (cursor->range != NULL && cursor->range->module->jit && step_by_frame_pointer(cursor) == UNWIND_CALLER)
        return UNWIND_CALLER;
    if (cursor->leaf && read_word(&cursor->stack, cursor->sp, &pc) && is_code(cursor, pc))
        return arrive(cursor, pc, cursor->sp + 8, cursor->fp, cursor->sp);
    return step_by_frame_pointer(cursor);
}
#endif

static bool find_cfa(struct cursor *cursor, const struct cfi_row *row, uint64_t *cfa)
{
    uint64_t offset = (uint64_t)(int64_t)row->cfa_offset;
    switch (row->cfa) {
    case CFA_SP:
        *cfa = cursor->sp + offset;
        return true;
    case CFA_FP:
        *cfa = cursor->fp + offset;
        return true;
    case CFA_LEAF_REG:
        *cfa = cursor->context != NULL ? machine_register(cursor->context, row->reg) + offset : 0;
        return cursor->context != NULL;
    case CFA_DEREF_FP:
        return read_word(&cursor->stack, cursor->fp + offset, cfa);
    case CFA_DEREF_SP:
        return read_word(&cursor->stack, cursor->sp + offset, cfa);
    case CFA_PLT:
        *cfa = cursor->sp + 8 + ((cursor->pc & 15) >= offset ? 8 : 0);
        return true;
    default:
        return false;
    }
}

static bool find_fp(struct cursor *cursor, const struct cfi_row *row, uint64_t cfa, uint64_t *fp)
{
    uint64_t offset = (uint64_t)((int64_t)row->fp_offset * 8);
    switch (row->fp) {
    case FP_AT_CFA:
        return read_word(&cursor->stack, cfa + offset, fp);
    case FP_AT_FP:
        return read_word(&cursor->stack, cursor->fp + offset, fp);
    case FP_AT_SP:
        return read_word(&cursor->stack, cursor->sp + offset, fp);
    default:
        *fp = cursor->fp;
        return true;
    }
}

static bool find_return(struct cursor *cursor, const struct cfi_row *row, uint64_t cfa, uint64_t *pc, uint64_t *at)
{
    int64_t offset = RETURN_OFFSET;
#if MACHINE_HAS_LINK_REGISTER
    offset = (int64_t)row->ra_offset * 8;
    if (offset == 0) {
        *pc = cursor->link;
        *at = 0;
        return cursor->leaf && !cursor->lacks_registers;
    }
#else
    (void)row;
#endif
    *at = cfa + (uint64_t)offset;
    return read_word(&cursor->stack, *at, pc);
}

void unwind_go_to(struct cursor *cursor, const struct frame *frame)
{
    arrive(cursor, frame->pc, frame->sp, frame->fp, frame->return_at);
    cursor->is_exact = frame->is_exact;
}

struct frame unwind_frame(const struct cursor *cursor)
{
    return (struct frame){.pc = cursor->pc,
                          .sp = cursor->sp,
                          .fp = cursor->fp,
                          .return_at = cursor->return_at,
                          .is_exact = cursor->is_exact};
}

/* Return whether the frame is outermost. No call returns to an address at which a function begins and none ends: the
 * stack's creator has put it there, as makecontext does for a coroutine. For addresses without rules before them. */
static bool is_outermost(const struct cursor *cursor)
{
    return !cursor->leaf && rule_at(cursor->range, cursor->pc).cfa != CFA_NONE;
}

enum unwind_result unwind_step(struct cursor *cursor)
{
    const struct cfi_row *row = &cursor->row;
    if (row->cfa == CFA_NONE)
        return is_outermost(cursor) ? UNWIND_END : step_without_rules(cursor);
    if (row->cfa == CFA_END)
        return UNWIND_END;
    if (row->cfa == CFA_SIGNAL)
        return step_signal_frame(cursor);
    if (row->cfa == CFA_SP && !cursor->is_exact)
        return step_by_frame_pointer(cursor);
    uint64_t least = cursor->leaf ? LEAST_FRAME : 8;
    uint64_t cfa;
    uint64_t pc;
    uint64_t fp;
    uint64_t at;
    if (!find_cfa(cursor, row, &cfa) || cfa < cursor->sp || cfa - cursor->sp < least ||
        !find_return(cursor, row, cfa, &pc, &at) || !find_fp(cursor, row, cfa, &fp))
        return UNWIND_BROKEN;
    return arrive(cursor, pc, cfa, fp, at);
}
