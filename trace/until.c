/* Who may touch what: `wanted` is written before main; `seen` is atomic. */
#define _GNU_SOURCE
#include "until.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "environment.h"
#include "event.h"
#include "functions.h"
#include "mpi_exit.h"

/* An MPI that still waits for messages then does not come to an end. */
#define PATIENCE_S 10

static uint64_t wanted, seen;

static const char *const kinds[] = {
#define CALL_(name, lower, kind, ...) kind,
#include "every_call.h"
};

void until_configure(void)
{
    const char *text = environment_text("INCPROF_TRACE_UNTIL");
    char *end = NULL;
    if (text == NULL)
        return;
    wanted = strtoull(text, &end, 10);
    if (*end != '\0' || text[0] == '-' || wanted == 0) {
        wanted = 0;
        environment_complain("INCPROF_TRACE_UNTIL", text, "the program is run to its end");
    }
    if (wanted != 0)
        mpi_exit_watch();
}

bool until_reached(const struct event *event, int ranks)
{
    if (wanted == 0 || event->size != ranks || (event->fields & HAS_FAILED) != 0 ||
        strcmp(kinds[event->function], "collective") != 0)
        return false;
    return __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) == wanted;
}

/* Messages that were never received may keep MPI waiting. */
static void *end_all_the_same(void *unused)
{
    struct timespec left = {.tv_sec = PATIENCE_S};
    while (nanosleep(&left, &left) != 0)
        ;
    _exit(0);
    return unused;
}

void until_end(void)
{
    pthread_t watcher;
    int (*finalize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PMPI_Finalize");
    (void)pthread_create(&watcher, NULL, end_all_the_same, NULL);
    fflush(NULL);
    if (finalize != NULL)
        finalize();
    mpi_exit_run();
    _exit(0);
}
