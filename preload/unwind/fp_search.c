#define _GNU_SOURCE
#include "unwind.h"

#include <string.h>

#include "peek.h"

#define PROLOGUE_BYTES 64
#define MOST_ROWS 32 /* of a prologue */
/* A function with a variable frame: saved words between the stack pointer and its frame pointer. */
#define MOST_WORDS 512
#define MOST_DISTANCE ((uint64_t)1 << 20)

/* Find the address at which the function has set its frame pointer, with the rule of the cursor's frame before. */
static bool find_start(const struct cursor *cursor, uint64_t *start)
{
    const struct code_range *range = cursor->range;
    const struct cfi_table *table = &range->module->cfi;
    struct cfi_row row = cursor->row;
    for (int i = 0; i < MOST_ROWS && row.pc > 0; i++) {
        struct cfi_row before = cfi_find(table, table->low + row.pc - 1);
        if (before.cfa == CFA_SP && before.end == row.pc) {
            *start = range->base + table->low + row.pc;
            return true;
        }
        if (before.cfa != row.cfa || before.cfa_offset != row.cfa_offset)
            return false;
        row = before;
    }
    return false;
}

/* Return the length of a move between registers or a clearing of one, which prologues have in between; 0: neither. */
static size_t harmless_length(const uint8_t *code)
{
    size_t prefix = (code[0] & 0xf0) == 0x40;
    uint8_t opcode = code[prefix];
    bool is_register = (code[prefix + 1] & 0xc0) == 0xc0;
    bool writes_sp =
        prefix && (code[0] & 8) != 0 && (opcode == 0x89 ? code[prefix + 1] & 7 : code[prefix + 1] >> 3 & 7) == 4;
    return (opcode == 0x89 || opcode == 0x8b || opcode == 0x31) && is_register && !writes_sp ? prefix + 2 : 0;
}

/* Return the bytes that the prologue has reserved below the frame pointer: pushed registers, and one subtraction. */
static uint64_t reserved_bytes(const uint8_t *code, size_t size)
{
    uint64_t bytes = 0;
    int32_t wide;
    for (size_t at = 0, length; at + 8 <= size; at += length) {
        const uint8_t *one = code + at;
        size_t prefix = one[0] == 0x41;
        if ((one[prefix] & 0xf8) == 0x50) {
            bytes += 8;
            length = prefix + 1;
        } else if (one[0] == 0x48 && one[1] == 0x83 && one[2] == 0xec) {
            return bytes + one[3];
        } else if (one[0] == 0x48 && one[1] == 0x81 && one[2] == 0xec) {
            memcpy(&wide, one + 3, sizeof wide);
            return bytes + (uint64_t)(int64_t)wide;
        } else if ((length = harmless_length(one)) == 0) {
            return bytes;
        }
    }
    return bytes;
}

/* Return whether the two words at `fp` are a saved frame pointer and a return address of a call of this function, which
 * begins shortly before `start`. */
static bool is_frame(struct cursor *cursor, uint64_t fp, uint64_t start)
{
    uint64_t pc;
    uint64_t target;
    if (fp < cursor->sp || !unwind_read_word(cursor, fp + 8, &pc) || !return_follows_call(cursor, pc, &target))
        return false;
    const struct code_range *range = target != 0 ? modules_find(cursor->map, target) : NULL;
    if (range == NULL) /* an indirect call */
        return target == 0;
    uint64_t address = target - range->base;
    bool is_stub = address >= range->module->plt_low && address < range->module->plt_high;
    return is_stub || (target < start && start - target <= PROLOGUE_BYTES);
}

bool fp_search(struct cursor *cursor)
{
    uint8_t code[PROLOGUE_BYTES] = {0};
    uint64_t start;
    if (cursor->range == NULL || !cursor->is_exact || !find_start(cursor, &start) || !peek(code, start, sizeof code))
        return false;
    uint64_t fp = cursor->sp + reserved_bytes(code, sizeof code);
    if (fp - cursor->sp < MOST_DISTANCE && (fp & 7) == 0 && is_frame(cursor, fp, start)) {
        cursor->fp = fp;
        return true;
    }
    for (fp = (cursor->sp + 15) & ~(uint64_t)15; fp < cursor->sp + 8 * (uint64_t)MOST_WORDS; fp += 16) {
        uint64_t saved;
        if (!unwind_read_word(cursor, fp, &saved))
            return false;
        if (saved > fp && saved - fp < MOST_DISTANCE && is_frame(cursor, fp, start)) {
            cursor->fp = fp;
            return true;
        }
    }
    return false;
}
