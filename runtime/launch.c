#define _GNU_SOURCE
#include "launch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "log.h"
#include "quiet.h"
#include "sys.h"

#define MOST_DIRECTORIES 10000
#define LONGEST_NAME 128 /* of a file in the run directory */

/* The launchers' own variables come first: SLURM_PROCID is also set where mpirun was called within a step. */
static const char *const rank_names[] = {"PMIX_RANK",           "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                         "MV2_COMM_WORLD_RANK", "PALS_RANKID",          "FLUX_TASK_RANK",
                                         "JSM_NAMESPACE_RANK",  "ALPS_APP_PE"};
static const char *const size_names[] = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",           "MV2_COMM_WORLD_SIZE",  "PALS_SIZE",
    "FLUX_JOB_SIZE",        "JSM_NAMESPACE_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
/* Job and step of a scheduler, as pairs. */
static const char *const job_names[][2] = {
    {"SLURM_JOB_ID", "SLURM_STEP_ID"}, {"FLUX_JOB_ID", NULL}, {"LSB_JOBID", "LS_JOBPID"}, {"PBS_JOBID", "PALS_APID"}};
static const char *const launcher_names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID",
                                             "JSM_NAMESPACE_ID"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int number_from(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || !isdigit((unsigned char)*value))
            continue;
        char *end;
        long number = strtol(value, &end, 10);
        if (*end == '\0' && number >= 0 && number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* A batch script has SLURM_PROCID=0 as well, but no step: what it starts by itself is no rank of anything. */
static int rank_from_launcher(void)
{
    static const char *const slurm[] = {"SLURM_PROCID"};
    int rank = number_from(rank_names, COUNT(rank_names));
    if (rank >= 0 || getenv("SLURM_STEP_ID") == NULL)
        return rank;
    return number_from(slurm, COUNT(slurm));
}

static void append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);
    size_t room = strnlen(more, size - 1 - length);
    memcpy(text + length, more, room);
    text[length + room] = '\0';
}

static void append_number(char *text, size_t size, unsigned long long number)
{
    char digits[24];
    char *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
    } while ((number /= 10) > 0);
    append(text, size, at);
}

