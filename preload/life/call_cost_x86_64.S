/* A function that is counted like any that the compiler instruments, and the same one without that; and a loop that calls
 * either. An empty function would leave the processor idle, and counting would seem to cost less than it does between
 * instructions of a program's own. */
.macro SOME_WORK
	.rept 6
	incl	%eax
	incl	%ecx
	incl	%edx
	incl	%esi
	incl	%edi
	incl	%r8d
	.endr
.endm

	.text
	.p2align 4
	.globl	call_cost_counted
	.hidden	call_cost_counted
	.type	call_cost_counted, @function
call_cost_counted:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	call	*mcount@GOTPCREL(%rip)
	.globl	call_cost_self
	.hidden	call_cost_self
call_cost_self:
	SOME_WORK
	popq	%rbp
	.cfi_restore %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	call_cost_counted, .-call_cost_counted

	.p2align 4
	.globl	call_cost_plain
	.hidden	call_cost_plain
	.type	call_cost_plain, @function
call_cost_plain:
	.cfi_startproc
	endbr64
	SOME_WORK
	ret
	.cfi_endproc
	.size	call_cost_plain, .-call_cost_plain

/* rdi: the function, rsi: how often. */
	.p2align 4
	.globl	call_cost_loop
	.hidden	call_cost_loop
	.type	call_cost_loop, @function
call_cost_loop:
	.cfi_startproc
	endbr64
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rbx
	movq	%rsi, %r12
	.p2align 4
1:	call	*%rbx
	.globl	call_cost_from
	.hidden	call_cost_from
call_cost_from:
	decq	%r12
	jnz	1b
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_restore %r12
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_restore %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	call_cost_loop, .-call_cost_loop

	.section .note.GNU-stack, "", @progbits

	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0
