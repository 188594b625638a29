/* CUPTI's callbacks before and after calls that launch kernels and graphs, or copy.
 *
 * Thread safety: a callback runs on the launching thread, where libc works; it takes no lock and keeps errno. */
#define _GNU_SOURCE
#include "cupti.h"
#include "gpu.h"

#define MOST_FUNCTIONS 1024u
enum call { COPIES, LAUNCHES, LAUNCHES_GRAPH };

/* What functions do: ranges of CUPTI's numbers of callbacks. */
static const struct {
    uint16_t domain, call, first, last;
} functions[] = {
    {DOMAIN_DRIVER, LAUNCHES, 115, 117},        {DOMAIN_DRIVER, LAUNCHES, 307, 307},
    {DOMAIN_DRIVER, LAUNCHES, 442, 442},        {DOMAIN_DRIVER, LAUNCHES, 477, 478},
    {DOMAIN_DRIVER, LAUNCHES, 480, 480},        {DOMAIN_DRIVER, LAUNCHES, 652, 653},
    {DOMAIN_RUNTIME, LAUNCHES, 13, 13},         {DOMAIN_RUNTIME, LAUNCHES, 211, 211},
    {DOMAIN_RUNTIME, LAUNCHES, 213, 214},       {DOMAIN_RUNTIME, LAUNCHES, 269, 270},
    {DOMAIN_RUNTIME, LAUNCHES, 272, 272},       {DOMAIN_RUNTIME, LAUNCHES, 430, 431},
    {DOMAIN_RUNTIME, LAUNCHES, 505, 506},       {DOMAIN_DRIVER, LAUNCHES_GRAPH, 514, 515},
    {DOMAIN_RUNTIME, LAUNCHES_GRAPH, 311, 312}, {DOMAIN_DRIVER, COPIES, 43, 82},
    {DOMAIN_DRIVER, COPIES, 216, 227},          {DOMAIN_DRIVER, COPIES, 232, 234},
    {DOMAIN_DRIVER, COPIES, 248, 254},          {DOMAIN_DRIVER, COPIES, 276, 293},
    {DOMAIN_DRIVER, COPIES, 305, 306},          {DOMAIN_DRIVER, COPIES, 318, 321},
    {DOMAIN_DRIVER, COPIES, 397, 416},          {DOMAIN_DRIVER, COPIES, 418, 433},
    {DOMAIN_DRIVER, COPIES, 776, 779},          {DOMAIN_DRIVER, COPIES, 796, 799},
    {DOMAIN_DRIVER, COPIES, 837, 840},          {DOMAIN_RUNTIME, COPIES, 31, 52},
    {DOMAIN_RUNTIME, COPIES, 142, 145},         {DOMAIN_RUNTIME, COPIES, 160, 163},
    {DOMAIN_RUNTIME, COPIES, 215, 236},         {DOMAIN_RUNTIME, COPIES, 243, 246},
    {DOMAIN_RUNTIME, COPIES, 249, 250},         {DOMAIN_RUNTIME, COPIES, 482, 485},
    {DOMAIN_RUNTIME, COPIES, 509, 512},         {DOMAIN_RUNTIME, COPIES, 554, 557},
};

/* What functions do, by domain and number. Written before the first callback. */
static uint8_t calls[DOMAIN_RUNTIME + 1][MOST_FUNCTIONS];

/* What the thread calls, with the calls inside. */
static __thread struct {
    uint32_t depth;
    bool is_captured;
} now;

/* Whether nothing is launched by a call that has ended. */
static bool is_void(const void *data)
{
    const void *result = field_pointer(data, CALLBACK_RESULT);
    return now.is_captured || (result != NULL && field_u32(result, 0) != 0);
}

void launches_callback(void *user, int domain, uint32_t function, const void *data)
{
    if (!gpu_is_recording() || data == NULL)
        return;
    if (domain == DOMAIN_RESOURCE)
        now.is_captured = true;
    if (domain != DOMAIN_DRIVER && domain != DOMAIN_RUNTIME)
        return;
    uint8_t call = calls[domain][function % MOST_FUNCTIONS];
    uint64_t *total = call == LAUNCHES_GRAPH ? &gpu_totals.graph_launches : &gpu_totals.launches;
    /* The run-time's launch calls the driver's: it counts once. */
    if (field_u32(data, CALLBACK_SITE) == SITE_EXIT) {
        if (now.depth > 0 && --now.depth == 0 && call != COPIES && is_void(data))
            gpu_count(total, (uint64_t)-1);
    } else if (now.depth++ == 0) {
        now.is_captured = false;
        gpu_count(total, call != COPIES);
        launches_record(field_u32(data, CALLBACK_CORRELATION));
    }
}

/* Functions that this CUPTI does not have are refused, and left out. */
bool launches_enable(const struct cupti *cupti, void *subscriber)
{
    bool is_any = false;
    cupti->enable_callback(1, subscriber, DOMAIN_RESOURCE, GRAPH_NODE_CREATED);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint16_t domain = functions[i].domain, call = functions[i].call;
        for (uint32_t function = functions[i].first; function <= functions[i].last; function++) {
            calls[domain][function] = (uint8_t)call;
            bool is_enabled = cupti->enable_callback(1, subscriber, domain, function) == CUPTI_OK;
            is_any |= is_enabled && call != COPIES;
        }
    }
    return is_any;
}
