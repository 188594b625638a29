#define _GNU_SOURCE
#include "ldms.h"

#include <dlfcn.h>
#include <string.h>

#include "log.h"

#define INSTEAD ", heartbeats go to the file instead"

/* `was_there`: the program already uses it. */
static void *load(const char *const *names, bool *was_there)
{
    void *library = NULL;
    for (; library == NULL && *names != NULL; names++) {
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        *was_there = library != NULL;
        if (library == NULL)
            library = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library == NULL)
            log_debug("not loaded", dlerror());
    }
    return library;
}

/* ISO C has no conversion between pointers to objects and to functions. */
static bool find(void *library, const char *name, void *function)
{
    void *address = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* Silence LDMS, which logs to stdout by default; stdout is the program's. */
static void silence(void *library)
{
    int (*level_of)(const char *name);
    int (*set_level)(void *log, int level);
    if (find(library, "ovis_log_str_to_level", &level_of) && find(library, "ovis_log_set_level", &set_level))
        set_level(NULL, level_of("QUIET"));
}

static void discard_message(const char *format, ...)
{
    (void)format;
}

bool ldms_load(struct ldms_api *api)
{
    static const char *const names[] = {"libldms.so.0", "libldms.so", NULL};
    static const char *const stream_names[] = {"libldmsd_stream.so.0", "libldmsd_stream.so", NULL};
    bool was_there;
    memset(api, 0, sizeof *api);
    void *library = load(names, &was_there);
    if (library == NULL) {
        log_warn("libldms is not installed" INSTEAD, NULL);
        return false;
    }
    bool complete = find(library, "ldms_xprt_connect_by_name", &api->connect) &&
                    find(library, "ldms_xprt_close", &api->close) && find(library, "ldms_xprt_put", &api->put);
    if (!find(library, "ldms_msg_publish", &api->publish_message) &&
        !find(library, "ldms_stream_publish", &api->publish_message)) {
        bool ignored;
        complete = find(library, "ldms_xprt_new_with_auth", &api->create_with_log) &&
                   find(load(stream_names, &ignored), "ldmsd_stream_publish", &api->publish_stream) && complete;
    } else {
        complete = find(library, "ldms_xprt_new_with_auth", &api->create) && complete;
    }
    if (!complete) {
        log_warn("this version of libldms is not supported" INSTEAD, NULL);
        return false;
    }
    if (!was_there)
        silence(library);
    return true;
}

struct ldms_transport *ldms_create(const struct ldms_api *api, const char *transport, const char *authentication)
{
    if (api->create != NULL)
        return api->create(transport, authentication, NULL);
    return api->create_with_log(transport, discard_message, authentication, NULL);
}

int ldms_publish(const struct ldms_api *api, struct ldms_transport *transport, const char *name, const char *json,
                 size_t length)
{
    if (api->publish_message != NULL)
        return api->publish_message(transport, name, LDMS_JSON, NULL, LDMS_READABLE_BY_ALL, json, length);
    return api->publish_stream(transport, name, LDMS_JSON, json, length);
}
