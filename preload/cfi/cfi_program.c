#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

enum { OP_BREG0 = 0x70, OP_DEREF = 0x06, OP_LIT0 = 0x30 };

#define MOST_REMEMBERED 8

/* The rules at one address, before they become a row. */
struct rules {
    uint64_t cfa_register;
    int64_t cfa_offset;
    int64_t fp_offset;
    enum cfa_rule cfa;
    enum fp_rule fp;
    bool no_caller;
    int64_t ra_offset; /* of the return address, as RETURN_OFFSET */
    bool odd_return;   /* it is saved in another way */
};

static void set_cfa(struct rules *rules, uint64_t reg, int64_t offset)
{
    rules->cfa_register = reg;
    rules->cfa_offset = offset;
    rules->cfa = reg == DWARF_SP ? CFA_SP : reg == DWARF_FP ? CFA_FP : CFA_LEAF_REG;
}

/* Evaluate the three expressions that occur in compiled code: a dereferenced slot (realigned stacks and signal frames),
 * and the PLT's. */
static void cfa_expression(struct rules *rules, struct cfi_reader *reader, uint64_t length)
{
    static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}; /* x86-64 */
    uint64_t start = reader->at;
    rules->cfa = CFA_NONE;
    if (reader->failed || length > reader->end - start) {
        reader->failed = true;
        return;
    }
    if (length >= sizeof plt && memcmp(reader->data + start, plt, sizeof plt) == 0) {
        rules->cfa = CFA_PLT;
        rules->cfa_offset = length > sizeof plt ? reader->data[start + sizeof plt] - OP_LIT0 : 11;
    } else if (length >= 3) {
        uint64_t op = cfi_read_byte(reader);
        int64_t offset = cfi_read_sleb(reader);
        if (cfi_read_byte(reader) == OP_DEREF && reader->at == start + length) {
            if (op == OP_BREG0 + DWARF_FP)
                rules->cfa = CFA_DEREF_FP;
            else if (op == OP_BREG0 + DWARF_SP)
                rules->cfa = CFA_DEREF_SP;
            rules->cfa_offset = offset;
        }
    }
    reader->at = start + length;
}

static void register_expression(struct rules *rules, struct cfi_reader *reader, uint64_t reg, uint64_t length)
{
    uint64_t start = reader->at;
    if (reader->failed || length > reader->end - start) {
        reader->failed = true;
        return;
    }
    if (reg == DWARF_FP && length >= 2) {
        uint64_t op = cfi_read_byte(reader);
        int64_t offset = cfi_read_sleb(reader);
        if (op == OP_BREG0 + DWARF_FP || op == OP_BREG0 + DWARF_SP) {
            rules->fp = op == OP_BREG0 + DWARF_FP ? FP_AT_FP : FP_AT_SP;
            rules->fp_offset = offset;
        }
    } else if (reg == DWARF_RA) {
        rules->odd_return = true;
    }
    reader->at = start + length;
}

/* Return a factored offset; for an invalid record it wraps. */
static int64_t scaled(const struct cfi_function *function, uint64_t factored)
{
    return (int64_t)(factored * (uint64_t)function->data_align);
}

static void set_saved(struct rules *rules, uint64_t reg, int64_t offset)
{
    if (reg == DWARF_FP) {
        rules->fp = FP_AT_CFA;
        rules->fp_offset = offset;
    } else if (reg == DWARF_RA) {
        rules->ra_offset = offset;
        rules->odd_return = rules->no_caller = false;
    }
}

static void restore(struct rules *rules, const struct rules *initial, uint64_t reg)
{
    if (reg == DWARF_FP) {
        rules->fp = initial->fp;
        rules->fp_offset = initial->fp_offset;
    } else if (reg == DWARF_RA) {
        rules->no_caller = initial->no_caller;
        rules->ra_offset = initial->ra_offset;
        rules->odd_return = initial->odd_return;
    }
}

