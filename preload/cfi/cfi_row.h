/* An unwind rule: how a frame is left, and where in the code that holds. */
#ifndef INCPROF_CFI_ROW_H
#define INCPROF_CFI_ROW_H

#include <stdint.h>

#include "machine.h"

/* How the canonical frame address (the caller's stack pointer) is found. */
enum cfa_rule {
    CFA_NONE,     /* nothing is known: fall back on the frame pointer */
    CFA_END,      /* outermost frame: there is no caller */
    CFA_SP,       /* stack pointer + offset */
    CFA_FP,       /* frame pointer + offset */
    CFA_LEAF_REG, /* another register + offset: its value is known only in the interrupted frame */
    CFA_DEREF_FP, /* *(frame pointer + offset): realigned stacks */
    CFA_DEREF_SP, /* *(stack pointer + offset) */
    CFA_PLT,      /* x86-64: rsp + 8, plus 8 after the stub's push: where (pc & 15) >= offset */
    CFA_SIGNAL    /* a signal frame: registers are in the context at the stack pointer */
};

/* Where the caller's frame pointer is. */
enum fp_rule { FP_SAME, FP_AT_CFA, FP_AT_FP, FP_AT_SP };

struct cfi_row {
    uint32_t pc, end; /* offsets from the table's low address: where the rule holds */
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

#endif
