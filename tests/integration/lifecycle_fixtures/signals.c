/* Programs with plans of their own for signals. Each burns 120 ms or more and prints what it saw. */
#include "host.h"

#include <errno.h>
#include <sys/time.h>

static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    (void)number;
    seen++;
}

static void on_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    seen += number == SIGURG && info->si_pid == getpid() && info->si_code == SI_USER;
}

/* Its own profiling timer: 20 ms of CPU time between ticks, and every one is delivered. */
static void prof(void)
{
    struct itimerval period = {{0, 20000}, {0, 20000}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &period, NULL);
    while (seen < 10)
        burn(1);
    puts("ten ticks");
}

/* It owns SIGURG: its handler is called for its own signals alone, and its queries see what it set. */
static void urg(void)
{
    struct sigaction old, action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGURG, NULL, &old);
    printf("default %d\n", old.sa_handler == SIG_DFL);
    sigaction(SIGURG, &action, NULL);
    for (int i = 0; i < 5; i++) {
        burn(24);
        kill(getpid(), SIGURG);
    }
    sigaction(SIGURG, NULL, &old);
    printf("mine %d seen %d\n", old.sa_sigaction == on_info, (int)seen);
    sighandler_t before = signal(SIGURG, SIG_IGN);
    printf("mine %d\n", (void *)before == (void *)on_info);
    raise(SIGURG);
    printf("ignored %d\n", seen == 5);
}

/* SA_RESETHAND: the second signal finds the default, which does nothing. */
static void once(void)
{
    struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    sigaction(SIGURG, &action, NULL);
    raise(SIGURG);
    raise(SIGURG);
    sigaction(SIGURG, NULL, &old);
    burn(120);
    printf("seen %d default %d\n", (int)seen, old.sa_handler == SIG_DFL);
}

static void reset(void)
{
    for (int round = 0; round < 30; round++) {
        for (int number = 1; number < NSIG; number++)
            if ((round & 1) != 0)
                signal(number, SIG_DFL);
            else
                sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        burn(4);
    }
    puts("reset");
}

static void block(void)
{
    sigset_t all, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    burn(120);
    raise(SIGUSR1);
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("blocked %d %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGTERM));
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    burn(40);
}

/* A thread that takes every signal by sigwait meets the application's own only. */
static void *takes_all(void *unused)
{
    sigset_t all;
    int number, others = 0, own = 0;
    sigfillset(&all);
    while (own < 50) {
        if (sigwait(&all, &number) == 0 && number == SIGUSR1)
            own++;
        else
            others++;
        burn(2);
    }
    printf("own %d others %d\n", own, others);
    return unused;
}

static void wait_all(void)
{
    sigset_t all;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&thread, NULL, takes_all, NULL);
    while (pthread_kill(thread, 0) == 0 && pthread_tryjoin_np(thread, NULL) != 0) {
        pthread_kill(thread, SIGUSR1);
        burn(1);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    work(77);
    switch (argv[1][0]) {
    case 'p': prof(); break;
    case 'u': urg(); break;
    case 'o': once(); break;
    case 'r': reset(); break;
    case 'b': block(); break;
    case 'w': wait_all(); break;
    }
    return 0;
}
