/* Thread safety: no static state. */
#define _GNU_SOURCE
#include "closing_line.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "fixed_text.h"
#include "stream.h"
#include "sys.h"

#define LONGEST_NS 200000000u
#define MOST_RECORDINGS 4096
#define LEAST_RECORDINGS 64  /* recordings, even if a busy machine stalls this thread meanwhile */
#define MOST_PROGRAMS 32     /* of which names are stored; the others are merged */
#define BEGINNING_BYTES 1024 /* the program's name is near the beginning of a file */
#define END_BYTES 512
#define KIND_AT 8
#define WORKS 20 /* a program works in a job whose longest process lasts at most so many times its CPU time */

struct program {
    char name[64];
    struct job_share share;
    uint64_t longest_ns; /* duration of a process */
};

/* Figures of a recording's end image. */
struct recording_end {
    uint64_t cpu_ns, end_ns;
    enum gpu_use gpu;
};

struct programs {
    struct program all[MOST_PROGRAMS];
    size_t count;
};

static bool is_recording(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "rank-", 5) == 0 && length > 10 && strcmp(name + length - 5, ".gmon") == 0;
}

/* Return the text behind `key`, or NULL. The text ends with a zero byte, and may contain others. */
static const char *find(const char *text, size_t bytes, const char *key)
{
    const char *match = memmem(text, bytes, key, strlen(key));
    return match != NULL ? match + strlen(key) : NULL;
}

