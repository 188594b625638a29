/* void __kmpc_fork_call(ident_t *, int32_t argc, kmpc_micro, ...): the region's variables follow as `argc` pointers,
 * the first three in registers, the rest on the stack. The run-time's function is called with a copy of them. */
    .text
    .globl  __kmpc_fork_call
    .type   __kmpc_fork_call, @function
__kmpc_fork_call:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq   %rdi
    pushq   %rsi
    pushq   %rdx
    pushq   %rcx
    pushq   %r8
    pushq   %r9
    movq    %rdx, %rdi
    movq    8(%rbp), %rsi
    call    kmpc_before             /* (function, caller): the run-time's own, never NULL */
    movq    %rax, %r11
    popq    %r9
    popq    %r8
    popq    %rcx
    popq    %rdx
    popq    %rsi
    popq    %rdi
    movl    %esi, %r10d
    subl    $3, %r10d
    jle     2f
    leal    1(%r10), %eax           /* an even number of words keeps the stack aligned */
    andl    $-2, %eax
    shlq    $3, %rax
    subq    %rax, %rsp
    xorl    %eax, %eax
1:  pushq   16(%rbp,%rax,8)
    popq    (%rsp,%rax,8)           /* pop computes its address after it has moved %rsp back */
    incq    %rax
    cmpl    %r10d, %eax
    jl      1b
2:  xorl    %eax, %eax              /* no floating-point arguments */
    call    *%r11
    call    kmpc_after
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size   __kmpc_fork_call, . - __kmpc_fork_call
    .section .note.GNU-stack, "", @progbits
