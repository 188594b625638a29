/* The registers that the kernel gives with a sample, by perf's numbers (asm/perf_regs.h), as the unwinder wants them.
 */
#ifndef ATTACH_USER_REGISTERS_H
#define ATTACH_USER_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

/* ax bx cx dx si di bp sp ip, then r8 to r15 from number 16 on. */
#define USER_REGISTERS (UINT64_C(0x1ff) | UINT64_C(0xff) << 16)
#define USER_REGISTER_COUNT 17

static inline void user_registers(ucontext_t *context, const uint64_t values[USER_REGISTER_COUNT])
{
    static const uint8_t order[USER_REGISTER_COUNT] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                                       REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                                       REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < USER_REGISTER_COUNT; i++)
        context->uc_mcontext.gregs[order[i]] = (greg_t)values[i];
}

#elif defined(__aarch64__)

/* x0 to x30, sp, pc. */
#define USER_REGISTERS ((UINT64_C(1) << 33) - 1)
#define USER_REGISTER_COUNT 33

static inline void user_registers(ucontext_t *context, const uint64_t values[USER_REGISTER_COUNT])
{
    for (int i = 0; i < 31; i++)
        context->uc_mcontext.regs[i] = values[i];
    context->uc_mcontext.sp = values[31];
    context->uc_mcontext.pc = values[32];
}

#else
#error "this architecture's registers are not known yet"
#endif

#endif
