/* How many instructions a beat takes, counted one by one by a tracing parent: the same number every time.
 *
 *     beats_steps
 *
 * Prints the name of each case and the instructions, without those of the loop around it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <appekg.h>

#define TIMES 100

#define MARK() __asm__ volatile("int3") /* x86-64 */

enum { FULL = 1, NESTED, RATED, PULSED };

#define REPEAT(name, statements)                                                                                       \
    static __attribute__((noinline)) void name(void)                                                                   \
    {                                                                                                                  \
        for (int i = 0; i < TIMES; i++) {                                                                              \
            __asm__ volatile("");                                                                                      \
            statements;                                                                                                \
        }                                                                                                              \
    }

REPEAT(nothing, )
REPEAT(pairs, ekg_begin(FULL); ekg_end(FULL))
REPEAT(nested_pairs, ekg_begin(NESTED); ekg_end(NESTED))
REPEAT(rated_pairs, ekg_begin(RATED); ekg_end(RATED))
REPEAT(pulses, ekg_pulse(PULSED))

static const struct {
    const char *name;
    void (*repeat)(void);
} cases[] = {
    {"nothing", nothing}, {"pair", pairs},          {"nested pair", nested_pairs}, {"pair, factor 100", rated_pairs},
    {"pulse", pulses},    {"pair, disabled", pairs}};

#define CASES (sizeof cases / sizeof *cases)

/* Once unmarked: the first beats, and a beat that uses a new bank for the first time, are others. */
static void child(void)
{
    ekg_rate(RATED, TIMES);
    ekg_begin(NESTED);
    for (size_t i = 0; i < CASES; i++)
        cases[i].repeat();
    usleep(200000); /* until the interval thread runs, beats are ordered by fences */
    for (size_t i = 0; i < CASES; i++) {
        if (i == CASES - 1)
            ekg_disable();
        cases[i].repeat();
        MARK();
        cases[i].repeat();
        MARK();
    }
    _exit(0);
}

/* Steps until the child stops for another reason than a step; a system call and a repeated instruction are one. */
static long count_steps(pid_t pid)
{
    for (long steps = 0;; steps++) {
        siginfo_t info;
        int status;
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
            return -1;
        ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
        if (info.si_code != TRAP_TRACE)
            return steps;
    }
}

int main(void)
{
    pid_t pid = fork();
    double overhead = 0;
    int status;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        child();
    }
    for (size_t i = 0; i < CASES; i++) {
        waitpid(pid, &status, 0);
        long steps = WIFSTOPPED(status) ? count_steps(pid) : -1;
        if (steps < 0)
            return 1;
        overhead = i == 0 ? (double)steps : overhead;
        printf("%s\t%.0f\n", cases[i].name, ((double)steps - overhead) / TIMES);
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
