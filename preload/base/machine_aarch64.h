/* aarch64: a call leaves the return address in a register, x30, which a function saves where it calls another; it may
 * be signed (pointer authentication). */
#ifndef INCPROF_MACHINE_AARCH64_H
#define INCPROF_MACHINE_AARCH64_H

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define MACHINE_ELF EM_AARCH64
#define MACHINE_HAS_LINK_REGISTER 1
#define MACHINE_PAGE ((size_t)65536) /* the largest that kernels are built with */

/* DWARF's numbers: frame pointer, stack pointer, and the column of the return address. */
enum { DWARF_FP = 29, DWARF_SP = 31, DWARF_RA = 30, DWARF_REGISTERS = 32 };

/* Where the return address is, from the canonical frame address on, unless the tables say otherwise: in x30. */
#define RETURN_OFFSET 0

/* What a function without a frame has at the least between its stack pointer and its caller's. */
#define LEAST_FRAME 0

/* Offsets into the signal frame, from the sp with which a handler begins: siginfo comes first. */
enum {
    SIGNAL_FP = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[29]),
    SIGNAL_LINK = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[30]),
    SIGNAL_SP = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.sp),
    SIGNAL_PC = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.pc)
};

/* The address that a return goes to: without its signature. The instruction does nothing on processors that sign none.
 */
static inline uint64_t machine_address(uint64_t pc)
{
    register uint64_t x30 __asm__("x30") = pc;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri */
    return x30;
}

#endif
