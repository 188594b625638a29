#define _GNU_SOURCE
#include "jit_names.h"
#include "modules.h"

static void put_function(struct buffer *out, const struct module_function *function)
{
    buffer_json_text(out, "function", function->name);
    buffer_json_u64(out, "line", function->line);
    buffer_json_u64(out, "python", function->version);
    buffer_json_key(out, "lines");
    buffer_u8(out, '"');
    for (size_t i = 0; i < function->line_bytes; i++) {
        buffer_u8(out, (uint8_t)"0123456789abcdef"[function->lines[i] >> 4]);
        buffer_u8(out, (uint8_t)"0123456789abcdef"[function->lines[i] & 15]);
    }
    buffer_u8(out, '"');
}

void modules_json(struct buffer *out, size_t id)
{
    const struct module *module = modules_get(id);
    buffer_u8(out, '{');
    buffer_json_u64(out, "id", id);
    buffer_json_text(out, "path", module->path);
    buffer_json_text(out, "build_id", module->build_id[0] != '\0' ? module->build_id : NULL);
    buffer_json_address(out, "base", module->base);
    buffer_json_address(out, "low", module->low);
    buffer_json_address(out, "high", module->high);
    buffer_json_bool(out, "app", module->app || module->function != NULL);
    buffer_json_bool(out, "counts", module->counts);
    if (module->function != NULL)
        put_function(out, module->function);
    if (module->jit) {
        char name[JIT_NAMES_FILE];
        jit_names_file(name);
        buffer_json_text(out, "map", name);
    }
    buffer_u8(out, '}');
}
