/* Programs that use SIGURG and SIGWINCH, the signals that ticks may come by. Each burns 80 ms or more before and
 * after (`afterwards`), and prints what it saw. */
#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

static volatile sig_atomic_t seen;
static sigjmp_buf back;

static void on_signal(int number)
{
    seen = number;
}

static void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static sigset_t set_of(int first, int second)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    sigaddset(&set, second);
    return set;
}

static const char *blocked(int number)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, number) ? "blocked" : "open";
}

static volatile sig_atomic_t has_read;

/* Again, where the target was so late that its read did not wait yet. */
static void *signal_soon(void *target)
{
    struct timespec pause = {0, 200000000};
    while (!has_read) {
        nanosleep(&pause, NULL);
        pthread_kill(*(pthread_t *)target, SIGURG);
    }
    return NULL;
}

/* A handler without SA_RESTART: a read that waits ends. */
static void interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t self = pthread_self(), other;
    int ends[2];
    char byte;
    sigaction(SIGURG, &action, NULL);
    burn(80);
    if (pipe(ends) != 0 || pthread_create(&other, NULL, signal_soon, &self) != 0)
        exit(1);
    long got = read(ends[0], &byte, 1);
    int reason = errno;
    has_read = 1;
    printf("read %ld %s, seen %d\n", got, reason == EINTR ? "EINTR" : "?", seen == SIGURG);
    pthread_join(other, NULL);
}

/* siglongjmp without a saved mask: what the handler blocks stays blocked, and no more than that. */
static void jumps(void)
{
    struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_NODEFER};
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGURG, &action, NULL);
    burn(80);
    if (sigsetjmp(back, 0) == 0)
        raise(SIGURG);
    printf("USR2 %s TERM %s URG %s\n", blocked(SIGUSR2), blocked(SIGTERM), blocked(SIGURG));
}

static void waits(void)
{
    sigset_t set = set_of(SIGURG, SIGURG);
    int number = 0;
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGURG);
    burn(80);
    sigwait(&set, &number);
    siginfo_t info;
    struct timespec none = {0, 0};
    raise(SIGURG);
    printf("waited %d", number == SIGURG);
    printf(" timed %d", sigtimedwait(&set, &info, &none) == SIGURG);
    printf(" none %d\n", sigtimedwait(&set, &info, &none));
}

static void reads(void)
{
    sigset_t set = set_of(SIGURG, SIGUSR1);
    struct signalfd_siginfo info;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    burn(80);
    printf("before %ld", (long)read(fd, &info, sizeof info));
    kill(getpid(), SIGURG);
    printf(" after %d\n", read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGURG);
}

/* Out-of-band data on a socket. */
static void out_of_band(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    sigaction(SIGURG, &action, NULL);
    if (bind(listener, (void *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (void *)&address, &size) != 0 || connect(client, (void *)&address, size) != 0)
        exit(1);
    int server = accept(listener, NULL, NULL);
    fcntl(server, F_SETOWN, getpid());
    burn(80);
    char byte = '!';
    send(client, &byte, 1, MSG_OOB);
    while (seen != SIGURG)
        burn(1);
    byte = '?';
    recv(server, &byte, 1, MSG_OOB);
    printf("out of band %c\n", byte);
}

/* Nothing is left for ticks. */
static void both(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGURG, &action, NULL);
    burn(40);
    sigaction(SIGWINCH, &action, NULL);
    raise(SIGURG);
    printf("urg %d", seen == SIGURG);
    raise(SIGWINCH);
    printf(" winch %d\n", seen == SIGWINCH);
}

/* The old calls. */
static void old_calls(void)
{
    printf("first %d", sigset(SIGURG, on_signal) == SIG_DFL);
    raise(SIGURG);
    printf(" seen %d", seen == SIGURG);
    printf(" held %d", sigset(SIGURG, SIG_HOLD) == on_signal);
    raise(SIGURG);
    printf(" %s", blocked(SIGURG));
    seen = 0;
    printf(" was held %d", sigset(SIGURG, SIG_IGN) == SIG_HOLD);
    printf(" ignored %d", seen == 0);
    sysv_signal(SIGURG, on_signal);
    raise(SIGURG);
    seen = 0;
    raise(SIGURG);
    printf(" once %d", seen == 0);
    signal(SIGURG, on_signal);
    siginterrupt(SIGURG, 1);
    struct sigaction action;
    sigaction(SIGURG, NULL, &action);
    printf(" interrupts %d", (action.sa_flags & SA_RESTART) == 0);
    sighold(SIGURG);
    printf(" %s", blocked(SIGURG));
    sigrelse(SIGURG);
    printf(" %s\n", blocked(SIGURG));
}

/* Reset by all old calls, all the time. */
static void resets(void)
{
    for (int round = 0; round < 30; round++) {
        for (int number = 1; number < NSIG; number++) {
            sysv_signal(number, SIG_DFL);
            sigset(number, SIG_DFL);
        }
        burn(4);
    }
    puts("reset");
}

/* Starts itself again with both signals blocked. */
static void inherits(char **words)
{
    sigset_t set = set_of(SIGURG, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    words[1] = "starts";
    execv("/proc/self/exe", words);
}

static void *several(void *mode)
{
    burn(40);
    sigset_t set = set_of(SIGURG, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    burn(40);
    return mode;
}

/* One thread after the other takes the signal from the ticks. */
static void threads(void)
{
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, several, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    puts("joined");
}

__attribute__((noinline)) static void afterwards(void)
{
    burn(80);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    (void)argc;
    work(77);
    if (strcmp(argv[1], "inherits") == 0)
        inherits(argv);
    burn(80);
    const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"interrupts", interrupts}, {"jumps", jumps},     {"waits", waits},
                 {"reads", reads},           {"oob", out_of_band}, {"both", both},
                 {"old", old_calls},         {"resets", resets},   {"threads", threads}};
    for (unsigned int i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    afterwards();
    return 0;
}
