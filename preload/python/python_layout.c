/* Thread safety: the interval thread (or the start code) writes python_process, once; `published` is atomic. */
#define _GNU_SOURCE
#include "python.h"

#include <errno.h>
#include <string.h>

#include "elf_file.h"
#include "peek.h"

#define VERSION(minor) (0x0300u + (minor))
/* The fields of a code object are read with one call. */
#define MOST_CODE_BYTES 168

static struct python_process own;
static struct python_process *selected = &own;

/* Fields of several versions. clang-format would put each on its own line. */
/* clang-format off */
#define FIELDS_ALWAYS .thread_next = 8, .thread_interpreter = 16, .object_type = 8, .object_size = 16
#define FIELDS_BEFORE_11                                                                                               \
    FIELDS_ALWAYS, .interpreters = 32, .interpreter_threads = 8, .thread_id = 176, .thread_frame = 24,                 \
    .frame_code = 32, .frame_previous = 24, .code_first = 40, .code_file = 104, .code_name = 112, .code_lines = 120,   \
    .text_ascii = 48, .text_compact = 72, .has_objects = true
#define FIELDS_SINCE_11                                                                                                \
    FIELDS_ALWAYS, .interpreters = 40, .thread_frame = 56, .frame_at = 56, .code_file = 112, .code_name = 128,         \
    .code_lines = 136, .has_calls = true

/* Versions with a fixed layout: patch releases do not move the fields. */
static const struct python_layout layouts[] = {
    {.version = VERSION(9), FIELDS_BEFORE_11, .frame_at = 104, .unit = 1},
    {.version = VERSION(10), FIELDS_BEFORE_11, .frame_at = 96, .unit = 2},
    {.version = VERSION(11), FIELDS_SINCE_11, .interpreter_threads = 16, .thread_id = 152, .thread_number = 160,
     .call_frame = 8, .call_previous = 16, .frame_code = 32, .frame_previous = 48, .frame_owner = 68, .code_first = 72,
     .code_bytes = 184, .text_ascii = 48, .text_compact = 72, .has_entry_mark = true},
    {.version = VERSION(12), FIELDS_SINCE_11, .interpreter_threads = 72, .thread_id = 136, .thread_number = 144,
     .call_frame = 0, .call_previous = 8, .frame_code = 0, .frame_previous = 8, .frame_owner = 70, .code_first = 68,
     .code_bytes = 192, .text_ascii = 40, .text_compact = 56},
};
/* clang-format on */

void python_use(struct python_process *of)
{
    selected = of != NULL ? of : &own;
}

struct python_process *python_used(void)
{
    return selected;
}

uint32_t python_unknown_version(void)
{
    return __atomic_load_n(&selected->unknown_version, __ATOMIC_RELAXED);
}

const struct python *python_current(void)
{
    return __atomic_load_n(&selected->published, __ATOMIC_ACQUIRE);
}

/* From outside: return whether the layout can be read. Frames that are objects do not show on which stack they are. */
static bool is_complete(const struct python_layout *layout)
{
    return peek_process == 0 || !layout->has_objects;
}

/* Since 3.13 the runtime's first words hold the field offsets, in groups that each begin with the structure's size.
 * Groups were added and grew between releases, so they are identified by their contents. */
enum { OFFSET_WORDS = 128, FIRST_GROUP = 3 };

struct offsets {
    uint64_t words[OFFSET_WORDS];
};

static bool is_thread(const uint64_t *group)
{
    return group[0] > 64 && group[1] == 0 && group[2] == 8 && group[3] == 16 && group[4] > 16 && group[5] > group[4] &&
           group[6] == group[5] + 8;
}

static bool is_frame(const uint64_t *group)
{
    return group[0] >= 64 && group[0] < 256 && group[1] == 8 && group[2] == 0 && group[3] > 8 && group[3] < group[4] &&
           group[4] <= group[0] && group[5] > 8 && group[5] < group[0];
}

static bool is_code(const uint64_t *group)
{
    return group[0] > 128 && group[2] == group[1] + 8 && group[3] == group[2] + 8 && group[4] == group[3] + 8 &&
           group[5] < group[1] && group[9] > group[4];
}

/* Return whether the group is the one of all objects (size, type), which follows the code objects' group. */
static bool is_object(const uint64_t *group)
{
    return (group[0] == 16 && group[1] == 8) || (group[0] == 32 && group[1] == 24);
}

static const uint64_t *find_group(const struct offsets *offsets, const uint64_t *from,
                                  bool (*is_it)(const uint64_t *group))
{
    for (const uint64_t *at = from; at != NULL && at + 10 < offsets->words + OFFSET_WORDS; at++)
        if (is_it(at))
            return at;
    return NULL;
}

