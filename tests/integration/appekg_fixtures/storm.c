/* Beats in a signal handler that comes as fast as it can, while the main program beats as well: storm KIND HANDLERS
 *   same    of the same id, nested in it or beside it
 *   other   of another id
 *   deep    of another id, both of them deeper than there is room in their slots
 *   switch  the handler switches recording off and on
 *   jump    the handler jumps out of whatever it has interrupted
 *   first   of an id that the thread has not had before, from before the first beat on
 * Prints "main" and "handler" beats, "after" that were made when the storm was over. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "appekg.h"

#define MAIN_ID 1u
#define OTHER_ID 2u
#define DEEP 12
#define AFTER 5000

static volatile sig_atomic_t handled, wanted;
static volatile int is_over;
static volatile uint32_t next_id = 1000;
static char kind;
static sigjmp_buf there;

static void nest(uint32_t id, int depth)
{
    for (int i = 0; i < depth; i++)
        ekg_begin(id);
    for (int i = 0; i < depth; i++)
        ekg_end(id);
}

static void handle(int signal)
{
    (void)signal;
    handled++;
    if (kind == 's' || kind == 'j')
        nest(MAIN_ID, 1);
    else if (kind == 'o')
        nest(OTHER_ID, 1);
    else if (kind == 'd')
        nest(OTHER_ID, DEEP);
    else if (kind == 'f')
        nest(next_id++ % 5000, 1);
    else if (handled % 2 != 0)
        ekg_disable();
    else
        ekg_enable();
    if (kind == 'j' && handled % 3 == 0)
        siglongjmp(there, 1);
}

static void blow(suseconds_t period)
{
    const struct itimerval timer = {{0, period}, {0, period}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int argc, char **argv)
{
    static volatile long beats;
    if (argc != 3)
        return 2;
    kind = strcmp(argv[1], "switch") == 0 ? 'w' : argv[1][0];
    wanted = atoi(argv[2]);
    signal(SIGALRM, handle);
    if (kind == 'f')
        blow(50);
    if (kind != 'f')
        nest(OTHER_ID, 1);
    nest(MAIN_ID, 1);
    beats++;
    blow(50);
    sigsetjmp(there, 1);
    while (handled < wanted) {
        nest(MAIN_ID, kind == 'd' ? DEEP : 1);
        beats += kind == 'd' ? DEEP : 1;
    }
    blow(0);
    if (kind == 'w')
        ekg_enable();
    nest(MAIN_ID, 1);
    for (int i = 0; i < AFTER; i++)
        nest(7, 1);
    for (int i = 0; i < AFTER; i++)
        nest(MAIN_ID, 1);
    printf("main %ld\nhandler %ld\nafter %d\n", beats + 1, (long)handled, AFTER);
    return 0;
}
