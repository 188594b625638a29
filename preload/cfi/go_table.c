#define _GNU_SOURCE
#include "cfi.h"

#include <string.h>

#include "lookup.h"
#include "machine.h"
#include "sys.h"

#define MAGIC_BYTES 8
#define MOST_FRAME ((int64_t)1 << 30)
#define FRAME_POINTER_AT (-2) /* words from the frame's end, where there is a frame */
#define MOST_CHANGES 65536    /* limit of the frame changes of a function that are read for one address */

/* Magic numbers of Go 1.16, 1.18 and 1.20. */
enum { GO_16 = 0xfa, GO_18 = 0xf0, GO_20 = 0xf1 };

/* Functions without a Go caller: goroutines and threads begin here, or the stack is not the caller's. */
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

/* Read the header at `start`; the table may be a part of a section. */
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
    if (!is_16 && table->text == 0 && code != NULL) /* the loader fills it in */
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
    /* The last: an external linker's section for data that the loader changes. */
    if (!load(table, elf, ".gopclntab") && !load(table, elf, ".data.rel.ro.gopclntab") &&
        !load(table, elf, ".data.rel.ro"))
        return false;
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

static uint64_t low_of(const struct go_table *table, uint64_t number)
{
    return table->text + word_at(table, table->functions + number * 2 * table->entry_bytes, table->entry_bytes);
}

bool go_table_function(const struct go_table *table, uint64_t number, struct go_function *function)
{
    uint64_t bytes = table->entry_bytes;
    uint64_t at = table->functions + number * 2 * bytes;
    if (number >= table->count)
        return false;
    function->low = low_of(table, number);
    function->high = low_of(table, number + 1);
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

/* `pushed`: bytes; negative: unknown. */
static struct cfi_row row_of(int64_t pushed)
{
    struct cfi_row row = {.cfa = CFA_NONE};
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

/* The table holds pairs: a change of the pushed bytes, and the number of code bytes for which it is valid. `low`,
 * `high`: range of the row. */
static struct cfi_row row_within(const struct go_table *table, const struct go_function *function, uint64_t address,
                                 uint64_t *low, uint64_t *high)
{
    struct cfi_reader reader = {.data = table->data,
                                .size = table->size,
                                .at = table->counts + function->stack,
                                .end = table->size,
                                .budget = MOST_CHANGES,
                                .failed = function->stack == 0};
    uint64_t pushed = (uint64_t)-1;
    for (;;) {
        uint64_t change = cfi_read_uleb(&reader);
        uint64_t bytes = cfi_read_uleb(&reader) * table->quantum;
        if (reader.failed || (change == 0 && *low != function->low) || bytes == 0)
            return row_of(-1);
        pushed += (change >> 1) ^ (0 - (change & 1));
        if (bytes > address - *low) {
            *high = bytes < *high - *low ? *low + bytes : *high;
            return row_of((int64_t)pushed);
        }
        *low += bytes;
    }
}

/* Return the number of functions that begin at or before the address. */
static uint64_t count_up_to(const struct go_table *table, uint64_t address)
{
    return COUNT_LEADING(table->count, at, low_of(table, at) <= address);
}

struct cfi_row go_table_rule(const struct go_table *table, uint64_t address, uint64_t origin)
{
    struct go_function function;
    uint64_t next = count_up_to(table, address);
    uint64_t low = origin, high = next < table->count ? low_of(table, next) : origin + UINT32_MAX;
    struct cfi_row row = {.cfa = CFA_NONE};
    bool is_known = next > 0 && go_table_function(table, next - 1, &function) && address >= function.low;
    if (is_known && address < function.high) {
        low = function.low;
        high = function.high;
        if (is_outermost(function.name))
            row.cfa = CFA_END;
        else
            row = row_within(table, &function, address, &low, &high);
    } else if (is_known && function.high > origin) {
        low = function.high;
    }
    row.pc = (uint32_t)((low > origin ? low : origin) - origin);
    row.end = high - origin < UINT32_MAX ? (uint32_t)(high - origin) : UINT32_MAX;
    return row;
}
