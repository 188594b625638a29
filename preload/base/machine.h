/* Processor-specific definitions, for the rest of the library. */
#ifndef INCPROF_MACHINE_H
#define INCPROF_MACHINE_H

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
/* x86-64: a call pushes the return address, so that it is always right below the caller's frame. */

#define MACHINE_ELF EM_X86_64
#define MACHINE_HAS_LINK_REGISTER 0
#define MACHINE_PAGE ((size_t)4096)

/* DWARF's numbers: frame pointer, stack pointer, and the column of the return address. */
enum { DWARF_FP = 6, DWARF_SP = 7, DWARF_RA = 16, DWARF_REGISTERS = 16 };

/* Offset of the return address from the canonical frame address, unless the tables specify another. */
#define RETURN_OFFSET (-8)

/* The least distance between the stack pointer of a function without a frame and its caller's. */
#define LEAST_FRAME 8

/* Offsets into the signal frame that the kernel pushed, from the rsp with which its restorer runs (struct ucontext). */
enum { SIGNAL_FP = 120, SIGNAL_SP = 160, SIGNAL_PC = 168 };

/* Return the target address of a return. */
static inline uint64_t machine_address(uint64_t pc)
{
    return pc;
}

#elif defined(__aarch64__)
/* aarch64: a call leaves the return address in a register, x30, which a function saves where it calls another; it may
 * be signed (pointer authentication). */

#define MACHINE_ELF EM_AARCH64
#define MACHINE_HAS_LINK_REGISTER 1
#define MACHINE_PAGE ((size_t)65536) /* the largest page size of any kernel */

/* DWARF's numbers: frame pointer, stack pointer, and the column of the return address. */
enum { DWARF_FP = 29, DWARF_SP = 31, DWARF_RA = 30, DWARF_REGISTERS = 32 };

/* Offset of the return address from the canonical frame address, unless the tables specify another: in x30. */
#define RETURN_OFFSET 0

/* The least distance between the stack pointer of a function without a frame and its caller's. */
#define LEAST_FRAME 0

/* Offsets into the signal frame, from the sp with which a handler begins: siginfo comes first. */
enum {
    SIGNAL_FP = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[29]),
    SIGNAL_LINK = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[30]),
    SIGNAL_SP = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.sp),
    SIGNAL_PC = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.pc)
};

/* Return the target address of a return, without its signature. The instruction does nothing on processors without
 * pointer authentication. */
static inline uint64_t machine_address(uint64_t pc)
{
    register uint64_t x30 __asm__("x30") = pc;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri */
    return x30;
}

#else
#error "this architecture has no branch here, and no mcount_NAME.S and call_cost_NAME.S yet"
#endif

#endif