/* Field 22 of /proc/<pid>/stat: when the process started, in ticks since boot. */
static unsigned long long start_time(pid_t pid)
{
    char path[64] = "/proc/";
    char text[1024];
    append_number(path, sizeof path, (unsigned long long)pid);
    append(path, sizeof path, "/stat");
    int fd = sys_open(path, O_RDONLY, 0);
    if (fd < 0)
        return 0;
    long got = SYS3(SYS_read, fd, text, sizeof text - 1);
    sys_close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *at = strrchr(text, ')'); /* the name, field 2, may hold anything */
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

static void identify_process(char *text, size_t size, const char *kind, pid_t pid)
{
    append(text, size, kind);
    append_number(text, size, (unsigned long long)pid);
    append(text, size, "@");
    append_number(text, size, start_time(pid));
}

/* The scheduler's job and step; an MPI launcher's name space tells several launches within one job apart. */
static void identify_launch(struct launch *launch, bool has_rank)
{
    char *text = launch->identity;
    size_t size = sizeof launch->identity;
    text[0] = '\0';
    for (size_t i = 0; has_rank && i < COUNT(job_names) && *text == '\0'; i++) {
        const char *job = getenv(job_names[i][0]);
        const char *step = job_names[i][1] != NULL ? getenv(job_names[i][1]) : NULL;
        if (job == NULL || *job == '\0')
            continue;
        append(text, size, "job ");
        append(text, size, job);
        append(text, size, ".");
        append(text, size, step != NULL ? step : "");
    }
    for (size_t i = 0; has_rank && i < COUNT(launcher_names); i++) {
        const char *space = getenv(launcher_names[i]);
        if (space == NULL || *space == '\0')
            continue;
        append(text, size, " launcher ");
        append(text, size, space);
        return;
    }
    if (*text != '\0')
        return;
    if (has_rank)
        identify_process(text, size, "parent ", getppid());
    else
        identify_process(text, size, "process ", getpid());
}

const char *launch_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool launch_identify(struct launch *launch, int rank)
{
    long length = sys_readlink("/proc/self/exe", launch->exe, sizeof launch->exe - 1);
    if (length <= 0) {
        log_warn("cannot read /proc/self/exe, not recording", NULL);
        return false;
    }
    launch->exe[length] = '\0';
    if (SYS2(SYS_getcwd, launch->cwd, sizeof launch->cwd) <= 0)
        launch->cwd[0] = '\0';
    if (rank < 0)
        rank = rank_from_launcher();
    launch->rank = rank >= 0 ? rank : 0;
    launch->ranks = rank >= 0 ? number_from(size_names, COUNT(size_names)) : 1;
    identify_launch(launch, rank >= 0);
    return true;
}

/* mkdir -p, on a copy. 0 or negative errno. */
static long make_directories(const char *path)
{
    char part[PATH_MAX];
    size_t length = strnlen(path, sizeof part - 1);
    memcpy(part, path, length);
    part[length] = '\0';
    for (char *at = part + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        sys_mkdir(part, 0777);
        *at = '/';
    }
    long made = sys_mkdir(part, 0777);
    return made == -EEXIST ? 0 : made;
}

enum claim { CLAIM_OURS, CLAIM_FOREIGN, CLAIM_FAILED };

/* Another process may have created the file and not yet written its line: wait for it, half a second at most. */
static bool owned_by_us(const char *path, const char *identity)
{
    char text[sizeof((struct launch *)0)->identity + 1];
    for (int attempt = 0; attempt < 500; attempt++) {
        int fd = sys_open(path, O_RDONLY | O_NONBLOCK, 0); /* whatever has that name, nobody waits for it */
        long got = fd >= 0 ? SYS3(SYS_read, fd, text, sizeof text - 1) : -1;
        if (fd >= 0)
            sys_close(fd);
        if (got > 0 && text[got - 1] == '\n') {
            text[got - 1] = '\0';
            return strcmp(text, identity) == 0;
        }
        struct timespec millisecond = {0, 1000000};
        SYS2(SYS_nanosleep, &millisecond, NULL);
    }
    return false;
}

static enum claim claim(const char *directory, const char *identity)
{
    char path[PATH_MAX];
    path[0] = '\0';
    append(path, sizeof path, directory);
    append(path, sizeof path, "/launch");
    long error = make_directories(directory);
    int fd = error == 0 ? sys_open(path, O_WRONLY | O_CREAT | O_EXCL, 0666) : (int)error;
    if (fd == -EEXIST)
        return owned_by_us(path, identity) ? CLAIM_OURS : CLAIM_FOREIGN;
    if (fd < 0) {
        log_error("cannot write to the run directory, not recording", directory, fd);
        return CLAIM_FAILED;
    }
    char line[sizeof((struct launch *)0)->identity + 1];
    line[0] = '\0';
    append(line, sizeof line - 1, identity);
    append(line, sizeof line, "\n");
    long length = (long)strlen(line);
    struct quiet quiet = quiet_begin();
    long wrote = SYS3(SYS_write, fd, line, length);
    quiet_end(quiet);
    sys_close(fd);
    if (wrote == length)
        return CLAIM_OURS;
    sys_unlink(path); /* whoever comes next need not wait for its line */
    log_error("cannot write to the run directory, not recording", directory, wrote < 0 ? wrote : -ENOSPC);
    return CLAIM_FAILED;
}

/* The given name made absolute, or <prefix>-<app>[-<job>] here: the program may change its directory later. */
static bool name_directory(const struct launch *launch, const char *given, const char *prefix, char *path, size_t size)
{
    path[0] = '\0';
    if (given == NULL || *given != '/') {
        if (SYS2(SYS_getcwd, path, size) <= 0 || path[0] != '/') {
            log_warn("cannot tell the current directory, not recording", NULL);
            return false;
        }
        append(path, size, "/");
    }
    if (given != NULL && *given != '\0') {
        if (strlen(path) + strnlen(given, size) + LONGEST_NAME >= size) {
            log_warn("the name of the run directory is too long, not recording", NULL);
            return false;
        }
        append(path, size, given);
        return true;
    }
    append(path, size, prefix);
    append(path, size, "-");
    append(path, size, launch_basename(launch->exe));
    for (size_t i = 0; i < COUNT(job_names); i++) {
        const char *job = getenv(job_names[i][0]);
        if (job != NULL && *job != '\0') {
            append(path, size, "-");
            append(path, size, job);
            break;
        }
    }
    return true;
}

bool launch_claim_directory(struct launch *launch, const char *given, const char *prefix)
{
    char stem[PATH_MAX - 8];
    if (!name_directory(launch, given, prefix, stem, sizeof stem))
        return false;
    for (size_t length = strlen(stem); length > 1 && stem[length - 1] == '/'; length--)
        stem[length - 1] = '\0';
    for (unsigned int number = 0; number < MOST_DIRECTORIES; number++) {
        strcpy(launch->directory, stem);
        if (number > 0) {
            append(launch->directory, sizeof launch->directory, ".");
            append_number(launch->directory, sizeof launch->directory, number);
        }
        enum claim result = claim(launch->directory, launch->identity);
        if (result == CLAIM_OURS)
            log_debug("recording", launch->directory);
        if (result != CLAIM_FOREIGN)
            return result == CLAIM_OURS;
    }
    log_warn("too many run directories of other launches, not recording", stem);
    return false;
}
