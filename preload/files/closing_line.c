/* Thread safety: all of it is written before main, and read from then on. */
#define _GNU_SOURCE
#include "closing_line.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fixed_text.h"
#include "log.h"
#include "python.h"
#include "sys.h"

/* Number of digits in the variable: the pid of the process that prints the line, or 0 if any may. */
#define DIGITS 10
#define LONGEST 400 /* a message has room for a little more */

static char rest[1024]; /* of the line, behind the number of intervals; empty: this process does not print it */
static const char *run_directory; /* of a job, which may hold other processes' data; or NULL */
static int job_rank = -1;         /* rank of this process, if each rank is a job because the launcher is outside it */
static uint64_t earlier_ns;       /* CPU time, with children, before the exec of the job's first program */
static bool is_first_program;     /* its CPU time before the recording is its start-up */
static bool is_ours;
static pid_t printer; /* not its vfork child */

/* Return the number of leading characters that are among these. */
static size_t run_of(const char *text, const char *these)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(these, text[length]) != NULL)
        length++;
    return length;
}

/* Return whether it is the lowest recorded rank. Rank 0 is the first of its node; the others' local ranks are unknown
 * here. */
static bool is_lowest(const char *ranks, int rank)
{
    for (int lower = 0; lower < rank; lower++)
        if (config_has_rank(ranks, lower, lower == 0 ? 0 : INT_MAX))
            return false;
    return true;
}

bool closing_line_take(void)
{
    char own[DIGITS + 1] = "";
    char *value = getenv(CLOSING_LINE_VARIABLE);
    if (value == NULL || strlen(value) != DIGITS || run_of(value, "0123456789") != DIGITS)
        return false;
    printer = (pid_t)SYS0(SYS_getpid);
    text_append_number(own, sizeof own, (uint64_t)printer, DIGITS);
    /* In place: neither the environment's size nor main's third argument changes. */
    is_first_program = run_of(value, "0") == DIGITS;
    if (is_first_program)
        memcpy(value, own, DIGITS);
    is_ours = strcmp(value, own) == 0;
    return is_ours;
}

static void append(const char *text)
{
    text_append(rest, sizeof rest, text);
}

/* Append the first `length` bytes of `word`, quoted as one word for a shell. */
static void append_word(const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,:@%=-";
    bool is_plain = run_of(word, plain) >= length;
    append(is_plain ? "" : "'");
    for (size_t i = 0; i < length; i++) {
        const char character[2] = {word[i], '\0'};
        append(word[i] == '\'' ? "'\\''" : character);
    }
    append(is_plain ? "" : "'");
}

/* INCPROF_LAUNCH ends with the CPU time that the process and its children used before it executed the first program, as
 * +NANOSECONDS. */
static void prepare_job(const struct config *config, const struct launch *launch)
{
    if (config->launch == NULL || config->format != FORMAT_STREAM || config->gather != GATHER_RANK)
        return;
    run_directory = launch->directory;
    job_rank = launch->ranks != 1 ? launch->rank : -1;
    const char *suffix = strrchr(config->launch, '+');
    earlier_ns = suffix != NULL ? strtoull(suffix + 1, NULL, 10) : 0;
}

void closing_line_prepare(const struct config *config, const struct launch *launch)
{
    if (!is_ours || !is_lowest(config->ranks, launch->rank))
        return;
    log_keep_stderr();
    prepare_job(config, launch);
    /* The path relative to the program's start directory, if it is below it. */
    const char *directory = launch->directory;
    size_t above = strlen(launch->cwd);
    if (above > 1 && strncmp(directory, launch->cwd, above) == 0 && directory[above] == '/')
        directory += above + 1;
    if (launch->ranks != 1) {
        append(" of rank ");
        text_append_number(rest, sizeof rest, (uint64_t)launch->rank, 1);
    }
    append(" in ");
    append_word(directory, strlen(directory));
    if (launch->is_numbered) {
        append(" (");
        append_word(directory, (size_t)(strrchr(directory, '.') - directory));
        append(" exists)");
    }
    if (strlen(rest) + strlen(directory) > LONGEST)
        return;
    append("; next: incprof phases ");
    append_word(directory, strlen(directory));
}

/* Add a note for an unsupported Python version, of which only C frames are recorded. */
static void append_python_advice(char *line, size_t size)
{
    uint32_t version = python_unknown_version();
    if (python_used()->is_unreadable)
        text_append(line, size, "; functions of Python are not recorded, as its memory cannot be read (ptrace_scope)");
    if (__atomic_load_n(&python_used()->has_too_many, __ATOMIC_RELAXED))
        text_append(line, size, "; with so many Python threads, functions are not recorded in all");
    if (version == 0)
        return;
    text_append(line, size, "; functions of Python ");
    text_append_number(line, size, version >> 8, 1);
    text_append(line, size, ".");
    text_append_number(line, size, version & 0xff, 1);
    text_append(line, size, " are not recorded");
}

static void append_count(char *line, size_t size, uint64_t count, const char *one, const char *many)
{
    text_append_number(line, size, count, 1);
    text_append(line, size, count == 1 ? one : many);
}

/* Add the recorded share of the CPU time, rounded down. The recorded time exceeds the job's if processes have left the
 * job, because their CPU time is unknown. */
