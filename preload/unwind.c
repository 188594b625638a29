#define _GNU_SOURCE
#include "unwind.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys.h"

/* Offsets into the signal frame that the kernel pushed, from the rsp with which its restorer runs (struct ucontext). */
enum { SIGNAL_RBP = 120, SIGNAL_RSP = 160, SIGNAL_RIP = 168 };

/* Fills the window from `address` on, as far as memory is mapped. */
static bool copy_window(struct stack *stack, uint64_t address)
{
    struct iovec local = {stack->copy, UNWIND_WINDOW};
    uint64_t next_page = (address | 4095) + 1;
    /* Two pieces: the kernel stops at the first one that it cannot read. */
    struct iovec remote[2] = {{(void *)address, next_page - address},
                              {(void *)next_page, UNWIND_WINDOW - (next_page - address)}};
    long got = SYS6(SYS_process_vm_readv, SYS0(SYS_getpid), &local, 1, remote, remote[1].iov_len > 0 ? 2 : 1, 0);
    stack->copy_low = address;
    stack->copy_high = address + (got > 0 ? (uint64_t)got : 0);
    return got >= 8;
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
    if (!held && !copy_window(stack, address))
        return false;
    memcpy(value, stack->copy + (address - stack->copy_low), 8);
    return true;
}

/* Which object the cursor's frame is in, and which rule leads out of it. */
static void look_up(struct cursor *cursor)
{
    uint64_t pc = unwind_lookup_pc(cursor);
    struct unwind_place *place = &cursor->cache->places[(pc ^ pc >> 7) % UNWIND_CACHE];
    if (place->pc != pc) {
        const struct code_range *range = modules_find(cursor->map, pc);
        place->pc = pc;
        place->range = range;
        place->row = range != NULL ? cfi_find(&range->module->cfi, pc - range->base) : NULL;
    }
    cursor->range = place->range;
    cursor->row = place->row;
}

void unwind_start(struct cursor *cursor, const struct code_map *map, const ucontext_t *context, uint64_t stack_low,
                  uint64_t stack_high, uint8_t *copy, struct unwind_cache *cache)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    if (cache->map != map)
        memset(cache, 0, sizeof *cache);
    cache->map = map;
    cursor->map = map;
    cursor->cache = cache;
    cursor->context = context;
    cursor->pc = (uint64_t)registers[REG_RIP];
    cursor->sp = (uint64_t)registers[REG_RSP];
    cursor->bp = (uint64_t)registers[REG_RBP];
    cursor->leaf = true;
    look_up(cursor);
    bool own_stack = cursor->sp >= stack_low && cursor->sp < stack_high;
    cursor->stack = (struct stack){.copy = copy};
    if (own_stack) {
        cursor->stack.low = cursor->sp;
        cursor->stack.high = stack_high;
    }
}

/* Registers by their DWARF numbers, as they were when the thread was interrupted. */
static uint64_t leaf_register(const struct cursor *cursor, unsigned int number)
{
    static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return (uint64_t)cursor->context->uc_mcontext.gregs[order[number & 15]];
}

static enum unwind_result arrive(struct cursor *cursor, uint64_t pc, uint64_t sp, uint64_t bp, bool leaf)
{
    cursor->pc = pc;
    cursor->sp = sp;
    cursor->bp = bp;
    cursor->leaf = leaf;
    cursor->context = NULL;
    look_up(cursor);
    return pc == 0 ? UNWIND_END : UNWIND_CALLER;
}

/* Code without call frame information (JIT, hand-written assembly): trust a frame pointer that makes sense. */
static enum unwind_result step_by_frame_pointer(struct cursor *cursor)
{
    uint64_t pc;
    uint64_t bp;
    if (cursor->bp < cursor->sp || cursor->bp - cursor->sp > ((uint64_t)1 << 20) ||
        !read_word(&cursor->stack, cursor->bp, &bp) || !read_word(&cursor->stack, cursor->bp + 8, &pc) ||
        modules_find(cursor->map, pc - 1) == NULL)
        return UNWIND_BROKEN;
    return arrive(cursor, pc, cursor->bp + 16, bp, false);
}

/* A leaf routine of that kind has usually pushed nothing: its return address is on top. */
static enum unwind_result step_without_rules(struct cursor *cursor)
{
    uint64_t pc;
    if (cursor->leaf && read_word(&cursor->stack, cursor->sp, &pc) && modules_find(cursor->map, pc - 1) != NULL)
        return arrive(cursor, pc, cursor->sp + 8, cursor->bp, false);
    return step_by_frame_pointer(cursor);
}

/* The interrupted code may run on another stack than its handler: whichever it is, it is read through the kernel
 * unless it is the thread's own. */
static enum unwind_result step_signal_frame(struct cursor *cursor)
{
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    struct stack *stack = &cursor->stack;
    if (!read_word(stack, cursor->sp + SIGNAL_RIP, &pc) || !read_word(stack, cursor->sp + SIGNAL_RSP, &sp) ||
        !read_word(stack, cursor->sp + SIGNAL_RBP, &bp))
        return UNWIND_BROKEN;
    return arrive(cursor, pc, sp, bp, true);
}

static bool find_cfa(struct cursor *cursor, const struct cfi_row *row, uint64_t *cfa)
{
    uint64_t offset = (uint64_t)(int64_t)row->cfa_offset;
    switch (row->cfa) {
    case CFA_RSP:
        *cfa = cursor->sp + offset;
        return true;
    case CFA_RBP:
        *cfa = cursor->bp + offset;
        return true;
    case CFA_LEAF_REG:
        *cfa = cursor->context != NULL ? leaf_register(cursor, row->reg) + offset : 0;
        return cursor->context != NULL;
    case CFA_DEREF_RBP:
        return read_word(&cursor->stack, cursor->bp + offset, cfa);
    case CFA_DEREF_RSP:
        return read_word(&cursor->stack, cursor->sp + offset, cfa);
    case CFA_PLT:
        *cfa = cursor->sp + 8 + ((cursor->pc & 15) >= offset ? 8 : 0);
        return true;
    default:
        return false;
    }
}

static bool find_bp(struct cursor *cursor, const struct cfi_row *row, uint64_t cfa, uint64_t *bp)
{
    uint64_t offset = (uint64_t)((int64_t)row->rbp_offset * 8);
    switch (row->rbp) {
    case RBP_AT_CFA:
        return read_word(&cursor->stack, cfa + offset, bp);
    case RBP_AT_RBP:
        return read_word(&cursor->stack, cursor->bp + offset, bp);
    case RBP_AT_RSP:
        return read_word(&cursor->stack, cursor->sp + offset, bp);
    default:
        *bp = cursor->bp;
        return true;
    }
}

void unwind_go_to(struct cursor *cursor, uint64_t pc, uint64_t sp, uint64_t bp)
{
    arrive(cursor, pc, sp, bp, false);
}

enum unwind_result unwind_step(struct cursor *cursor)
{
    const struct cfi_row *row = cursor->row;
    if (row == NULL || row->cfa == CFA_NONE)
        return step_without_rules(cursor);
    if (row->cfa == CFA_END)
        return UNWIND_END;
    if (row->cfa == CFA_SIGNAL)
        return step_signal_frame(cursor);
    uint64_t cfa;
    uint64_t pc;
    uint64_t bp;
    if (!find_cfa(cursor, row, &cfa) || cfa <= cursor->sp || !read_word(&cursor->stack, cfa - 8, &pc) ||
        !find_bp(cursor, row, cfa, &bp))
        return UNWIND_BROKEN;
    return arrive(cursor, pc, cfa, bp, false);
}
