/* Thread safety: the settings are written before main and by MPI_Init, before other threads call MPI; `matched` and
 * `has_joined` are atomic. */
#define _GNU_SOURCE
#include "session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "environment.h"
#include "event.h"
#include "log.h"
#include "sys.h"

/* An MPI that still waits for messages then does not finish. */
#define PATIENCE_S 10
#define NOT_FOLLOWED 3 /* exit status of incprof predict */
#define NANO 1000000000u

static const char variable[] = "INCPROF_TRACE_UNTIL";
static char *by_rank; /* NULL: by collective calls of all processes */
static uint64_t wanted, matched, started_ns;
static unsigned long wanted_ranks;    /* 0: any number */
static uint32_t counted = UINT32_MAX; /* the function, if each rank counts its own calls */
static const struct meeting *meeting;
static bool waits_for_ranks, has_joined;

static const char *const kinds[] = {
#define CALL_(name, lower, kind, ...) kind,
#include "every_call.h"
};
static const char *const names[] = {
#define CALL_(name, ...) #name,
#include "every_call.h"
};

/* Parse a number above 0 that ends with `end`; 0 if invalid. */
static uint64_t number(const char *text, const char *end)
{
    char *stop = NULL;
    uint64_t value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &stop, 10) : 0;
    return stop == end ? value : 0;
}

static uint32_t function_of(const char *name, size_t length)
{
    uint32_t function = 0;
    while (function < FUNCTION_COUNT &&
           (strlen(names[function]) != length || strncmp(names[function], name, length) != 0))
        function++;
    return function;
}

/* Find the entry of a rank; false at the first invalid one. `all`: number of ranks with entries. */
static bool entry_of(unsigned long rank, uint32_t *function, uint64_t *count, unsigned long *all)
{
    *all = 0;
    for (const char *at = by_rank, *end; at != NULL; at = *end == ',' ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        const char *equals = memchr(at, '=', (size_t)(end - at));
        const char *star = memchr(at, '*', (size_t)(end - at));
        uint64_t ranks = star != NULL ? number(star + 1, end) : 1;
        uint64_t calls = equals != NULL ? number(equals + 1, star != NULL ? star : end) : 0;
        uint32_t of = equals != NULL ? function_of(at, (size_t)(equals - at)) : FUNCTION_COUNT;
        if (of == FUNCTION_COUNT || calls == 0 || ranks == 0 || ranks > INT32_MAX)
            return false;
        if (rank >= *all && rank - *all < ranks) {
            *function = of;
            *count = calls;
        }
        *all += ranks;
    }
    return true;
}

static bool parse_setting(char *text)
{
    char *at = strchrnul(text, '@');
    if (*at == '@' && (wanted_ranks = number(at + 1, at + strlen(at))) == 0)
        return false;
    *at = '\0';
    if (strchr(text, '=') == NULL)
        return (wanted = number(text, at)) != 0;
    by_rank = text;
    unsigned long all;
    return entry_of(0, &counted, &wanted, &all);
}

void stop_after_configure(void)
{
    const char *text = environment_text(variable);
    char *copy = text != NULL ? strdup(text) : NULL;
    if (copy == NULL)
        return;
    if (parse_setting(copy)) {
        mpi_exit_watch();
        return;
    }
    environment_complain(variable, text, "the program is run to its end");
    wanted = wanted_ranks = 0;
    by_rank = NULL;
    free(copy);
}

void stop_after_set_meeting(const struct meeting *of_mpi)
{
    meeting = of_mpi;
}

bool stop_after_started(int rank, int ranks)
{
    if (wanted == 0)
        return true;
    if (wanted_ranks != 0 && wanted_ranks != (unsigned long)ranks)
        return false;
    if (by_rank == NULL)
        return true;
    unsigned long all;
    if (!entry_of((unsigned long)rank, &counted, &wanted, &all) || all != (unsigned long)ranks)
        return false;
    started_ns = monotonic_ns();
    waits_for_ranks = meeting != NULL && meeting->make(PATIENCE_S);
    if (!waits_for_ranks) {
        log_warn("not all ranks are traced: the program is run to its end", NULL);
        wanted = 0;
    }
    return true;
}

bool stop_after_reached(const struct event *event, int ranks)
{
    if (wanted == 0 || (event->fields & HAS_FAILED) != 0)
        return false;
    bool counts = by_rank != NULL ? event->function == counted && !event->is_silent
                                  : event->size == ranks && strcmp(kinds[event->function], "collective") == 0;
    return counts && __atomic_add_fetch(&matched, 1, __ATOMIC_RELAXED) == wanted;
}

/* Meet the other ranks. The wait is limited to the time since the start: after a longer one the result would not
 * represent the program. */
static bool join_ranks(bool ends)
{
    const struct timespec step = {.tv_nsec = 1000000};
    const struct timespec forwarded = {.tv_sec = 1}; /* a launcher that ends the job may drop what it has not printed */
    uint64_t now = monotonic_ns(), patience = now - started_ns;
    uint64_t deadline = now + (patience > PATIENCE_S * (uint64_t)NANO ? patience : PATIENCE_S * (uint64_t)NANO);
    int result;
    if (__atomic_exchange_n(&has_joined, true, __ATOMIC_RELAXED))
        return false;
    meeting->join(ends);
    while ((result = meeting->result()) < 0) {
        if (monotonic_ns() > deadline) {
            log_warn(
                "the program does not follow the signature: not all ranks reach the calls at which they should end; "
                "trace it again",
                NULL);
            nanosleep(&forwarded, NULL);
            meeting->abort(NOT_FOLLOWED);
            _exit(NOT_FOLLOWED);
        }
        nanosleep(&step, NULL);
    }
    return result == 1;
}

bool stop_after_wait_ranks(void)
{
    return !waits_for_ranks || join_ranks(true);
}

void stop_after_finalizing(void)
{
    if (waits_for_ranks)
        join_ranks(false);
}

/* End the process even if messages that were never received keep MPI waiting. */
static void *force_exit(void *unused)
{
    struct timespec left = {.tv_sec = PATIENCE_S};
    while (nanosleep(&left, &left) != 0)
        ;
    _exit(0);
    return unused;
}

void stop_after_end(void)
{
    pthread_t watcher;
    int (*finalize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PMPI_Finalize");
    (void)pthread_create(&watcher, NULL, force_exit, NULL);
    fflush(NULL);
    if (finalize != NULL)
        finalize();
    mpi_exit_run();
    _exit(0);
}
