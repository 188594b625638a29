/* A program that behaves otherwise where it is recorded: for the tests of the campaign itself. */
#include "host.h"

static char *volatile taken;

static void act_differs(long number)
{
    if (getenv("INCPROF_DIR") == NULL)
        return;
    switch (number) {
    case 1:
        say("differs", number);
        break;
    case 2:
        _exit(9);
    case 3:
        fprintf(stderr, "differs\n");
        break;
    case 4:
        taken = malloc(200u << 20);
        memset(taken, 1, 200u << 20);
        break;
    case 5: /* calls that nobody has counted */
        ledger_forget();
        break;
    case 6:
        syscall(SYS_exit_group, 0);
        break;
    case 7:
        close(1);
        break;
    case 8:
        fprintf(stderr, "incprof: one\nincprof: two\n");
        break;
    default:
        for (;;)
            pause();
    }
}

const struct action differing_actions[] = {{"differs", act_differs}, {NULL, NULL}};
