/* Becomes others, with several threads, and looks each time whose threads it has: all that the kernel shows, the
 * interval threads among them.
 *
 *     credentials now|wait many|one    wait: for up to a minute after each change, until they are all the same;
 *                                      one: no other threads than the first and what is not the application's
 *     credentials refused              becomes nobody, and waits until there is no other thread
 *
 * Prints a line for each change with the number of threads that are not as the one that has made it, and whether the
 * process can be dumped as it was told. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifdef WITH_HEARTBEATS
#include <appekg.h>
#define BEAT() ekg_pulse(1)
#else
#define BEAT() ((void)0)
#endif

enum { NOBODY = 65534, SOMEBODY = 12345 };

static int waits;

/* The lines that say whose a thread is. The fourth number of the first two is each thread's own. */
static void read_status(const char *path, char *into, size_t size)
{
    static const char *const words[] = {"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:"};
    char line[512];
    FILE *file = fopen(path, "r");
    into[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strncmp(line, words[i], strlen(words[i])) != 0)
                continue;
            if (i < 2)
                *strrchr(line, '\t') = '\0';
            strncat(into, line, size - 1 - strlen(into));
        }
    if (file != NULL)
        fclose(file);
}

static int count_others(void)
{
    char path[512], mine[2048], theirs[2048];
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    const struct dirent *entry;
    read_status("/proc/thread-self/status", mine, sizeof mine);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        read_status(path, theirs, sizeof theirs);
        count += strcmp(mine, theirs) != 0;
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

static void show(const char *what, int result)
{
    tick();
    BEAT();
    for (int attempt = 0; waits && attempt < 60000 && count_others() > 0; attempt++)
        usleep(10000);
    printf("%s %d %d\n", what, result, count_others());
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* All that is permitted stays so, without effect, until it is wanted. */
static void keep_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    data[0].permitted = data[0].effective = 1u << CAP_NET_BIND_SERVICE;
    int kept = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    show("keepcaps", kept + setresuid(SOMEBODY, SOMEBODY, NOBODY));
    show("capset", (int)syscall(SYS_capset, &head, data));
}

static int count_threads(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* It has its parent's memory, and is a process of its own. */
static int have_a_vfork_child(void)
{
    int status = -1;
    pid_t child = vfork();
    if (child == 0)
        _exit(setuid(NOBODY) == 0 ? 4 : 5);
    return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

/* A thread that cannot change its credentials has to be gone. */
static int become_nobody(void)
{
    int result = setuid(NOBODY);
    for (int attempt = 0; attempt < 60000 && count_threads() > 1; attempt++)
        usleep(10000);
    printf("setuid %d threads %d\n", result, count_threads());
    for (int i = 0; i < 1000; i++)
        BEAT();
    return 0;
}

int main(int argc, char **argv)
{
    const gid_t groups[] = {7, 20001, 20002};
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    tick();
    BEAT();
    if (argc < 3)
        return become_nobody();
    waits = strcmp(argv[1], "wait") == 0;
    int is_alone = strcmp(argv[2], "one") == 0;
    for (int i = 0; i < 3 && !is_alone; i++)
        pthread_create(&thread, NULL, sleep_on, NULL);
    show("nothing", 0);
    if (is_alone)
        show("vfork", have_a_vfork_child());
    show("setgroups", setgroups(3, groups));
    show("setegid", setegid(SOMEBODY));
    show("setegid", setegid(0));
    show("seteuid", seteuid(SOMEBODY));
    show("seteuid", seteuid(0));
    show("setreuid", setreuid(0, NOBODY));
    show("setreuid", setreuid(0, 0));
    show("initgroups", initgroups("root", 20003));
    show("setregid", setregid(7, 7));
    show("setresgid", setresgid(NOBODY, 7, 7));
    show("setgid", setgid(NOBODY));
    show("setresuid", setresuid(NOBODY, NOBODY, 0));
    show("seteuid", seteuid(0));
    if (is_alone)
        keep_capabilities(); /* libc's capset is each thread's own */
    int result = is_alone ? setresuid(NOBODY, NOBODY, NOBODY) : setuid(NOBODY);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    show("for good", result);
    show("and back", setuid(0));
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    return 0;
}
