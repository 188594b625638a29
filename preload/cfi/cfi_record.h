/* One CIE/FDE pair of .eh_frame, decoded. For cfi.c and cfi_program.c alone. */
#ifndef INCPROF_CFI_RECORD_H
#define INCPROF_CFI_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi.h"
#include "machine.h"

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
