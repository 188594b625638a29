/* Prints its number, then each signal that comes to it and its value, until SIGRTMAX, which comes last. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    printf("%d\n", getpid());
    fflush(stdout);
    for (int number; (number = sigwaitinfo(&all, &info)) != SIGRTMAX;) {
        if (number < 0) /* it was stopped, and goes on */
            continue;
        printf("%d %d\n", info.si_signo, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
        fflush(stdout);
    }
    return 6;
}
