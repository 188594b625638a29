/* The stream of function calls of a -pg program, preloaded: the address in each function from which mcount is called.
 *
 *     CALLS_FILE=calls.bin CALLS_SKIP=0 CALLS_MOST=1000000 LD_PRELOAD=./calls_recorder.so ./program
 *
 * Calls of the first thread alone, as 64-bit numbers; the program ends when there are enough. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t *calls;
static uint64_t seen, skip, most;
static int file, owner;

__attribute__((visibility("hidden"))) void note_call(uint64_t address)
{
    if (!calls || syscall(SYS_gettid) != owner)
        return;
    if (seen >= skip)
        calls[seen - skip] = address;
    if (++seen == skip + most)
        _exit(0);
}

/* mcount must leave every register as it is. */
__asm__(".globl mcount\n"
        ".type mcount, @function\n"
        "mcount:\n"
        "    pushq %rax; pushq %rcx; pushq %rdx; pushq %rsi; pushq %rdi; pushq %r8; pushq %r9; pushq %r10; pushq %r11\n"
        "    movq 72(%rsp), %rdi\n"
        "    movq %rsp, %rax\n"
        "    andq $-16, %rsp\n"
        "    pushq %rax; pushq %rax\n"
        "    call note_call\n"
        "    popq %rax; popq %rax\n"
        "    movq %rax, %rsp\n"
        "    popq %r11; popq %r10; popq %r9; popq %r8; popq %rdi; popq %rsi; popq %rdx; popq %rcx; popq %rax\n"
        "    ret\n");

void __monstartup(unsigned long low, unsigned long high)
{
    (void)low, (void)high;
}

void _mcleanup(void)
{
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CALLS_FILE"), *skipped = getenv("CALLS_SKIP"), *wanted = getenv("CALLS_MOST");
    skip = skipped ? strtoull(skipped, NULL, 10) : 0;
    most = wanted ? strtoull(wanted, NULL, 10) : 1000000;
    file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0644) : -1;
    if (file < 0 || ftruncate(file, (off_t)(most * sizeof *calls)) != 0)
        return;
    owner = (int)syscall(SYS_gettid);
    void *map = mmap(NULL, most * sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    calls = map == MAP_FAILED ? NULL : map;
}
