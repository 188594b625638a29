/* CUPTI's callbacks before and after calls that launch kernels and graphs, or copy.
 *
 * Thread safety: a callback runs on the launching thread, where libc works; it takes no lock and keeps errno. */
#define _GNU_SOURCE
#include "cupti.h"
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

#define MOST_FUNCTIONS 1024u
enum call { CALL_COPIES, CALL_LAUNCHES, CALL_LAUNCHES_GRAPH };

/* What functions do, by domain and number. Written before the first callback. */
static uint8_t calls[DOMAIN_RUNTIME + 1][MOST_FUNCTIONS];

static __thread uint32_t depth;

static void note(int domain, const uint16_t *functions, size_t count, enum call call)
{
    for (size_t i = 0; i < count; i++)
        calls[domain][functions[i]] = (uint8_t)call;
}

void launches_callback(void *user, int domain, uint32_t function, const void *data)
{
    (void)user;
    if (!gpu_is_recording() || data == NULL || (domain != DOMAIN_DRIVER && domain != DOMAIN_RUNTIME))
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
    uint8_t call = calls[domain][function % MOST_FUNCTIONS];
    if (call != CALL_COPIES)
        gpu_count(call == CALL_LAUNCHES_GRAPH ? &gpu_totals.graph_launches : &gpu_totals.launches, 1);
    launches_record(field_u32(data, CALLBACK_CORRELATION));
}

#define ENABLE_RANGES(ranges, domain)                                                                                  \
    for (size_t i = 0; i < COUNT(ranges); i++)                                                                         \
        for (uint32_t function = ranges[i][0]; function <= ranges[i][1]; function++)                                   \
    cupti->enable_callback(1, subscriber, domain, function)

#define ENABLE(functions, domain)                                                                                      \
    for (size_t i = 0; i < COUNT(functions); i++)                                                                      \
    is_any |= cupti->enable_callback(1, subscriber, domain, functions[i]) == CUPTI_OK

/* Functions that this CUPTI does not have are refused, and left out. */
bool launches_enable(const struct cupti *cupti, void *subscriber)
{
    bool is_any = false;
    note(DOMAIN_DRIVER, driver_launches, COUNT(driver_launches), CALL_LAUNCHES);
    note(DOMAIN_DRIVER, driver_graphs, COUNT(driver_graphs), CALL_LAUNCHES_GRAPH);
    note(DOMAIN_RUNTIME, runtime_launches, COUNT(runtime_launches), CALL_LAUNCHES);
    note(DOMAIN_RUNTIME, runtime_graphs, COUNT(runtime_graphs), CALL_LAUNCHES_GRAPH);
    ENABLE(driver_launches, DOMAIN_DRIVER);
    ENABLE(driver_graphs, DOMAIN_DRIVER);
    ENABLE(runtime_launches, DOMAIN_RUNTIME);
    ENABLE(runtime_graphs, DOMAIN_RUNTIME);
    ENABLE_RANGES(driver_copies, DOMAIN_DRIVER);
    ENABLE_RANGES(runtime_copies, DOMAIN_RUNTIME);
    return is_any;
}