static void set_same(struct rules *rules, uint64_t reg)
{
    if (reg == DWARF_FP) {
        rules->fp = FP_SAME;
    } else if (reg == DWARF_RA) {
        rules->ra_offset = RETURN_OFFSET;
        rules->odd_return = rules->no_caller = false;
    }
}

/* False if a row cannot express it. */
static bool put_return(struct cfi_row *row, const struct rules *rules)
{
#if MACHINE_HAS_LINK_REGISTER
    row->ra_offset = (int16_t)(rules->ra_offset / 8);
    return !rules->odd_return && row->ra_offset * 8 == rules->ra_offset;
#else
    (void)row;
    return !rules->odd_return && rules->ra_offset == RETURN_OFFSET;
#endif
}

/* Return the row; CFA_NONE if a row cannot express the rules: unsupported ones are not guessed. */
static struct cfi_row make_row(const struct rules *rules, bool signal_frame)
{
    struct cfi_row row = {.cfa = rules->cfa & 15, .fp = rules->fp & 15};
    int64_t slots = rules->fp_offset / 8;
    row.cfa_offset = (int32_t)rules->cfa_offset;
    row.fp_offset = (int16_t)slots;
    row.reg = rules->cfa == CFA_LEAF_REG ? (uint8_t)rules->cfa_register : 0;
    if (signal_frame)
        row = (struct cfi_row){.cfa = CFA_SIGNAL};
    else if (rules->no_caller)
        row = (struct cfi_row){.cfa = CFA_END};
    else if (!put_return(&row, rules) || rules->cfa_offset != row.cfa_offset || row.fp_offset * 8 != rules->fp_offset ||
             (rules->cfa == CFA_LEAF_REG && rules->cfa_register >= DWARF_REGISTERS))
        row = (struct cfi_row){.cfa = CFA_NONE};
    return row;
}

/* The state of one run: instructions advance `pc` until the next would pass `address`. */
struct machine {
    struct cfi_reader *reader;
    const struct cfi_function *function;
    uint64_t address;
    uint64_t pc, end; /* range of the rules */
    bool has_arrived;
    struct rules rules;
    struct rules initial;
    struct rules remembered[MOST_REMEMBERED];
    size_t depth;
};

static void advance(struct machine *machine, uint64_t delta)
{
    uint64_t pc = machine->pc + delta * machine->function->code_align;
    if (pc < machine->pc || pc >= machine->function->high)
        machine->reader->failed = true;
    else if (pc <= machine->address)
        machine->pc = pc;
    else
        machine->end = pc;
    machine->has_arrived = machine->end < machine->function->high;
}

