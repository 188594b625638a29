/* What the parts of the collector ask of those that are not in a harness. */
#include "switch.h"
#include "thread.h"

__thread struct tls_block incprof_tls;

bool switch_is_on(void)
{
    return true;
}

bool switch_is_off(void)
{
    return false;
}

void switch_request_drain(void) {}

struct thread *thread_new(void)
{
    return NULL;
}

void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc)
{
    (void)thread, (void)stack_low, (void)stack_high, (void)start_pc;
}
