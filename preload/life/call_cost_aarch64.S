/* A function that is counted like any that the compiler instruments, and the same one without that; and a loop that calls
 * either. An empty function would leave the processor idle, and counting would seem to cost less than it does between
 * instructions of a program's own. */
.macro SOME_WORK
	.rept 6
	add	w2, w2, #1
	add	w3, w3, #1
	add	w4, w4, #1
	add	w5, w5, #1
	add	w6, w6, #1
	add	w7, w7, #1
	.endr
.endm

.macro FUNCTION name
	.p2align 4
	.globl	\name
	.hidden	\name
	.type	\name, %function
\name:
	.cfi_startproc
	hint	#34				/* bti c */
.endm

.macro END name
	.cfi_endproc
	.size	\name, .-\name
.endm

.macro LABEL name
	.globl	\name
	.hidden	\name
\name:
.endm

	.text
FUNCTION call_cost_counted
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	mov	x0, x30
	bl	_mcount
LABEL call_cost_self
	SOME_WORK
	ldp	x29, x30, [sp], #16
	.cfi_restore x30
	.cfi_restore x29
	.cfi_def_cfa_offset 0
	ret
END call_cost_counted

FUNCTION call_cost_plain
	SOME_WORK
	ret
END call_cost_plain

/* x0: the function, x1: how often. */
FUNCTION call_cost_loop
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -16
	.cfi_offset x20, -8
	mov	x29, sp
	mov	x19, x0
	mov	x20, x1
	.p2align 4
1:	blr	x19
LABEL call_cost_from
	subs	x20, x20, #1
	b.ne	1b
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore x30
	.cfi_restore x29
	.cfi_restore x20
	.cfi_restore x19
	.cfi_def_cfa_offset 0
	ret
END call_cost_loop

	.section .note.GNU-stack, "", %progbits

	.section .note.gnu.property, "a", %note
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 3, 0
