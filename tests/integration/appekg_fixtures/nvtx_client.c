/* Uses NVIDIA's header as programs do. */
#include <nvtx3/nvToolsExt.h>

int main(void)
{
    nvtxRangeId_t outer = nvtxRangeStartA("solve"), inner = nvtxRangeStartA("heartbeat 2");
    nvtxMarkA("heartbeat 3");
    nvtxRangeEnd(outer);
    nvtxRangeEnd(inner);
    return 0;
}
