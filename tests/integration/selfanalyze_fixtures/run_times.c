/* Does what its words say, in their order: `open=LIBRARY`, `global=LIBRARY` (its names are for all), `new=LIBRARY` (in
 * a namespace of its own), `close`, `run`, for the team_sum of the library that was opened last; `code`: a region by
 * code that no file holds; `own`: one of this program, if it has any; `ask`: calls GOMP_parallel if it can be found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void *library;

static void note(void *opened)
{
    library = opened;
    printf("open %s\n", library != NULL ? "done" : dlerror());
}

static void do_run(void)
{
    long (*sum)(int) = (long (*)(int))dlsym(library, "team_sum");
    printf("sum %ld\n", sum != NULL ? sum(20) : -1);
}

static void do_own(void)
{
    long sum = 0;
#ifdef _OPENMP
    for (int i = 0; i < 20; i++)
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int k = 0; k < 1000; k++)
            sum++;
#endif
    printf("own %ld\n", sum);
}

static void count(void *counter)
{
    __atomic_fetch_add((int *)counter, 1, __ATOMIC_RELAXED);
}

/* Returns with the stack as it came: subq $8, %rsp; movabs $real, %rax; call *%rax; addq $8, %rsp; ret. */
static void do_code(void)
{
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8,    0x48, 0xb8, 0, 0,    0,    0,    0,
                                         0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8,    0xc3};
    void *real = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (real == NULL)
        real = dlsym(library, "GOMP_parallel");
    int threads = 0;
    memcpy(at, code, sizeof code);
    memcpy(at + 6, &real, sizeof real);
    ((void (*)(void (*)(void *), void *, unsigned, unsigned))(void *)at)(count, &threads, 3, 0);
    printf("code %d\n", threads);
}

static void do_ask(void)
{
    void *real = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    int threads = 0;
    if (real != NULL)
        ((void (*)(void (*)(void *), void *, unsigned, unsigned))real)(count, &threads, 3, 0);
    printf("asked %d\n", threads);
}

int main(int words, char **word)
{
    for (int i = 1; i < words; i++) {
        if (strncmp(word[i], "open=", 5) == 0)
            note(dlopen(word[i] + 5, RTLD_NOW | RTLD_LOCAL));
        else if (strncmp(word[i], "global=", 7) == 0)
            note(dlopen(word[i] + 7, RTLD_NOW | RTLD_GLOBAL));
        else if (strncmp(word[i], "new=", 4) == 0)
            note(dlmopen(LM_ID_NEWLM, word[i] + 4, RTLD_NOW));
        else if (strcmp(word[i], "close") == 0)
            printf("close %d\n", dlclose(library));
        else if (strcmp(word[i], "run") == 0)
            do_run();
        else if (strcmp(word[i], "own") == 0)
            do_own();
        else if (strcmp(word[i], "code") == 0)
            do_code();
        else if (strcmp(word[i], "ask") == 0)
            do_ask();
        fflush(stdout);
    }
    return 0;
}