static void append_share(char *line, size_t size, const struct job_summary *job, uint64_t all_ns)
{
    uint64_t recorded_ns = job->recorded_ns;
    if (recorded_ns > all_ns)
        text_append(line, size, ", part of it in children not waited for,");
    if (recorded_ns > all_ns || all_ns == 0)
        return;
    text_append(line, size, job->others.processes > 0 ? ", in all " : ", with ");
    text_append(line, size, job->open > 0 ? "at least " : "");
    text_append_number(line, size, recorded_ns * 100 / all_ns, 1);
    text_append(line, size, job_rank < 0 ? " % of the job's CPU time," : " % of the CPU time");
}

static void discard_message(char *line, size_t size, uint64_t all_ns)
{
    text_append(line, size, "nothing recorded: the job used ");
    text_append_number(line, size, all_ns / 1000000, 1);
    text_append(line, size, " ms of CPU time, without a sample in a program that can be recorded");
}

/* Add the number of intervals, and what recording them has cost: in percent of the program's own CPU time, or in
 * milliseconds if the program used less than that. */
static void append_intervals(char *line, size_t size, const struct closing *closing)
{
    append_count(line, size, closing->intervals, " interval", " intervals");
    uint64_t all_ns = closing->cpu_end_ns - closing->cpu_begin_ns, own_ns = closing->own_ns;
    if (own_ns == 0 || own_ns >= all_ns)
        return;
    uint64_t program_ns = all_ns - own_ns;
    bool is_small = own_ns < program_ns;
    uint64_t tenths = is_small ? (own_ns * 1000 + program_ns / 2) / program_ns : (own_ns + 50000) / 100000;
    text_append(line, size, " at ");
    text_append_number(line, size, tenths / 10, 1);
    text_append(line, size, ".");
    text_append_number(line, size, tenths % 10, 1);
    text_append(line, size, is_small ? " % overhead" : " ms overhead");
}

static void append_processes(char *line, size_t size, const struct job_summary *job)
{
    text_append(line, size, job->program);
    text_append(line, size, " in ");
    append_count(line, size, job->leading.processes, " process", " processes");
    if (job->others.processes > 0) {
        text_append(line, size, ", and ");
        append_count(line, size, job->others.processes, " other process", " other processes");
    }
}

/* Return whether this process's recording covers all CPU time except 1 % and, for the first program, its start-up. */
static bool is_whole(const struct closing *closing, uint64_t recorded_ns, uint64_t all_ns)
{
    uint64_t start_ns = is_first_program && closing->cpu_begin_ns > earlier_ns ? closing->cpu_begin_ns - earlier_ns : 0;
    return recorded_ns + start_ns >= all_ns / 100 * 99;
}

/* Add the job's summary. Returns whether the run directory holds any data. `gpu`: of all processes; GPU_NOT_ASKED if
 * some are unknown. */
static bool append_job(char *line, size_t size, const struct closing *closing, enum gpu_use *gpu)
{
    struct job_summary job;
    uint64_t all_ns = closing->cpu_end_ns + job_time_ns();
    all_ns -= all_ns > earlier_ns ? earlier_ns : all_ns;
    job_summary_read(&job, run_directory, job_rank);
    uint64_t processes = job.leading.processes + job.others.processes;
    *gpu = processes > 0 && job.open == 0 && !job.is_partial ? job.gpu : GPU_NOT_ASKED;
    bool is_single = processes == 1 && closing->intervals > 0;
    if (processes == 0)
        discard_message(line, size, all_ns);
    else if (is_single)
        append_intervals(line, size, closing);
    else
        append_processes(line, size, &job);
    if (processes > 0 && !(is_single && is_whole(closing, job.recorded_ns, all_ns)))
        append_share(line, size, &job, all_ns);
    return processes > 0;
}

void closing_line_write(const struct closing *closing)
{
    char line[480 + sizeof rest] = "";
    if (rest[0] == '\0' || (closing->intervals == 0 && run_directory == NULL))
        return;
    bool has_recording = true;
    enum gpu_use gpu = closing->gpu;
    if (run_directory != NULL)
        has_recording = append_job(line, sizeof line, closing, &gpu);
    else
        append_intervals(line, sizeof line, closing);
    if (has_recording)
        text_append(line, sizeof line, rest);
    append_python_advice(line, sizeof line);
    if (gpu == GPU_NOT_LOADED || gpu == GPU_IDLE)
        text_append(line, sizeof line, "; no recorded process used a GPU");
    log_warn(line, NULL);
    if (gpu > GPU_NOT_LOADED && gpu < GPU_IDLE)
        log_warn("no GPU activity is recorded", gpu_use_reason(gpu));
}

bool closing_line_is_due(void)
{
    return is_ours && rest[0] != '\0' && SYS0(SYS_getpid) == printer && SYS0(SYS_gettid) == printer;
}

void closing_line_report_obstacle(const char *program, const char *obstacle)
{
    char line[PATH_MAX + sizeof rest] = "";
    struct job_summary job = {.open = 0};
    if (run_directory != NULL)
        job_summary_read(&job, run_directory, job_rank);
    text_append(line, sizeof line, program);
    text_append(line, sizeof line, ": ");
    text_append(line, sizeof line, obstacle);
    text_append(line, sizeof line, ": it is not recorded; incprof record --external records it");
    if (job.leading.processes > 0) {
        text_append(line, sizeof line, "; what was recorded before is");
        text_append(line, sizeof line, rest);
    }
    log_warn(line, NULL);
}
