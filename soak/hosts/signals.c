/* Signals: the host's own handlers, timers and waits, among them for the signals that profilers use. */
#include "host.h"

#include <poll.h>
#include <setjmp.h>
#include <sys/signalfd.h>
#include <sys/time.h>

static volatile sig_atomic_t seen;
static sigjmp_buf back;

static void count(int number)
{
    (void)number;
    seen++;
}

static void count_and_work(int number)
{
    (void)number;
    seen++;
    work(20);
}

static void leave(int number)
{
    siglongjmp(back, number);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    seen = 0;
}

/* Sent to the own thread, each is handled before the call returns. */
static void raise_some(const char *what, int number, long times)
{
    handle(number, count_and_work, SA_RESTART);
    for (long i = 0; i < times; i++)
        raise(number);
    say(what, seen);
}

static void act_urg(long number)
{
    raise_some("urg", SIGURG, number);
}

static void act_winch(long number)
{
    raise_some("winch", SIGWINCH, number);
}

static void act_storm(long number)
{
    raise_some("storm", SIGUSR1, number);
}

static void act_realtime(long number)
{
    raise_some("realtime", SIGRTMIN + (int)(number % 8), number);
}

/* A profiler of the host's own: as many signals as are waited for come, at some time. */
static void own_timer(const char *what, int which, int number, long times)
{
    struct itimerval period = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
    handle(number, count, SA_RESTART);
    setitimer(which, &period, NULL);
    while (seen < times)
        work(100);
    setitimer(which, &none, NULL);
    signal(number, SIG_IGN);
    say(what, times);
}

static void act_prof(long number)
{
    own_timer("prof", ITIMER_PROF, SIGPROF, number);
}

static void act_virtual(long number)
{
    own_timer("virtual", ITIMER_VIRTUAL, SIGVTALRM, number);
}

static void act_real(long number)
{
    own_timer("real", ITIMER_REAL, SIGALRM, number);
}

static void act_timer(long number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    struct itimerspec period = {{0, 1500000}, {0, 1500000}};
    timer_t timer;
    handle(SIGRTMIN + 3, count, SA_RESTART);
    int error = timer_create(CLOCK_MONOTONIC, &event, &timer);
    if (error == 0) {
        timer_settime(timer, 0, &period, NULL);
        while (seen < number)
            work(100);
        timer_delete(timer);
    }
    signal(SIGRTMIN + 3, SIG_IGN);
    say("timer", error);
}

/* Nothing but the host's own alarm ends this wait, however late it begins. */
static void act_pause(long number)
{
    struct itimerval once = {{0, 0}, {0, number * 1000 + 1}};
    struct timespec longest = {30, 0};
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    handle(SIGALRM, count, 0);
    setitimer(ITIMER_REAL, &once, NULL);
    int result = ppoll(NULL, 0, &longest, &before);
    say("pause", result < 0 ? errno : 0);
    say("alarms", seen);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int number_of(long number)
{
    static const int numbers[] = {SIGUSR1, SIGURG, SIGWINCH, SIGPROF, SIGTERM, SIGIO};
    return numbers[(size_t)number % (sizeof numbers / sizeof *numbers)];
}

static void act_sigwait(long number)
{
    sigset_t set, before;
    int got = 0, wanted = number_of(number);
    sigemptyset(&set);
    sigaddset(&set, wanted);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    burn(3);
    kill(getpid(), wanted);
    sigwait(&set, &got);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    say("sigwait", got);
}

static void act_signalfd(long number)
{
    sigset_t set, before;
    struct signalfd_siginfo got = {.ssi_signo = 0};
    int wanted = number_of(number);
    sigemptyset(&set);
    sigaddset(&set, wanted);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    burn(3);
    kill(getpid(), wanted);
    if (fd >= 0 && read(fd, &got, sizeof got) < 0)
        got.ssi_signo = 0;
    close(fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    say("signalfd", fd >= 0 ? (long)got.ssi_signo : -1);
}

static void act_blockall(long number)
{
    sigset_t all, before, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    burn(number);
    kill(getpid(), SIGUSR2);
    sigpending(&pending);
    say("pending", sigismember(&pending, SIGUSR2));
    siginfo_t info;
    struct timespec none = {0, 0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    say("blockall", sigtimedwait(&one, &info, &none));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Out of handlers by jumps: what was blocked before is blocked after. */
static void act_jumps(long number)
{
    volatile long jumps = 0;
    handle(SIGUSR1, leave, 0);
    while (jumps < number)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
        else
            jumps++;
    signal(SIGUSR1, SIG_DFL);
    say("jumps", jumps);
}

/* Mask and dispositions as the host sees them. */
static void act_masks(long number)
{
    sigset_t mask;
    long blocked = 0, sum = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        blocked += sigismember(&mask, i) == 1;
        if (sigaction(i, NULL, &action) == 0)
            sum = sum * 31 +
                  (action.sa_handler == SIG_DFL   ? 0
                   : action.sa_handler == SIG_IGN ? 1
                                                  : 2) +
                  action.sa_flags;
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    say("masks", blocked * 1000 + number);
    say("actions", sum);
    say("altstack", stack.ss_flags);
}

/* From now on, after so many microseconds: something that happens at any moment (soak/faults_draw.py). */
static void after(long number, int signal)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec once = {{0, 0}, {number / 1000000, number % 1000000 * 1000 + 1}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &once, NULL);
}

static void act_killin(long number)
{
    after(number, SIGKILL);
}

static void act_termin(long number)
{
    after(number, SIGTERM);
}

static void act_stopin(long number)
{
    after(number, SIGSTOP);
}

const struct action signal_actions[] = {
    {"urg", act_urg},           {"winch", act_winch},       {"storm", act_storm},
    {"realtime", act_realtime}, {"prof", act_prof},         {"virtual", act_virtual},
    {"real", act_real},         {"timer", act_timer},       {"pause", act_pause},
    {"sigwait", act_sigwait},   {"signalfd", act_signalfd}, {"blockall", act_blockall},
    {"jumps", act_jumps},       {"masks", act_masks},       {"killin", act_killin},
    {"termin", act_termin},     {"stopin", act_stopin},     {NULL, NULL}};
