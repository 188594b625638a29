/* A vfork child for each function that the library puts in front of libc's. It calls it, and ends; what the parent has
 * afterwards (actions, mask, signal stack, signals that it gets) is printed.
 *
 *     vforks NAME...      nothing: prints the names that it accepts
 *     vforks -STATE NAME... as above, with SIGURG first `handled`, `ignored`, `blocked` or `left` alone */
#define _GNU_SOURCE
#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

enum { NOBODY = 65534 };
#define NO_PROGRAM "/no/such/program"
#define MATHS "libm.so.6"

static volatile sig_atomic_t seen[NSIG];
static char *const no_words[] = {"program", NULL};
static char own_stack[65536], child_stack[65536];
static const struct timespec none = {0, 0};
extern void moncontrol(int mode) __attribute__((weak));

static void on_signal(int number)
{
    seen[number]++;
}

static void *rest(void *unused)
{
    return unused;
}

static int rest_c11(void *unused)
{
    return unused != NULL;
}

static sigset_t set_of(int first, int second)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    sigaddset(&set, second);
    return set;
}

/* As programs reset signals before they start others. */
static void reset_by_sigaction(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
}

static void reset_by_signal(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
}

static void with_all(int how, int (*change)(int, const sigset_t *, sigset_t *))
{
    sigset_t all;
    sigfillset(&all);
    change(how, &all, NULL);
}

static void change_masks(int (*change)(int, const sigset_t *, sigset_t *))
{
    with_all(SIG_SETMASK, change);
    with_all(SIG_UNBLOCK, change);
    with_all(SIG_BLOCK, change);
}

static void call_sigaltstack(void)
{
    const stack_t stack = {.ss_sp = child_stack, .ss_size = 16384};
    sigaltstack(&stack, NULL);
}

static void call_pthread_create(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, rest, NULL) == 0)
        pthread_join(thread, NULL);
}

static void call_thrd_create(void)
{
    thrd_t thread;
    if (thrd_create(&thread, rest_c11, NULL) == thrd_success)
        thrd_join(thread, NULL);
}

/* A signal that waits. */
static sigset_t waiting(void)
{
    sigset_t set = set_of(SIGURG, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGURG);
    return set;
}

static void call_sigwait(void)
{
    sigset_t set = waiting();
    int number;
    sigtimedwait(&set, NULL, &none);
    signal(SIGURG, on_signal);
    raise(SIGURG);
    sigwait(&set, &number);
}

static void call_sigwaitinfo(void)
{
    sigset_t set = waiting();
    signal(SIGURG, on_signal);
    raise(SIGURG);
    sigwaitinfo(&set, NULL);
}

static void call_posix_spawn(int (*start)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                                          const posix_spawnattr_t *, char *const[], char *const[]))
{
    pid_t child;
    if (start(&child, "/bin/true", NULL, NULL, no_words, environ) == 0)
        waitpid(child, NULL, 0);
}

