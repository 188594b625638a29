#define _GNU_SOURCE
#include "go_table.h"

#include <string.h>

#include "cfi_record.h"
#include "machine.h"
#include "sys.h"

#define MAGIC_BYTES 8
#define MOST_FRAME ((int64_t)1 << 30)
#define FRAME_POINTER_AT (-2) /* words from the frame's end, where there is a frame */
#define MOST_READINGS 8       /* as cfi.c: functions share what they say of the stack */

/* Of Go 1.16, 1.18 and 1.20. */
enum { GO_16 = 0xfa, GO_18 = 0xf0, GO_20 = 0xf1 };

/* Where no Go code has called: goroutines and threads begin here, or the stack is another one than the caller's. */
static const char *const outermost[] = {"goexit",     "mstart",      "rt0_go",    "mcall",     "systemstack",
                                        "asmcgocall", "cgocallback", "morestack", "sigreturn", "sigreturn__sigaction",
                                        "sigtramp"};

static bool is_magic(const uint8_t *at)
{
    return (at[0] == GO_16 || at[0] == GO_18 || at[0] == GO_20) && at[1] == 0xff && at[2] == 0xff && at[3] == 0xff &&
           at[4] == 0 && at[5] == 0 && (at[6] == 1 || at[6] == 4) && at[7] == 8;
}

static bool load(struct go_table *table, const struct elf_file *elf, const char *name)
{
    const Elf64_Shdr *section = elf_section(elf, name);
    if (section == NULL || section->sh_type == SHT_NOBITS)
        return false;
    table->size = section->sh_size;
    table->data = elf_load(elf, section->sh_offset, table->size);
    return table->data != NULL;
}

static uint64_t word_at(const struct go_table *table, uint64_t at, size_t bytes)
{
    uint64_t value = 0;
    if (at <= table->size && bytes <= table->size - at)
        memcpy(&value, table->data + at, bytes);
    return value;
}

/* The header, which is at `start`, where the table may be a part of a section. */
static bool read_header(struct go_table *table, const struct elf_file *elf, uint64_t start)
{
    uint8_t version = table->data[start];
    bool is_16 = version == GO_16;
    uint64_t parts = start + MAGIC_BYTES + (is_16 ? 16 : 24);
    const Elf64_Shdr *code = elf_section(elf, ".text");
    table->quantum = table->data[start + 6];
    table->entry_bytes = is_16 ? 8 : 4;
    table->count = word_at(table, start + MAGIC_BYTES, 8);
    table->text = is_16 ? 0 : word_at(table, start + MAGIC_BYTES + 16, 8);
    if (!is_16 && table->text == 0 && code != NULL) /* it is the loader's to fill in */
        table->text = code->sh_addr;
    table->names = start + word_at(table, parts, 8);
    table->counts = start + word_at(table, parts + 24, 8);
    table->functions = start + word_at(table, parts + 32, 8);
    return table->functions > start && table->functions < table->size && table->names < table->size &&
           table->counts < table->size &&
           table->count < (table->size - table->functions) / (2 * (uint64_t)table->entry_bytes);
}

bool go_table_open(struct go_table *table, const struct elf_file *elf)
{
    *table = (struct go_table){.data = NULL};
    /* The last: where an external linker has put what the loader is to change. */
    if (!load(table, elf, ".gopclntab") && !load(table, elf, ".data.rel.ro.gopclntab") &&
        !load(table, elf, ".data.rel.ro"))
        return false;
    table->budget = MOST_READINGS * table->size;
    for (uint64_t at = 0; table->size >= MAGIC_BYTES && at <= table->size - MAGIC_BYTES; at += 8)
        if (is_magic(table->data + at) && read_header(table, elf, at))
            return true;
    go_table_close(table);
    return false;
}

void go_table_close(struct go_table *table)
{
    if (table->data != NULL)
        sys_free(table->data, table->size + 1);
    table->data = NULL;
}

