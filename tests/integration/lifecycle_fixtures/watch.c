/* Another preloaded tool: it prints the calls that pass through it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    int (*next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
    if (action != NULL && number == SIGUSR1)
        write(2, "watch: sigaction\n", 17);
    return next(number, action, old);
}

void _exit(int status)
{
    void (*next)(int) __attribute__((noreturn)) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    write(2, "watch: _exit\n", 13);
    next(status);
}
