/* The first beat, and so the start of heartbeats, on a coroutine's stack of so many bytes, above a page that is none. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <appekg.h>

static ucontext_t here, there;

static void beat(void)
{
    ekg_begin(1);
    ekg_end(1);
}

int main(int count, char **words)
{
    size_t bytes = count > 1 ? strtoul(words[1], NULL, 10) : 16384;
    char *memory = mmap(NULL, 4096 + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + 4096, bytes, PROT_READ | PROT_WRITE) != 0)
        return 2;
    getcontext(&there);
    there.uc_stack.ss_sp = memory + 4096;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, beat, 0);
    swapcontext(&here, &there);
    puts("back");
    return 0;
}
