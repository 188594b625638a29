/* The writing thread has no memory for a while: its first block, and then events, are written once there is some. */
#include "blocks.c"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool has_memory;
static unsigned created, written, complaints;

long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another)
{
    (void)launch, (void)suffix, (void)another;
    output->fd = 3;
    created++;
    return 0;
}

long output_append(struct output *output, const struct buffer *data)
{
    (void)output, (void)data;
    written += has_memory;
    return has_memory ? 0 : -ENOMEM;
}

void log_error(const char *what, const char *where, long error)
{
    (void)what, (void)where, (void)error;
    complaints++;
}

void process_json(struct buffer *buffer, const struct launch *launch, uint64_t start_ns, bool with_maps)
{
    (void)buffer, (void)launch, (void)start_ns, (void)with_maps;
}

struct lane *lane_last(void)
{
    return NULL;
}

const char *counters_missing(void)
{
    return "";
}

uint32_t counters_count(void)
{
    return 0;
}

int main(void)
{
    struct launch launch = {.rank = 0};
    struct about about = {.mpi = "none"};
    assert(blocks_write(&launch, &about, NULL) && created == 1 && written == 0);
    assert(blocks_write(&launch, &about, NULL) && created == 1 && written == 0);
    has_memory = true;
    assert(blocks_write(&launch, &about, NULL) && created == 1 && written == 1);
    assert(blocks_write(&launch, &about, "exit") && written == 2 && complaints == 0);
    has_memory = false;
    assert(!blocks_write(&launch, &about, "exit") && complaints == 1);
    puts("done");
    return 0;
}
