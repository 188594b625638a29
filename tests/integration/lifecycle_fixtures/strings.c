/* The runtime's own functions on strings and memory against libc's, on random bytes; its clock; its words for errors.
 * Compiled without builtins, together with runtime/string.c, vdso.c, reason.c and fixed_text.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sys.h"

enum { BYTES = 200, TRIALS = 50000 };

static unsigned char mine[BYTES], theirs[BYTES];
static int wrong;

static void expect(int same, const char *name)
{
    if (!same && wrong++ < 10)
        printf("%s\n", name);
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* Few different ones, so that there is something to be found. */
static void fill(void)
{
    int kinds = rand() % 2 != 0 ? 3 : 5;
    for (int i = 0; i < BYTES; i++)
        mine[i] = theirs[i] = (unsigned char)"abc\0\x80"[rand() % kinds];
    mine[BYTES - 1] = theirs[BYTES - 1] = 0;
}

#define THEIRS(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
/* Both take the same memory and return a pointer into it, or a number. */
#define SAME(name, ...) expect(name(__VA_ARGS__) == real_##name(__VA_ARGS__), #name)
#define SAME_SIGN(name, ...) expect(sign(name(__VA_ARGS__)) == sign(real_##name(__VA_ARGS__)), #name)
/* Each writes into its own. */
#define SAME_EFFECT(name, at, ...)                                                                                     \
    do {                                                                                                               \
        expect((unsigned char *)name((void *)(mine + (at)), __VA_ARGS__) - mine ==                                     \
                   (unsigned char *)real_##name((void *)(theirs + (at)), __VA_ARGS__) - theirs,                        \
               #name);                                                                                                 \
        expect(real_memcmp(mine, theirs, BYTES) == 0, #name);                                                          \
    } while (0)
#define FIND(name) __typeof__(name) *const real_##name = THEIRS(name)

int main(void)
{
    FIND(memcpy);
    FIND(memmove);
    FIND(memset);
    FIND(memcmp);
    FIND(memchr);
    FIND(memmem);
    FIND(strnlen);
    FIND(strlen);
    FIND(strcmp);
    FIND(strncmp);
    FIND(strchr);
    FIND(strrchr);
    FIND(strstr);
    FIND(strcspn);
    FIND(stpcpy);
    FIND(strcpy);
    FIND(strcat);
    FIND(strncat);
    expect(memcpy != real_memcpy && strlen != real_strlen, "not the runtime's");
    for (int trial = 0; trial < TRIALS; trial++) {
        size_t at = (size_t)rand() % 40, from = (size_t)rand() % 40, bytes = (size_t)rand() % 60;
        const char *one = (const char *)mine + at, *other = (const char *)mine + from;
        char few[] = {"abc"[at % 3], "abc"[from % 3], bytes % 2 != 0 ? 'a' : '\0', '\0'};
        int value = "abc\0\x80"[trial % 5];
        fill();
        SAME(memchr, one, value, bytes);
        SAME(memmem, one, bytes, other, bytes % 4);
        SAME(strnlen, one, bytes);
        SAME(strlen, one);
        SAME(strchr, one, value);
        SAME(strrchr, one, value);
        SAME(strstr, one, few);
        SAME(strcspn, one, few);
        SAME_SIGN(memcmp, one, other, bytes);
        SAME_SIGN(strcmp, one, other);
        SAME_SIGN(strncmp, one, other, bytes % 5);
        SAME_EFFECT(memset, at, value, bytes);
        expect(memmove(mine + at, mine + from, bytes) == mine + at, "memmove");
        real_memmove(theirs + at, theirs + from, bytes);
        expect(real_memcmp(mine, theirs, BYTES) == 0, "memmove");
        SAME_EFFECT(memcpy, at, "0123456789012345678901234567890123456789012345678901234567890", bytes);
        SAME_EFFECT(strcpy, at, few);
        SAME_EFFECT(stpcpy, from, few);
        SAME_EFFECT(strcat, at, few);
        SAME_EFFECT(strncat, from, few, trial % 4);
    }
    for (int error = 1; error < 200; error++) {
        char number[32], expected[32];
        const char *reason = reason_of(-error, number);
        snprintf(expected, sizeof expected, "error %d", error);
        expect(strcmp(reason, strerror(error)) == 0 || strcmp(reason, expected) == 0, reason);
    }
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    uint64_t now = monotonic_ns();
    clock_gettime(CLOCK_MONOTONIC, &after);
    expect((uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec <= now &&
               now <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec,
           "clock");
    printf("wrong %d\n", wrong);
    return wrong != 0;
}
