/* Thread safety: all state is the caller's. The file is not trusted: each number in it is checked. */
#define _GNU_SOURCE
#include "jit_names.h"

#include "log.h"
#include "sys.h"

#define MAGIC 0x4a695444u
#define FLAG_TICKS 1u /* times are in processor ticks */
#define LONGEST_NAME 1024

enum { RECORD_LOAD, RECORD_MOVE, RECORD_SOURCE };

/* Layout of the file. */
struct head {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t time, flags;
};
struct record {
    uint32_t kind, size;
    uint64_t time;
};
struct load {
    uint32_t pid, thread;
    uint64_t link_address, address, size, number;
};
struct move {
    uint32_t pid, thread;
    uint64_t link_address, from, to, size, number;
};
struct source {
    uint64_t address, count;
    struct {
        uint64_t address;
        uint32_t line, discriminator;
    } first;
};

/* A record's body: `size` bytes at this offset of the file. */
struct body {
    int fd;
    uint64_t at;
    size_t size;
};

static bool read_fixed(const struct body *body, void *into, size_t size)
{
    return size <= body->size && sys_pread_all(body->fd, into, size, body->at);
}

/* Read the name behind the fixed part. */
static size_t read_name(const struct body *body, size_t behind, char name[LONGEST_NAME])
{
    size_t size = body->size - behind < LONGEST_NAME ? body->size - behind : LONGEST_NAME;
    return sys_pread_all(body->fd, name, size, body->at + behind) ? size : 0;
}

static void take(const struct body *body, uint32_t kind, struct jit_lines *lines)
{
    char name[LONGEST_NAME];
    struct load load;
    struct move move;
    struct source source;
    if (kind == RECORD_LOAD && read_fixed(body, &load, sizeof load))
        jit_lines_add(lines, load.address, load.size, name, read_name(body, sizeof load, name));
    else if (kind == RECORD_MOVE && read_fixed(body, &move, sizeof move))
        jit_lines_move(lines, move.from, move.to, move.size);
    else if (kind == RECORD_SOURCE && read_fixed(body, &source, sizeof source) && source.count > 0)
        jit_lines_source(lines, source.address, source.first.line, name, read_name(body, sizeof source, name));
}

/* Read the next record. Returns whether it was complete. */
static bool next_record(struct jit_file *file, int fd, uint64_t size, struct jit_lines *lines, uint64_t since_ns)
{
    struct record record;
    if (size - file->read < sizeof record || !sys_pread_all(fd, &record, sizeof record, file->read))
        return false;
    file->is_damaged = record.size < sizeof record;
    if (file->is_damaged || record.size > size - file->read)
        return false;
    const struct body body = {fd, file->read + sizeof record, record.size - sizeof record};
    jit_lines_since(lines, since_ns != 0 ? since_ns : record.time);
    take(&body, record.kind, lines);
    file->read += record.size;
    return true;
}

void jit_dump_read(struct jit_file *file, const struct jit_process *process, const char *path, struct jit_lines *lines,
                   uint64_t since_ns)
{
    uint64_t size = 0;
    struct head head;
    int fd = jit_file_open(file, process, path, &size);
    if (fd < 0)
        return;
    bool is_one = size >= sizeof head && sys_pread_all(fd, &head, sizeof head, 0) && head.magic == MAGIC &&
                  head.size >= sizeof head;
    file->is_damaged = !is_one && size >= sizeof head;
    if (is_one && file->read == 0)
        file->read = head.size;
    uint64_t since = is_one && (head.flags & FLAG_TICKS) == 0 ? 0 : since_ns;
    while (is_one && !lines->is_full && file->read < size && next_record(file, fd, size, lines, since)) {
    }
    if (file->is_damaged)
        log_warn("this file is damaged, code generated from now on has no names", path);
    if (is_one)
        jit_file_advance(file, fd, 0);
    sys_close(fd);
}