static bool read_offsets(struct python_layout *layout, uint64_t runtime, uint32_t version)
{
    struct offsets offsets;
    if (!peek(&offsets, runtime, sizeof offsets) || memcmp(offsets.words, "xdebugpy", 8) != 0 ||
        (offsets.words[1] >> 16) != version)
        return false;
    const uint64_t *state = &offsets.words[FIRST_GROUP]; /* size, finalizing, interpreters */
    const uint64_t *interpreter = state + 3;             /* size, id, next, threads */
    const uint64_t *thread = find_group(&offsets, interpreter + 4, is_thread);
    const uint64_t *frame = find_group(&offsets, thread, is_frame);
    const uint64_t *code = find_group(&offsets, frame, is_code);
    const uint64_t *object = find_group(&offsets, code != NULL ? code + 9 : NULL, is_object);
    if (object == NULL)
        return false;
    uint16_t head = (uint16_t)object[0];
    *layout = (struct python_layout){.version = version,
                                     .interpreters = (uint16_t)state[2],
                                     .interpreter_next = (uint16_t)interpreter[2],
                                     .interpreter_threads = (uint16_t)interpreter[3],
                                     .thread_next = (uint16_t)thread[2],
                                     .thread_interpreter = (uint16_t)thread[3],
                                     .thread_frame = (uint16_t)thread[4],
                                     .thread_id = (uint16_t)thread[5],
                                     .thread_number = (uint16_t)thread[6],
                                     .frame_previous = (uint16_t)frame[1],
                                     .frame_code = (uint16_t)frame[2],
                                     .frame_at = (uint16_t)frame[3],
                                     .frame_owner = (uint16_t)frame[5],
                                     .code_file = (uint16_t)code[1],
                                     .code_name = (uint16_t)code[3],
                                     .code_lines = (uint16_t)code[4],
                                     .code_first = (uint16_t)code[5],
                                     .code_bytes = (uint16_t)code[9],
                                     .object_type = (uint16_t)object[1],
                                     .object_size = head,
                                     .text_ascii = (uint16_t)(head + 24),
                                     .text_compact = (uint16_t)(head + 40)};
    /* Larger numbers than these would have been cut. */
    return state[2] < UINT16_MAX && interpreter[2] < UINT16_MAX && interpreter[3] < UINT16_MAX &&
           thread[6] + 8 <= PYTHON_STATE && code[9] < UINT16_MAX && layout->code_lines + 8 <= MOST_CODE_BYTES;
}

static bool find_layout(struct python_layout *layout, uint64_t runtime, uint32_t version)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].version == version) {
            *layout = layouts[i];
            return true;
        }
    }
    return (version == VERSION(13) || version == VERSION(14)) && read_offsets(layout, runtime, version);
}

/* Return the version: 3.11 and later store it; earlier ones show it only in the file's name, such as
 * libpython3.10.so.1.0. */
static uint32_t version_of(const Elf64_Sym *symbol, const char *path, uint64_t base)
{
    uint64_t version;
    if (symbol->st_value != 0 && peek(&version, symbol->st_value + base, sizeof version))
        return (uint32_t)(version >> 16);
    const char *slash = strrchr(path, '/');
    const char *name = strstr(slash != NULL ? slash : path, "python3.");
    uint32_t minor = 0;
    for (const char *at = name != NULL ? name + 8 : ""; *at >= '0' && *at <= '9' && minor < 100; at++)
        minor = minor * 10 + (uint32_t)(*at - '0');
    return VERSION(minor);
}

/* Return whether the process's memory is readable. A process that has ended counts as readable: it needs no message. */
static bool is_readable(uint64_t runtime)
{
    uint64_t word;
    const struct iovec here = {&word, sizeof word};
    const struct iovec there = {(void *)runtime, sizeof word};
    long got = peek_or_error(&here, 1, &there, 1);
    selected->is_unreadable = got == -EPERM || got == -ENOSYS;
    return got == sizeof word;
}

bool python_find(const struct elf_file *elf, const char *path, uint64_t base)
{
    enum { RUNTIME, CODE, TEXT, BYTES, LOOP, NEEDED, VERSION_NAME = NEEDED, NAMES };
    static const char *const names[] = {
        "_PyRuntime", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type", "_PyEval_EvalFrameDefault", "Py_Version"};
    Elf64_Sym symbols[NAMES] = {{0}};
    elf_exports(elf, names, NAMES, symbols);
    for (size_t i = 0; i < NEEDED; i++)
        if (symbols[i].st_value == 0)
            return false;
    if (selected->interpreter.runtime != 0)
        return selected->interpreter.runtime == symbols[RUNTIME].st_value + base;
    if (!is_readable(symbols[RUNTIME].st_value + base))
        return false;
    uint32_t version = version_of(&symbols[VERSION_NAME], path, base);
    struct python here = {.runtime = symbols[RUNTIME].st_value + base,
                          .code_type = symbols[CODE].st_value + base,
                          .text_type = symbols[TEXT].st_value + base,
                          .bytes_type = symbols[BYTES].st_value + base,
                          .loop_low = symbols[LOOP].st_value + base};
    here.loop_high = here.loop_low + symbols[LOOP].st_size;
    if (!find_layout(&here.layout, here.runtime, version) || !is_complete(&here.layout)) {
        __atomic_store_n(&selected->unknown_version, version, __ATOMIC_RELAXED);
        return false;
    }
    selected->interpreter = here;
    __atomic_store_n(&selected->published, &selected->interpreter, __ATOMIC_RELEASE);
    return true;
}
