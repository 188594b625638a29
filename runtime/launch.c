#define _GNU_SOURCE
#include "launch.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixed_text.h"
#include "log.h"
#include "sys.h"

/* The launchers' own variables come first: SLURM_PROCID is also set if mpirun was started within a step. */
static const char *const rank_names[] = {"PMIX_RANK",           "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                         "MV2_COMM_WORLD_RANK", "PALS_RANKID",          "FLUX_TASK_RANK",
                                         "JSM_NAMESPACE_RANK",  "ALPS_APP_PE"};
static const char *const size_names[] = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",           "MV2_COMM_WORLD_SIZE",  "PALS_SIZE",
    "FLUX_JOB_SIZE",        "JSM_NAMESPACE_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
static const char *const local_names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "MV2_COMM_WORLD_LOCAL_RANK",  "PALS_LOCAL_RANKID",
                                          "FLUX_TASK_LOCAL_ID",         "JSM_NAMESPACE_LOCAL_RANK"};
/* Job and step of a scheduler, as pairs. */
static const char *const job_names[][2] = {
    {"SLURM_JOB_ID", "SLURM_STEP_ID"}, {"FLUX_JOB_ID", NULL}, {"LSB_JOBID", "LS_JOBPID"}, {"PBS_JOBID", "PALS_APID"}};
static const char *const launcher_names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID",
                                             "JSM_NAMESPACE_ID"};

#define LONGEST_NAME 128 /* of the name of a file in the run directory */
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

/* Return the launcher's value. A batch script has SLURM_PROCID=0 as well, but no step: processes that it starts itself
 * are no ranks. */
static int from_launcher(const char *const *names, size_t count, const char *of_slurm)
{
    int number = number_from(names, count);
    if (number >= 0 || getenv("SLURM_STEP_ID") == NULL)
        return number;
    return number_from(&of_slurm, 1);
}

/* Return the start time of the process in ticks since boot, field 22 of /proc/<pid>/stat. */
static unsigned long long start_time(pid_t pid)
{
    char path[64] = "/proc/";
    char text[1024];
    text_append_number(path, sizeof path, (unsigned long long)pid, 1);
    text_append(path, sizeof path, "/stat");
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
    text_append(text, size, kind);
    text_append_number(text, size, (unsigned long long)pid, 1);
    text_append(text, size, "@");
    text_append_number(text, size, start_time(pid), 1);
}

static const char *rank_name(void)
{
    for (size_t i = 0; i < COUNT(rank_names); i++)
        if (getenv(rank_names[i]) != NULL)
            return rank_names[i];
    return getenv("INCPROF_RANK") != NULL ? "INCPROF_RANK" : "EKG_RANK";
}

/* Build the identity from the scheduler's job and step; an MPI launcher's name space distinguishes launches within one
 * job. */
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
        text_append(text, size, "job ");
        text_append(text, size, job);
        text_append(text, size, ".");
        text_append(text, size, step != NULL ? step : "");
    }
    for (size_t i = 0; has_rank && i < COUNT(launcher_names); i++) {
        const char *space = getenv(launcher_names[i]);
        if (space == NULL || *space == '\0')
            continue;
        text_append(text, size, " launcher ");
        text_append(text, size, space);
        return;
    }
    if (*text != '\0')
        return;
    if (has_rank)
        identify_process(text, size, "parent ", ancestor_without(rank_name()));
    else
        identify_process(text, size, "process ", getpid());
}

static const char *job_from_scheduler(void)
{
    for (size_t i = 0; i < COUNT(job_names); i++) {
        const char *job = getenv(job_names[i][0]);
        if (job != NULL && *job != '\0')
            return job;
    }
    return NULL;
}

const char *launch_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool launch_is_program(const char *glob, const char *exe)
{
    return fnmatch(glob, exe, 0) == 0 || fnmatch(glob, launch_basename(exe), 0) == 0 ||
           fnmatch(glob, program_invocation_short_name, 0) == 0;
}

/* Python restarts itself for a pool: such a process has the name of the one that started it. */
void launch_name_program(struct launch *launch)
{
    static char words[4096];
    pid_t pid = launch->pid;
    do {
        size_t bytes = process_words(pid, words, sizeof words);
        program_name(launch->app, sizeof launch->app, launch->exe, words, bytes);
        pid = program_serves_pool(words, bytes) ? process_parent(pid) : 0;
    } while (pid > 0 && process_runs(pid, launch->exe));
}

bool launch_identify(struct launch *launch, int rank)
{
    long length = sys_readlink("/proc/self/exe", launch->exe, sizeof launch->exe - 1);
    if (length <= 0) {
        log_warn("cannot read /proc/self/exe, not recording", NULL);
        return false;
    }
    launch->exe[length] = '\0';
    launch_name_program(launch);
    if (SYS2(SYS_getcwd, launch->cwd, sizeof launch->cwd) <= 0)
        launch->cwd[0] = '\0';
    if (rank < 0)
        rank = from_launcher(rank_names, COUNT(rank_names), "SLURM_PROCID");
    launch->rank = rank >= 0 ? rank : 0;
    launch->ranks = rank >= 0 ? number_from(size_names, COUNT(size_names)) : 1;
    launch->local = rank >= 0 ? from_launcher(local_names, COUNT(local_names), "SLURM_LOCALID") : 0;
    identify_launch(launch, rank >= 0);
    return true;
}

bool launch_name_directory(const struct launch *launch, const char *given, const char *prefix, char *path, size_t size)
{
    path[0] = '\0';
    if (given == NULL || *given != '/') {
        if (SYS2(SYS_getcwd, path, size) <= 0 || path[0] != '/') {
            log_warn("cannot determine the current directory, not recording", NULL);
            return false;
        }
        text_append(path, size, "/");
    }
    if (given != NULL && *given != '\0') {
        if (strlen(path) + strnlen(given, size) + LONGEST_NAME >= size) {
            log_warn("the name of the run directory is too long, not recording", NULL);
            return false;
        }
        text_append(path, size, given);
        return true;
    }
    text_append(path, size, prefix);
    text_append(path, size, "-");
    text_append(path, size, launch->app);
    const char *job = job_from_scheduler();
    if (job != NULL) {
        text_append(path, size, "-");
        text_append(path, size, job);
    }
    return true;
}
