#define _GNU_SOURCE
#include "output.h"

#include <string.h>
#include <sys/random.h>

#include "sys.h"
#include "fixed_text.h"

#define MOST_DRAWS 8
#define MOST_WRITES 3 /* attempts to write the same bytes to a shared file */

long output_create(struct output *output, const char *path)
{
    int fd = sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    if (fd < 0)
        return fd;
    *output = (struct output){.fd = fd};
    return 0;
}

void output_append_process(char *name, size_t size, const struct launch *launch, uint64_t attempt)
{
    if (attempt > 0) {
        text_append(name, size, ".");
        text_append_number(name, size, (uint64_t)launch_pid(launch), 1);
    }
    if (attempt > 1) {
        text_append(name, size, "-");
        text_append_number(name, size, attempt, 1);
    }
}

long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another)
{
    char path[PATH_MAX + 64];
    long error = -EEXIST;
    if (strlen(launch->directory) > PATH_MAX - 64)
        return -ENAMETOOLONG;
    for (uint64_t attempt = another ? 1 : 0; attempt < OUTPUT_MOST_NAMES && error == -EEXIST; attempt++) {
        strcpy(path, launch->directory);
        text_append(path, sizeof path, "/rank-");
        text_append_number(path, sizeof path, (uint64_t)launch->rank, 5);
        output_append_process(path, sizeof path, launch, attempt);
        text_append(path, sizeof path, suffix);
        error = output_create(output, path);
    }
    return error;
}

static long write_all(int fd, const struct buffer *data)
{
    size_t at = 0;
    while (at < data->length) {
        long wrote = SYS3(SYS_write, fd, data->data + at, data->length - at);
        if (wrote == -EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? wrote : -ENOSPC;
        at += (size_t)wrote;
    }
    return 0;
}

/* Append by one write. The rest of a partial write could come behind another process's data, so all of it is written
 * again. */
static long write_at_once(int fd, const struct buffer *data)
{
    for (int writes = 0; writes < MOST_WRITES;) {
        long wrote = SYS3(SYS_write, fd, data->data, data->length);
        if (wrote == (long)data->length)
            return 0;
        if (wrote == -EINTR)
            continue;
        if (wrote < 0)
            return wrote;
        writes++;
    }
    return -ENOSPC;
}

long output_append(struct output *output, const struct buffer *data)
{
    if (data->failed)
        return -ENOMEM;
    if (output->is_shared)
        return write_at_once(output->fd, data);
    long error = output->is_torn ? output_cut(output, output->length) : 0;
    if (error != 0)
        return error;
    error = write_all(output->fd, data);
    if (error != 0)
        output->is_torn = output_cut(output, output->length) != 0;
    else
        output->length += data->length;
    return error;
}

long output_cut(struct output *output, uint64_t length)
{
    long error = SYS2(SYS_ftruncate, output->fd, length);
    if (error == 0) {
        output->length = length;
        output->is_torn = false;
    }
    return error;
}

/* Return an unpredictable number, if the kernel provides one. */
static uint64_t random_bits(void)
{
    uint64_t number = 0;
    if (SYS3(SYS_getrandom, &number, sizeof number, GRND_NONBLOCK) == (long)sizeof number)
        return number;
    return sys_clock_ns(CLOCK_MONOTONIC) * 0x9e3779b97f4a7c15u ^ (uint64_t)SYS0(SYS_gettid);
}

/* Create a new file next to `path`, under an unpredictable name, without opening an existing one. Returns its
 * descriptor or negative errno. */
static int create_temporary(const char *path, char *temporary)
{
    int fd = -EEXIST;
    for (int attempt = 0; attempt < MOST_DRAWS && fd == -EEXIST; attempt++) {
        output_name(temporary, NULL, path, ".");
        text_append_number(temporary, PATH_MAX, random_bits(), 1);
        text_append(temporary, PATH_MAX, ".tmp");
        fd = sys_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    }
    return fd;
}

/* Rename the file. Some file systems (Lustre, NFS) do not support flags of rename, but links. */
static long move(const char *temporary, const char *path, bool keep)
{
    long error = SYS5(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, keep ? 1 /* RENAME_NOREPLACE */ : 0);
    if (!keep || error != -EINVAL)
        return error;
    error = SYS5(SYS_linkat, AT_FDCWD, temporary, AT_FDCWD, path, 0);
    if (error == 0)
        sys_unlink(temporary);
    return error;
}

void output_begin(struct output_draft *draft, const char *path)
{
    draft->fd = create_temporary(path, draft->temporary);
    draft->error = draft->fd < 0 ? draft->fd : 0;
}

void output_add(struct output_draft *draft, const struct buffer *data)
{
    if (draft->error == 0)
        draft->error = data->failed ? -ENOMEM : write_all(draft->fd, data);
}

long output_end(struct output_draft *draft, const char *path, bool keep)
{
    if (draft->fd < 0)
        return draft->error;
    sys_close(draft->fd);
    if (draft->error == 0)
        draft->error = move(draft->temporary, path, keep);
    if (draft->error != 0)
        sys_unlink(draft->temporary);
    return draft->error;
}

long output_write_file(const char *path, const struct buffer *data, bool keep)
{
    struct output_draft draft;
    if (data->failed)
        return -ENOMEM;
    output_begin(&draft, path);
    output_add(&draft, data);
    return output_end(&draft, path, keep);
}

long output_try_file(const char *path)
{
    char temporary[PATH_MAX];
    int fd = create_temporary(path, temporary);
    if (fd < 0)
        return fd;
    sys_close(fd);
    return sys_unlink(temporary);
}

void output_name(char *path, const char *directory, const char *name, const char *suffix)
{
    const char *parts[] = {directory, "/", name, suffix};
    size_t length = 0;
    for (size_t i = directory != NULL ? 0 : 2; i < 4; i++) {
        size_t more = strnlen(parts[i], PATH_MAX - 1 - length);
        memcpy(path + length, parts[i], more);
        length += more;
    }
    path[length] = '\0';
}