static void read_name(char *name, size_t size, int fd)
{
    char text[BEGINNING_BYTES + 1];
    long got = SYS4(SYS_pread64, fd, text, BEGINNING_BYTES, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *at = find(text, got > 0 ? (size_t)got : 0, "\"app\":\"");
    size_t length = at != NULL ? strcspn(at, "\"\\") : 0;
    if (length >= size)
        length = size - 1;
    if (length > 0)
        memcpy(name, at, length);
    name[length] = '\0';
}

/* Return the number behind `key`, and in `has_number` whether there is one. */
static uint64_t number_of(const char *text, size_t bytes, const char *key, bool *has_number)
{
    uint64_t number = 0;
    const char *at = find(text, bytes, key);
    *has_number = at != NULL;
    for (; at != NULL && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* Read a recording's end image. False if there is none. */
static bool read_end(int fd, struct recording_end *end)
{
    bool has_cpu = false, has_other = false;
    char text[END_BYTES + 1];
    long size = SYS3(SYS_lseek, fd, 0, SEEK_END);
    long got = SYS4(SYS_pread64, fd, text, END_BYTES, size > END_BYTES ? size - END_BYTES : 0);
    text[got > 0 ? got : 0] = '\0';
    const char *image = NULL;
    for (const char *at = text; got > KIND_AT && at < text + got - KIND_AT; at++)
        if (memcmp(at, "gmon", 4) == 0 && at[KIND_AT] == IMAGE_END)
            image = at;
    size_t bytes = image != NULL ? (size_t)(text + got - image) : 0;
    image = image != NULL ? image : text;
    end->end_ns = number_of(image, bytes, "\"end_ns\":", &has_other);
    end->gpu = (enum gpu_use)number_of(image, bytes, "\"gpu\":", &has_other);
    end->cpu_ns = number_of(image, bytes, "\"cpu_ns\":", &has_cpu);
    return has_cpu;
}

/* Return the program of this name, or NULL if there is no room for another. */
static struct program *program_of(struct programs *programs, const char *name)
{
    for (size_t i = 0; i < programs->count; i++)
        if (strcmp(programs->all[i].name, name) == 0)
            return &programs->all[i];
    if (programs->count == MOST_PROGRAMS)
        return NULL;
    struct program *program = &programs->all[programs->count++];
    *program = (struct program){.share = {0, 0}};
    strcpy(program->name, name);
    return program;
}

/* Return whether a recording is of this rank: rank-00001.gmon, or with a process id rank-00001.4711.gmon. */
static bool is_of_rank(const char *file, int rank)
{
    char beginning[24] = "rank-";
    if (rank < 0)
        return true;
    text_append_number(beginning, sizeof beginning, (uint64_t)rank, 5);
    text_append(beginning, sizeof beginning, ".");
    return strncmp(file, beginning, strlen(beginning)) == 0;
}

static void add(struct programs *programs, struct job_summary *summary, const char *directory, const char *file,
                int rank)
{
    char path[PATH_MAX];
    char name[sizeof programs->all[0].name];
    struct recording_end end;
    path[0] = '\0';
    text_append(path, sizeof path, directory);
    text_append(path, sizeof path, "/");
    text_append(path, sizeof path, file);
    int fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    read_name(name, sizeof name, fd);
    struct program *program = program_of(programs, name);
    struct job_share *share = program != NULL ? &program->share : &summary->others;
    share->processes++;
    bool has_ended = read_end(fd, &end);
    sys_close(fd);
    share->cpu_ns += has_ended ? end.cpu_ns : 0;
    if (program != NULL && has_ended && end.end_ns > program->longest_ns)
        program->longest_ns = end.end_ns;
    if (!is_of_rank(file, rank))
        return;
    summary->recorded_ns += has_ended ? end.cpu_ns : 0;
    summary->open += !has_ended;
    enum gpu_use gpu = end.gpu == GPU_IDLE ? GPU_NOT_LOADED : end.gpu;
    summary->gpu = gpu > summary->gpu ? gpu : summary->gpu;
}

static bool is_in_time(int count, uint64_t deadline_ns)
{
    return count < LEAST_RECORDINGS || (count < MOST_RECORDINGS && monotonic_ns() < deadline_ns);
}

static void add_all(struct programs *programs, struct job_summary *summary, const char *directory, int rank)
{
    _Alignas(8) char entries[4096];
    uint64_t deadline_ns = monotonic_ns() + LONGEST_NS;
    int fd = sys_open(directory, O_RDONLY | O_DIRECTORY, 0);
    long got;
    summary->is_partial = fd < 0;
    for (int count = 0; !summary->is_partial && (got = SYS3(SYS_getdents64, fd, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < got && !summary->is_partial;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            if (is_recording(entry->name)) {
                add(programs, summary, directory, entry->name, rank);
                summary->is_partial = !is_in_time(++count, deadline_ns);
            }
            at += entry->length;
        }
    }
    if (fd >= 0)
        sys_close(fd);
}

/* Return the program with the most CPU time, of those of which a process lasts as long as this. */
static const struct program *busiest(const struct programs *programs, uint64_t least_ns)
{
    const struct program *found = NULL;
    for (size_t i = 0; i < programs->count; i++) {
        const struct program *program = &programs->all[i];
        if (program->longest_ns >= least_ns && (found == NULL || program->share.cpu_ns > found->share.cpu_ns))
            found = program;
    }
    return found;
}

/* Return the program that `incprof phases` shows (of_program in incprof/readers/run.py): in a job that waits nearly all
 * the time, one that lasts. */
static const struct program *find_leading(const struct programs *programs)
{
    const struct program *leading = busiest(programs, 0);
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < programs->count; i++)
        if (programs->all[i].longest_ns > longest_ns)
            longest_ns = programs->all[i].longest_ns;
    return leading->share.cpu_ns >= longest_ns / WORKS ? leading : busiest(programs, longest_ns - longest_ns / 2);
}

void job_summary_read(struct job_summary *summary, const char *directory, int rank)
{
    struct programs programs;
    programs.count = 0;
    *summary = (struct job_summary){.open = 0};
    add_all(&programs, summary, directory, rank);
    if (programs.count == 0)
        return;
    const struct program *leading = find_leading(&programs);
    strcpy(summary->program, leading->name);
    summary->leading = leading->share;
    for (size_t i = 0; i < programs.count; i++) {
        const struct program *program = &programs.all[i];
        summary->others.processes += program != leading ? program->share.processes : 0;
        summary->others.cpu_ns += program != leading ? program->share.cpu_ns : 0;
    }
}
