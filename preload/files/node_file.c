#define _GNU_SOURCE
#include "recording.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "buffer.h"
#include "fixed_text.h"
#include "sys.h"

#define VERSION 1
#define FORKED 1        /* flag */
#define LONGEST_HOST 64 /* characters of it in a name */
#define BOOT_DIGITS 8

struct head {
    char magic[8];
    uint16_t version, flags;
    uint32_t rank, pid, length;
    uint64_t start_ns;
    uint32_t number, crc, head_crc, zero;
};
_Static_assert(sizeof(struct head) == 48, "docs/reference/formats.md");

/* Append the node's name and the kernel's boot identity, because containers on different nodes may have the same name,
 * and the name may be anything. So only ranks under one kernel append to the same file; network file systems cannot be
 * trusted with appends from two. */
static void append_node(char *path, size_t size)
{
    struct utsname names;
    char host[LONGEST_HOST + 1] = "";
    char boot[BOOT_DIGITS + 1] = "";
    if (SYS1(SYS_uname, &names) == 0)
        text_append(host, sizeof host, names.nodename);
    for (char *at = host; *at != '\0'; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        *at = is_plain || *at == '.' || *at == '-' ? *at : '_';
    }
    text_append(path, size, host);
    int fd = sys_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
    if (fd < 0)
        return;
    if (SYS3(SYS_read, fd, boot, BOOT_DIGITS) == BOOT_DIGITS) {
        text_append(path, size, "-");
        text_append(path, size, boot);
    }
    sys_close(fd);
}

/* Return whether the file is our own. Other users may write to the directory: their files of this name are not appended
 * to, nor waited for. */
static bool is_ours(int fd)
{
    struct stat status;
    return SYS2(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
           status.st_uid == (uid_t)SYS0(SYS_geteuid);
}

long node_file_open(struct output *output, const struct launch *launch)
{
    char path[PATH_MAX + 128];
    strcpy(path, launch->directory);
    text_append(path, sizeof path, "/node-");
    append_node(path, sizeof path);
    text_append(path, sizeof path, ".gmon");
    int fd = sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
        return fd;
    if (!is_ours(fd)) {
        sys_close(fd);
        return -EPERM;
    }
    *output = (struct output){.fd = fd, .is_shared = true};
    return 0;
}

void node_file_begin_chunk(struct buffer *out)
{
    const struct head nothing = {.version = 0};
    buffer_bytes(out, &nothing, sizeof nothing);
}

void node_file_end_chunk(struct buffer *out, struct node_stream *stream)
{
    if (out->failed)
        return;
    const uint8_t *payload = out->data + sizeof(struct head);
    struct head head = {
        .magic = {'i', 'n', 'c', 'c', 'h', 'u', 'n', 'k'}, /* eight, and no end */
        .version = VERSION,
        .flags = stream->forked ? FORKED : 0,
        .rank = stream->rank,
        .pid = stream->pid,
        .length = (uint32_t)(out->length - sizeof head),
        .start_ns = stream->start_ns,
        .number = stream->chunks++,
    };
    head.crc = crc32(payload, head.length);
    head.head_crc = crc32((const uint8_t *)&head, offsetof(struct head, head_crc));
    memcpy(out->data, &head, sizeof head);
}