bool go_table_function(const struct go_table *table, uint64_t number, struct go_function *function)
{
    uint64_t bytes = table->entry_bytes;
    uint64_t at = table->functions + number * 2 * bytes;
    if (number >= table->count)
        return false;
    function->low = table->text + word_at(table, at, bytes);
    function->high = table->text + word_at(table, at + 2 * bytes, bytes);
    uint64_t about = table->functions + word_at(table, at + bytes, bytes);
    if (about < table->functions || about >= table->size || function->high <= function->low)
        return false;
    uint64_t name = table->names + word_at(table, about + bytes, 4);
    function->stack = word_at(table, about + bytes + 12, 4);
    function->name = name < table->size ? (const char *)table->data + name : ""; /* a NUL follows the data */
    return true;
}

static bool is_outermost(const char *name)
{
    static const char package[] = "runtime.";
    if (strncmp(name, package, sizeof package - 1) != 0)
        return false;
    name += sizeof package - 1;
    for (size_t i = 0; i < sizeof outermost / sizeof *outermost; i++) {
        size_t length = strlen(outermost[i]);
        if (strncmp(name, outermost[i], length) == 0 && (name[length] == '\0' || strcmp(name + length, ".abi0") == 0))
            return true;
    }
    return false;
}

static struct cfi_row row_at(const struct cfi_table *rules, uint64_t pc, int64_t pushed)
{
    struct cfi_row row = {.pc = (uint32_t)(pc - rules->low), .cfa = CFA_NONE};
    if (pushed < 0 || pushed >= MOST_FRAME)
        return row;
    row.cfa = CFA_SP;
    row.cfa_offset = (int32_t)(pushed + 8);
    if (pushed >= 8) {
        row.fp = FP_AT_CFA;
        row.fp_offset = FRAME_POINTER_AT;
    }
    return row;
}

/* Pairs of a change of what has been pushed, and for how many bytes of code it is so. */
static bool add_changes(struct go_table *table, struct cfi_table *rules, const struct go_function *function)
{
    struct cfi_reader reader = {.data = table->data,
                                .size = table->size,
                                .at = table->counts + function->stack,
                                .end = table->size,
                                .budget = table->budget,
                                .failed = function->stack == 0};
    uint64_t pc = function->low;
    uint64_t pushed = (uint64_t)-1;
    while (pc < function->high) {
        uint64_t change = cfi_read_uleb(&reader);
        uint64_t bytes = cfi_read_uleb(&reader) * table->quantum;
        if (reader.failed || (change == 0 && pc != function->low) || bytes == 0)
            break;
        pushed += (change >> 1) ^ (0 - (change & 1));
        const struct cfi_row row = row_at(rules, pc, (int64_t)pushed);
        if (!cfi_add_row(rules, &row))
            return false;
        pc = bytes < function->high - pc ? pc + bytes : function->high;
    }
    table->budget = reader.budget;
    const struct cfi_row unknown = row_at(rules, pc, -1);
    return pc == function->high || cfi_add_row(rules, &unknown);
}

bool go_table_rules(struct go_table *table, struct cfi_table *rules, uint64_t low, uint64_t high)
{
    struct go_function function;
    uint64_t previous_end = low;
    for (; table->data != NULL && table->next < table->count; table->next++) {
        if (!go_table_function(table, table->next, &function) || function.low < previous_end)
            continue;
        if (function.high > high)
            break;
        struct cfi_row row = row_at(rules, function.low, -1);
        if (is_outermost(function.name))
            row.cfa = CFA_END;
        if (!cfi_add_row(rules, &row) || (row.cfa != CFA_END && !add_changes(table, rules, &function)))
            return false;
        previous_end = function.high;
    }
    const struct cfi_row unknown = row_at(rules, previous_end, -1);
    return previous_end == high || cfi_add_row(rules, &unknown);
}