/* DW_CFA_* with the operation in all eight bits. */
static void extended(struct machine *machine, uint64_t operation)
{
    struct cfi_reader *reader = machine->reader;
    struct rules *rules = &machine->rules;
    const struct cfi_function *function = machine->function;
    uint64_t reg;
    switch (operation) {
    case 0x00: /* nop */
        return;
    case 0x01: /* set_loc */
        reg = cfi_read_pointer(reader, function->encoding);
        if (reader->failed || reg < machine->pc)
            reader->failed = true;
        else
            advance(machine, (reg - machine->pc) / function->code_align);
        return;
    case 0x02: /* advance_loc1 */
        advance(machine, cfi_read_byte(reader));
        return;
    case 0x03: /* advance_loc2 */
        advance(machine, cfi_read_fixed(reader, 2));
        return;
    case 0x04: /* advance_loc4 */
        advance(machine, cfi_read_fixed(reader, 4));
        return;
    case 0x05: /* offset_extended */
        reg = cfi_read_uleb(reader);
        set_saved(rules, reg, scaled(function, cfi_read_uleb(reader)));
        return;
    case 0x11: /* offset_extended_sf */
        reg = cfi_read_uleb(reader);
        set_saved(rules, reg, scaled(function, (uint64_t)cfi_read_sleb(reader)));
        return;
    case 0x06: /* restore_extended */
        restore(rules, &machine->initial, cfi_read_uleb(reader));
        return;
    case 0x07: /* undefined */
        if (cfi_read_uleb(reader) == DWARF_RA)
            rules->no_caller = true;
        return;
    case 0x08: /* same_value */
        set_same(rules, cfi_read_uleb(reader));
        return;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        reg = cfi_read_uleb(reader);
        cfi_read_uleb(reader);
        rules->odd_return |= reg == DWARF_RA;
        return;
    case 0x15: /* val_offset_sf */
        reg = cfi_read_uleb(reader);
        cfi_read_sleb(reader);
        rules->odd_return |= reg == DWARF_RA;
        return;
    case 0x0a: /* remember_state */
        if (machine->depth == MOST_REMEMBERED)
            reader->failed = true;
        else
            machine->remembered[machine->depth++] = *rules;
        return;
    case 0x0b: /* restore_state */
        if (machine->depth == 0)
            reader->failed = true;
        else
            *rules = machine->remembered[--machine->depth];
        return;
    case 0x0c: /* def_cfa */
        reg = cfi_read_uleb(reader);
        set_cfa(rules, reg, (int64_t)cfi_read_uleb(reader));
        return;
    case 0x12: /* def_cfa_sf */
        reg = cfi_read_uleb(reader);
        set_cfa(rules, reg, scaled(function, (uint64_t)cfi_read_sleb(reader)));
        return;
    case 0x0d: /* def_cfa_register */
        set_cfa(rules, cfi_read_uleb(reader), rules->cfa_offset);
        return;
    case 0x0e: /* def_cfa_offset */
        rules->cfa_offset = (int64_t)cfi_read_uleb(reader);
        return;
    case 0x13: /* def_cfa_offset_sf */
        rules->cfa_offset = scaled(function, (uint64_t)cfi_read_sleb(reader));
        return;
    case 0x0f: /* def_cfa_expression */
        cfa_expression(rules, reader, cfi_read_uleb(reader));
        return;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        reg = cfi_read_uleb(reader);
        register_expression(rules, reader, operation == 0x10 || reg == DWARF_RA ? reg : 0, cfi_read_uleb(reader));
        return;
    case 0x2e: /* GNU_args_size */
        cfi_read_uleb(reader);
        return;
#if defined(__aarch64__)
    case 0x2d: /* AARCH64_negate_ra_state: signed or not, the signature is removed */
        return;
#endif
    default:
        reader->failed = true;
    }
}

static void execute(struct machine *machine, uint64_t at, uint64_t end)
{
    struct cfi_reader *reader = machine->reader;
    reader->at = at;
    reader->end = end;
    reader->failed = end > reader->size || at > end;
    while (!reader->failed && !machine->has_arrived && reader->at < reader->end) {
        uint64_t byte = cfi_read_byte(reader);
        uint64_t low = byte & 0x3f;
        if (byte >> 6 == 1)
            advance(machine, low);
        else if (byte >> 6 == 2)
            set_saved(&machine->rules, low, scaled(machine->function, cfi_read_uleb(reader)));
        else if (byte >> 6 == 3)
            restore(&machine->rules, &machine->initial, low);
        else
            extended(machine, byte);
    }
}

struct cfi_row cfi_run(struct cfi_reader *reader, const struct cfi_function *function, uint64_t address,
                       uint64_t origin)
{
    struct machine machine = {
        .reader = reader, .function = function, .address = address, .pc = function->low, .end = function->high};
    machine.rules.ra_offset = RETURN_OFFSET;
    execute(&machine, function->common_at, function->common_end);
    machine.initial = machine.rules;
    if (!reader->failed && !machine.has_arrived)
        execute(&machine, function->own_at, function->own_end);
    struct cfi_row row = {.cfa = CFA_NONE};
    if (!reader->failed)
        row = make_row(&machine.rules, function->signal_frame);
    row.pc = (uint32_t)(machine.pc - origin);
    row.end = (uint32_t)(machine.end - origin);
    return row;
}
