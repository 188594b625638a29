/* For programs below robust_hold: they wait for it by files, HOLD_FILES, and for the interval thread, which goes on. */
#include <dirent.h>
#include <fcntl.h>

enum { MOST_TURNS = 3000 }; /* of 20 ms of CPU time: a minute */

static const char *hold_file(const char *suffix)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s.%s", getenv("HOLD_FILES"), suffix);
    return path;
}

static void make_hold_file(const char *suffix)
{
    close(open(hold_file(suffix), O_WRONLY | O_CREAT, 0600));
}

static void burn_until_file(const char *suffix)
{
    for (int turn = 0; turn < MOST_TURNS && access(hold_file(suffix), F_OK) != 0; turn++)
        burn(20);
}

/* Does nothing for programs that robust_hold has not started. */
__attribute__((unused)) static void burn_until_held(void)
{
    if (getenv("HOLD_FILES") == NULL)
        return;
    make_hold_file("ready");
    burn_until_file("held");
}

/* How often a thread has gone to sleep, or -1 if it is another one. */
static long sleeps_of(const char *tid, const char *name)
{
    char path[300], line[200];
    long count = -1;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    FILE *file = fopen(path, "r");
    int is_it = file != NULL && fgets(line, sizeof line, file) != NULL && strncmp(line, "Name:\t", 6) == 0 &&
                strncmp(line + 6, name, strlen(name)) == 0 && line[6 + strlen(name)] == '\n';
    while (is_it && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    if (file != NULL)
        fclose(file);
    return count;
}

static long sleeps(const char *name)
{
    DIR *directory = opendir("/proc/self/task");
    const struct dirent *entry;
    long count = -1;
    while (directory != NULL && count < 0 && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            count = sleeps_of(entry->d_name, name);
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* Until the interval thread has gone to sleep so many times more, as it does after each interval. */
__attribute__((unused)) static void burn_for_intervals(long count)
{
    long end = sleeps("incprof") + count;
    for (int turn = 0; turn < MOST_TURNS && sleeps("incprof") < end; turn++)
        burn(20);
}