/* A line for each function: what a child does with it. */
#define CALLS(CALL)                                                                                                    \
    CALL(sigaction, reset_by_sigaction())                                                                              \
    CALL(signal, reset_by_signal())                                                                                    \
    CALL(bsd_signal, ((__typeof__(&signal))dlsym(RTLD_DEFAULT, "bsd_signal"))(SIGURG, SIG_DFL))                        \
    CALL(ssignal, ssignal(SIGURG, SIG_DFL))                                                                            \
    CALL(sysv_signal, sysv_signal(SIGURG, on_signal); raise(SIGURG))                                                   \
    CALL(__sysv_signal, __sysv_signal(SIGWINCH, on_signal); raise(SIGWINCH))                                           \
    CALL(sigset, sigset(SIGURG, SIG_HOLD); sigset(SIGURG, on_signal); raise(SIGURG))                                   \
    CALL(sigignore, sigignore(SIGURG); sigignore(SIGUSR1))                                                             \
    CALL(siginterrupt, siginterrupt(SIGURG, 1); siginterrupt(SIGUSR1, 1))                                              \
    CALL(sigaltstack, call_sigaltstack())                                                                              \
    CALL(pthread_sigmask, change_masks(pthread_sigmask))                                                               \
    CALL(sigprocmask, change_masks(sigprocmask))                                                                       \
    CALL(sighold, sighold(SIGURG); sighold(SIGWINCH))                                                                  \
    CALL(sigrelse, sigrelse(SIGURG))                                                                                   \
    CALL(sigblock, sigblock(~0))                                                                                       \
    CALL(sigsetmask, sigsetmask(~0); sigsetmask(0))                                                                    \
    CALL(sigwait, call_sigwait())                                                                                      \
    CALL(sigwaitinfo, call_sigwaitinfo())                                                                              \
    CALL(sigtimedwait, sigset_t set = waiting(); sigtimedwait(&set, NULL, &none))                                      \
    CALL(signalfd, sigset_t set = waiting(); close(signalfd(-1, &set, 0)))                                             \
    CALL(pthread_create, call_pthread_create())                                                                        \
    CALL(thrd_create, call_thrd_create())                                                                              \
    CALL(dlclose, dlclose(dlopen(MATHS, RTLD_NOW)))                                                                    \
    CALL(setuid, setuid(NOBODY))                                                                                       \
    CALL(seteuid, seteuid(NOBODY))                                                                                     \
    CALL(setreuid, setreuid(NOBODY, NOBODY))                                                                           \
    CALL(setresuid, setresuid(NOBODY, NOBODY, NOBODY))                                                                 \
    CALL(setgid, setgid(NOBODY))                                                                                       \
    CALL(setegid, setegid(NOBODY))                                                                                     \
    CALL(setregid, setregid(NOBODY, NOBODY))                                                                           \
    CALL(setresgid, setresgid(NOBODY, NOBODY, NOBODY))                                                                 \
    CALL(setgroups, setgroups(0, NULL))                                                                                \
    CALL(initgroups, initgroups("root", 20003))                                                                        \
    CALL(prctl, prctl(PR_SET_SECCOMP, 1, 0, 0, 0); syscall(SYS_exit, 3))                                               \
    CALL(syscall, syscall(SYS_seccomp, 0, 0, NULL); SYS_EXIT(3))                                                       \
    CALL(execv, execv(NO_PROGRAM, no_words))                                                                           \
    CALL(execve, execve(NO_PROGRAM, no_words, environ))                                                                \
    CALL(execvp, execvp(NO_PROGRAM, no_words))                                                                         \
    CALL(execvpe, execvpe(NO_PROGRAM, no_words, environ))                                                              \
    CALL(fexecve, fexecve(99, no_words, environ))                                                                      \
    CALL(execveat, execveat(99, "", no_words, environ, 0))                                                             \
    CALL(execl, execl(NO_PROGRAM, "program", NULL))                                                                    \
    CALL(execlp, execlp(NO_PROGRAM, "program", NULL))                                                                  \
    CALL(execle, execle(NO_PROGRAM, "program", NULL, environ))                                                         \
    CALL(_exit, _exit(3))                                                                                              \
    CALL(_Exit, _Exit(3))                                                                                              \
    CALL(posix_spawn, call_posix_spawn(posix_spawn))                                                                   \
    CALL(posix_spawnp, call_posix_spawn(posix_spawnp))                                                                 \
    CALL(system, if (system("true") != 0) _exit(1))                                                                    \
    CALL(popen, pclose(popen("true", "r")))                                                                            \
    CALL(unshare, unshare(CLONE_NEWUSER))                                                                              \
    CALL(setns, setns(-1, 0))                                                                                          \
    CALL(moncontrol, if (moncontrol != NULL) moncontrol(0))                                                            \
    CALL(raise, raise(SIGURG); raise(SIGWINCH); raise(SIGUSR1))                                                        \
    CALL(fork, int status; if (fork() == 0) _exit(0); wait(&status))

#define SYS_EXIT(status) syscall(SYS_exit, status)

#define FUNCTION(name, what)                                                                                           \
    static void child_##name(void)                                                                                     \
    {                                                                                                                  \
        what;                                                                                                          \
    }
CALLS(FUNCTION)

#define ENTRY(name, what) {#name, child_##name},
static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {CALLS(ENTRY)};

enum { COUNT = sizeof calls / sizeof *calls };

static const char *action_of(int number)
{
    struct sigaction action;
    static char text[80];
    if (sigaction(number, NULL, &action) != 0)
        return "";
    const char *handler = action.sa_handler == SIG_DFL     ? "default"
                          : action.sa_handler == SIG_IGN   ? "ignored"
                          : action.sa_handler == on_signal ? "mine"
                                                           : "another";
    snprintf(text, sizeof text, "%s %x %d", handler, (unsigned int)action.sa_flags,
             sigismember(&action.sa_mask, SIGTERM));
    return text;
}

/* All that the parent has and a child could have changed. */
static void show(void)
{
    sigset_t mask, mine = set_of(SIGURG, SIGWINCH);
    stack_t stack;
    for (int number = 1; number < NSIG; number++)
        if (strcmp(action_of(number), "default 0 0") != 0)
            printf(" %d:%s", number, action_of(number));
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&mask, number) == 1)
            printf(" -%d", number);
    sigaltstack(NULL, &stack);
    printf(" stack %d %zu", stack.ss_sp == own_stack, stack.ss_size);
    raise(SIGURG);
    raise(SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &mine, NULL);
    printf(" seen %d %d %d\n", seen[SIGURG], seen[SIGWINCH], seen[SIGUSR1]);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void set_up(const char *state)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    sigset_t set = set_of(SIGURG, SIGUSR2);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGUSR1, &action, NULL);
    if (strcmp(state, "handled") == 0)
        sigaction(SIGURG, &action, NULL);
    if (strcmp(state, "handled") == 0)
        sigaltstack(&stack, NULL);
    if (strcmp(state, "ignored") == 0)
        signal(SIGURG, SIG_IGN);
    if (strcmp(state, "blocked") == 0)
        sigprocmask(SIG_BLOCK, &set, NULL);
}

__attribute__((noinline)) static int have_child(void (*run)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        run();
        _exit(errno == 0 ? 0 : 2);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    work(1000);
    if (argc < 2) {
        for (int i = 0; i < COUNT; i++)
            puts(calls[i].name);
        return 0;
    }
    set_up(argv[1] + 1);
    for (int i = 0; i < COUNT; i++) {
        memset((void *)seen, 0, sizeof seen);
        errno = 0;
        printf("%s %x", calls[i].name, have_child(calls[i].run));
        memset((void *)seen, 0, sizeof seen);
        show();
    }
    burn(60);
    work(10);
    return 0;
}
