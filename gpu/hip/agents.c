/* Thread safety: written once, by the thread that initialises ROCm, before the first record. */
#define _GNU_SOURCE
#include "hip.h"

static uint64_t gpus[MOST_DEVICES];
static int gpu_count_of;

static int learn(int version, const void **agents, size_t count, void *data)
{
    (void)version;
    (void)data;
    uint64_t mask = gpu_lock();
    for (size_t i = 0; i < count && gpu_count_of < MOST_DEVICES; i++) {
        if (field_u32(agents[i], AGENT_TYPE) != AGENT_IS_GPU)
            continue;
        const char *name = NULL;
        memcpy(&name, (const uint8_t *)agents[i] + AGENT_PRODUCT, sizeof name);
        device_name((uint32_t)gpu_count_of, name);
        gpus[gpu_count_of++] = field_u64(agents[i], AGENT_ID);
    }
    gpu_unlock(mask);
    return ROCPROFILER_OK;
}

void agents_learn(const struct rocprofiler *rocprofiler)
{
    rocprofiler->agents(AGENT_VERSION, learn, AGENT_BYTES, NULL);
}

int agents_find(uint64_t agent)
{
    for (int i = 0; i < gpu_count_of; i++)
        if (gpus[i] == agent)
            return i;
    return -1;
}
