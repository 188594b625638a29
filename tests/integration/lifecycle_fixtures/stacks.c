/* Handlers and the stacks that they ask for. */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>

static char own[1 << 16], small[16384];
static volatile char *where;

static void needs_a_megabyte(int number)
{
    char room[1 << 20];
    memset(room, number, sizeof room);
    where = &room[sizeof room / 2];
    printf("handler done %d\n", room[12345] == number);
}

static void sets_a_stack(int number)
{
    stack_t stack = {.ss_sp = own, .ss_size = sizeof own}, old;
    (void)number;
    printf("set %d\n", sigaltstack(&stack, &old) == 0 ? 0 : errno);
    printf("none before %d\n", (old.ss_flags & SS_DISABLE) != 0);
}

static void says_where(int number)
{
    char here;
    stack_t stack;
    (void)number;
    sigaltstack(NULL, &stack);
    printf("on it %d, says so %d\n", &here >= own && &here < own + sizeof own, (stack.ss_flags & SS_ONSTACK) != 0);
}

static void says_blocked(int number)
{
    sigset_t now;
    (void)number;
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("blocked %d\n", sigismember(&now, SIGURG));
}

static void install(void (*handler)(int))
{
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR1, NULL, &old);
    printf("as asked %d\n",
           old.sa_handler == handler && (old.sa_flags & (SA_ONSTACK | SA_RESTART)) == (SA_ONSTACK | SA_RESTART));
}

static void *raises(void *unused)
{
    raise(SIGUSR1);
    return unused;
}

int main(int argc, char **argv)
{
    stack_t stack = {.ss_sp = own, .ss_size = sizeof own};
    (void)argc;
    work(77);
    burn(80);
    if (strcmp(argv[1], "large") == 0) {
        install(needs_a_megabyte);
        raise(SIGUSR1);
        pthread_t thread;
        pthread_create(&thread, NULL, raises, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(argv[1], "inside") == 0) {
        install(sets_a_stack);
        raise(SIGUSR1);
        install(says_where);
        sigaltstack(&stack, NULL);
        raise(SIGUSR1);
    } else if (strcmp(argv[1], "later") == 0) { /* the stack comes after the handler */
        install(says_where);
        raise(SIGUSR1);
        sigaltstack(&stack, NULL);
        raise(SIGUSR1);
        stack.ss_flags = SS_DISABLE;
        sigaltstack(&stack, NULL);
        raise(SIGUSR1);
    } else if (strcmp(argv[1], "small") == 0) {
        stack.ss_sp = small;
        stack.ss_size = sizeof small;
        sigaltstack(&stack, NULL);
        install(says_blocked);
        raise(SIGUSR1);
    }
    return 0;
}
