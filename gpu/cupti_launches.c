/* CUPTI's callbacks before and after calls that launch kernels and graphs, or copy.
 *
 * Thread safety: a callback runs on the launching thread, where libc works; it takes no lock and keeps errno. */
#define _GNU_SOURCE
#include "gpu.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Numbers of CUPTI's callbacks. */
static const uint16_t driver_launches[] = {115, 116, 117, 307, 442, 477, 478, 652, 653};
static const uint16_t driver_graphs[] = {514, 515};
static const uint16_t runtime_launches[] = {13, 211, 213, 214, 269, 270, 430, 431};
static const uint16_t runtime_graphs[] = {311, 312};
/* Copies and memsets: first and last of ranges. */
static const uint16_t driver_copies[][2] = {{43, 82},   {216, 227}, {232, 234}, {248, 254}, {276, 293},
                                            {305, 306}, {318, 321}, {397, 416}, {418, 433}, {776, 779}};
static const uint16_t runtime_copies[][2] = {{31, 52},   {142, 145}, {160, 163}, {215, 236},
                                             {243, 246}, {249, 250}, {482, 485}};

static __thread uint32_t depth;

static bool is_copy(int domain, uint32_t function)
{
    const uint16_t(*ranges)[2] = domain == DOMAIN_DRIVER ? driver_copies : runtime_copies;
    size_t count = domain == DOMAIN_DRIVER ? COUNT(driver_copies) : COUNT(runtime_copies);
    for (size_t i = 0; i < count; i++)
        if (ranges[i][0] <= function && function <= ranges[i][1])
            return true;
    return false;
}

static bool contains(const uint16_t *functions, size_t count, uint32_t function)
{
    for (size_t i = 0; i < count; i++)
        if (functions[i] == function)
            return true;
    return false;
}

void launches_callback(void *user, int domain, uint32_t function, const void *data)
{
    (void)user;
    if (!gpu_is_recording() || data == NULL)
        return;
    bool is_exit = field_u32(data, CALLBACK_SITE) == SITE_EXIT;
    /* The run-time's launch calls the driver's: it counts once. */
    if (domain == DOMAIN_RUNTIME && is_exit) {
        depth -= depth > 0;
        return;
    }
    if (is_exit || (domain == DOMAIN_DRIVER && depth > 0))
        return;
    depth += domain == DOMAIN_RUNTIME;
    if (!is_copy(domain, function)) {
        bool is_graph =
            domain == DOMAIN_RUNTIME ? contains(runtime_graphs, 2, function) : contains(driver_graphs, 2, function);
        gpu_count(is_graph ? &gpu_totals.graph_launches : &gpu_totals.launches, 1);
    }
    launches_record(field_u32(data, CALLBACK_CORRELATION));
}

#define ENABLE_RANGES(ranges, domain)                                                                                  \
    for (size_t i = 0; i < COUNT(ranges); i++)                                                                         \
        for (uint32_t function = ranges[i][0]; function <= ranges[i][1]; function++)                                   \
    cupti->enable_callback(1, subscriber, domain, function)

#define ENABLE(functions, domain)                                                                                      \
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)                                                  \
    is_any |= cupti->enable_callback(1, subscriber, domain, functions[i]) == CUPTI_OK

/* Functions that this CUPTI does not have are refused, and left out. */
bool launches_enable(const struct cupti *cupti, void *subscriber)
{
    bool is_any = false;
    ENABLE(driver_launches, DOMAIN_DRIVER);
    ENABLE(driver_graphs, DOMAIN_DRIVER);
    ENABLE(runtime_launches, DOMAIN_RUNTIME);
    ENABLE(runtime_graphs, DOMAIN_RUNTIME);
    ENABLE_RANGES(driver_copies, DOMAIN_DRIVER);
    ENABLE_RANGES(runtime_copies, DOMAIN_RUNTIME);
    return is_any;
}
