/* Call frame information: an object's unwind tables, copied once, and searched by address.
 *
 * The copy is made outside the signal handler, from the file. Those of the program itself are used where they are: they
 * may have megabytes, and stay mapped. A function's records are interpreted on the first look-up of one of its
 * addresses (cfi_find), with every read checked. Frames that rules cannot express become CFA_NONE. Wrong records lead
 * to wrong addresses, which the stack bounds reject, never to a fault. Reference: DWARF 5 section 6.4, and the LSB's
 * .eh_frame_hdr.
 */
#ifndef INCPROF_CFI_H
#define INCPROF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "machine.h"

/* An unwind rule: how to unwind a frame, and the code range for which the rule is valid. */

/* How to compute the canonical frame address (the caller's stack pointer). */
enum cfa_rule {
    CFA_NONE,     /* no rule: fall back on the frame pointer */
    CFA_END,      /* outermost frame: there is no caller */
    CFA_SP,       /* stack pointer + offset */
    CFA_FP,       /* frame pointer + offset */
    CFA_LEAF_REG, /* another register + offset: its value is available only in the interrupted frame */
    CFA_DEREF_FP, /* *(frame pointer + offset): realigned stacks */
    CFA_DEREF_SP, /* *(stack pointer + offset) */
    CFA_PLT,      /* x86-64: rsp + 8, plus 8 after the stub's push: if (pc & 15) >= offset */
    CFA_SIGNAL    /* a signal frame: registers are in the context at the stack pointer */
};

/* Where the caller's frame pointer is saved. */
enum fp_rule { FP_SAME, FP_AT_CFA, FP_AT_FP, FP_AT_SP };

struct cfi_row {
    uint32_t pc, end; /* offsets from the table's low address: the range of the rule */
    int32_t cfa_offset;
    int16_t fp_offset; /* in units of 8 bytes */
    uint8_t cfa : 4;
    uint8_t fp : 4;
    uint8_t reg; /* DWARF number, for CFA_LEAF_REG */
#if MACHINE_HAS_LINK_REGISTER
    int16_t ra_offset; /* of the return address from the CFA, in units of 8 bytes; 0: in the link register */
    uint16_t unused;
#endif
};

/* The function table with which a Go program's run-time walks stacks (.gopclntab of Go 1.16 and later). It survives
 * stripping. It holds names, and the distance from the stack pointer to the frame's end at each instruction.
 *
 * Every offset in it is checked: the file may be damaged or hostile. Async-signal-safe, not thread-safe per object.
 */
struct go_table {
    uint8_t *data; /* NULL: there is none */
    uint64_t size;
    uint64_t text;                     /* link-time address that entries count from */
    uint64_t names, counts, functions; /* positions of these parts */
    uint64_t count;                    /* of functions */
    uint8_t entry_bytes, quantum;
};

struct go_function {
    uint64_t low, high; /* link-time addresses */
    const char *name;
    uint64_t stack; /* position of its stack pointer changes; 0: none */
};

/* Find the table of an object. Return false if it has no table of a supported form. */
bool go_table_open(struct go_table *table, const struct elf_file *elf);
void go_table_close(struct go_table *table);

/* Read function `number`, in the order of addresses. False if the table is inconsistent. */
bool go_table_function(const struct go_table *table, uint64_t number, struct go_function *function);

static inline bool go_table_has(const struct go_table *table)
{
    return table->data != NULL;
}

/* Return the rule for an address; CFA_NONE if there is none. `origin`: base of the row's addresses. Async-signal-safe
 * and thread-safe, like all functions below go_table_open. */
struct cfi_row go_table_rule(const struct go_table *table, uint64_t address, uint64_t origin);

/* Unwind rules by link-time address, computed on demand from an object's call frame information.
 *
 * The tables are copied from the file when the object is first scanned, and never change: cfi_find is async-signal-safe
 * and thread-safe.
 */

/* A function and its record, as in .eh_frame_hdr: distances from cfi_table.origin. */
struct cfi_entry {
    int32_t low;
    int32_t record;
};

struct cfi_table {
    uint64_t low, high;    /* link-time addresses that the table covers */
    const uint8_t *frames; /* .eh_frame, or NULL */
    uint64_t size;
    void *copy;                      /* the memory that holds them; NULL: they are the program's own */
    uint64_t address;                /* of the first byte of frames */
    const struct cfi_entry *entries; /* in the order of addresses */
    size_t count;
    uint64_t origin;
    void *list; /* the memory that holds the entries; NULL: likewise */
    size_t list_bytes;
    struct go_table go; /* Go's own table, if requested */
};

/* Return the rule for a link-time address, with the range for which it is valid; CFA_NONE if there is none. Takes one
 * step per instruction of the function's record, and no more than some 65 000 for any record. */
struct cfi_row cfi_find(const struct cfi_table *table, uint64_t address);

void cfi_free(struct cfi_table *table);

/* Copy the tables for [low, high). Async-signal-safe, not thread-safe per table. An object without .eh_frame gives an
 * empty table. `go_too`: use Go's own table where there are no rules; not needed in the preloaded library, which does
 * not sample Go programs. */
void cfi_open(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high, bool go_too);

/* One CIE/FDE pair of .eh_frame, decoded. For this folder alone. */
struct cfi_function {
    uint64_t low;
    uint64_t high;
    uint64_t code_align;
    int64_t data_align;
    uint64_t common_at, common_end; /* the CIE's instructions */
    uint64_t own_at, own_end;       /* the FDE's instructions */
    uint8_t encoding;
    bool augmented;
    bool signal_frame;
};

/* Bounds-checked cursor over .eh_frame; `failed` is set by any access outside. Records may refer to others: `budget`
 * limits the total bytes read before all reads fail. */
struct cfi_reader {
    const uint8_t *data;
    uint64_t size;
    uint64_t address; /* link-time address of data[0] */
    uint64_t at;
    uint64_t end;
    uint64_t budget;
    bool failed;
    uint64_t common;             /* the CIE read last: its position, and */
    struct cfi_function initial; /* its contents; code_align is 0 before the first */
};

uint64_t cfi_read_fixed(struct cfi_reader *reader, size_t bytes);
static inline uint64_t cfi_read_byte(struct cfi_reader *reader)
{
    if (reader->failed || reader->at >= reader->end || reader->budget == 0) {
        reader->failed = true;
        return 0;
    }
    reader->budget--;
    return reader->data[reader->at++];
}
uint64_t cfi_read_uleb(struct cfi_reader *reader);
int64_t cfi_read_sleb(struct cfi_reader *reader);

/* Read a pointer. `encoding`: DW_EH_PE_*, the format in the low four bits, 0x10 for relative to its own address. */
uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding);

/* Read a function's record. False at the terminator, and for records of a form that compilers do not write. */
bool cfi_read_function(struct cfi_reader *reader, uint64_t offset, struct cfi_function *function);

/* Interpreter for the instructions of a CIE/FDE pair, up to one address. For cfi_table.c alone. Async-signal-safe and
 * thread-safe. */

/* Return the rule for an address in the function. `origin`: base of the row's addresses. */
struct cfi_row cfi_run(struct cfi_reader *reader, const struct cfi_function *function, uint64_t address,
                       uint64_t origin);

#endif
