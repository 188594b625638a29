/* Descriptors and directories, of the host and of the run. */
#include "host.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

static void act_fds(long number)
{
    long open = 0;
    for (int fd = 0; fd < 64; fd++)
        open = open * 3 % 1000000007 + (fcntl(fd, F_GETFD) >= 0 ? fd + 1 : 0);
    say("fds", open + number);
}

/* Everything from the given one on, as daemons do; says how many there were. */
static void act_closeall(long number)
{
    long closed = 0;
    for (int fd = number < 3 ? 3 : (int)number; fd < 2048; fd++)
        closed += close(fd) == 0;
    say("closeall", closed);
}

static void act_closerange(long number)
{
    say("closerange", syscall(SYS_close_range, number < 3 ? 3 : number, UINT_MAX, 0));
}

static void act_closefd(long number)
{
    close((int)number);
}

/* A file of the host's own gets the number of stderr: nobody may write into it. */
static void act_steal(long number)
{
    close(2);
    int fd = open("stolen", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    say("steal", fd + number);
}

static void act_stolen(long number)
{
    struct stat status = {.st_size = -1};
    say("stolen", stat("stolen", &status) + number);
    say("bytes", status.st_size);
}

/* All descriptors that there may be, for a while. */
static void act_exhaust(long number)
{
    static int fds[4096];
    long opened = 0;
    while (opened < 4096 && (fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        opened++;
    burn(number);
    pid_t child = fork_counted();
    if (child == 0) {
        work(100);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    for (long i = 0; i < opened; i++)
        close(fds[i]);
    say("exhaust", opened);
    say("child", status);
}

/* What happens to the run directory while the program runs. Nothing is said: alone there is none, and nothing happens.
 */
static const char *run_directory(void)
{
    const char *directory = getenv("SOAK_DIR");
    return directory != NULL ? directory : "";
}

static void act_rmdir(long number)
{
    (void)number;
    DIR *directory = opendir(run_directory());
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
    rmdir(run_directory());
}

static void act_moved(long number)
{
    char name[4200];
    if (*run_directory() == '\0')
        return;
    snprintf(name, sizeof name, "%s.moved", run_directory());
    rename(run_directory(), name);
    if (number % 2 == 1)
        close(open(run_directory(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void act_locked(long number)
{
    chmod(run_directory(), (mode_t)number & 0777);
}

static void act_truncated(long number)
{
    char name[4200];
    if (*run_directory() == '\0')
        return;
    snprintf(name, sizeof name, "%s/rank-00000.gmon", run_directory());
    if (truncate(name, number) != 0)
        return;
}

static void act_chdir(long number)
{
    say("chdir", chdir(number % 2 ? "/" : "/proc"));
}

static void act_lostcwd(long number)
{
    if (mkdir("lost", 0700) == 0 && chdir("lost") == 0)
        rmdir("../lost");
    say("lostcwd", number);
}

static void act_umask(long number)
{
    umask((mode_t)number & 0777);
    say("umask", umask((mode_t)number & 0777));
}

const struct action file_actions[] = {
    {"fds", act_fds},         {"closeall", act_closeall},   {"closerange", act_closerange},
    {"closefd", act_closefd}, {"steal", act_steal},         {"stolen", act_stolen},
    {"exhaust", act_exhaust}, {"rmdir", act_rmdir},         {"moved", act_moved},
    {"locked", act_locked},   {"truncated", act_truncated}, {"chdir", act_chdir},
    {"lostcwd", act_lostcwd}, {"umask", act_umask},         {NULL, NULL}};
