/* Thread safety: `used` is set by single-threaded programs; the rest belongs to the interval thread. A forked child
 * starts afresh. */
#define _GNU_SOURCE
#include "jit_names.h"

#include "fixed_text.h"
#include "modules.h"
#include "sys.h"

static struct jit_names own;
static struct jit_names *used; /* or NULL: this process's */

void jit_names_use(struct jit_names *of)
{
    used = of;
}

static struct jit_names *current(void)
{
    pid_t self = (pid_t)SYS0(SYS_getpid);
    if (used != NULL)
        return used;
    if (own.process.inner != self)
        own = (struct jit_names){.process.inner = self};
    own.process.owner = (uid_t)SYS0(SYS_geteuid);
    return &own;
}

void jit_names_file(char name[JIT_NAMES_FILE])
{
    name[0] = '\0';
    text_append(name, JIT_NAMES_FILE, "perf-");
    text_append_number(name, JIT_NAMES_FILE, (uint64_t)current()->process.inner, 1);
    text_append(name, JIT_NAMES_FILE, ".map");
}

/* Entries without a time count as new since the previous call. */
void jit_names_keep(const char *directory, bool is_end)
{
    struct jit_names *names = current();
    struct jit_lines *lines = &names->lines;
    const char *dump = modules_jit_dump();
    uint64_t now_ns = monotonic_ns();
    if (lines->is_full)
        return;
    lines->directory = directory;
    jit_names_file(lines->name);
    jit_lines_since(lines, names->looked_ns);
    jit_objects_read(&names->objects, lines);
    jit_map_read(&names->map, &names->process, lines, is_end);
    if (dump[0] != '\0')
        jit_dump_read(&names->dump, &names->process, dump, lines, names->looked_ns);
    jit_lines_write(lines);
    names->looked_ns = now_ns;
}
