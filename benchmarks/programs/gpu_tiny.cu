// Empty kernels, launched as fast as possible on four streams. Output: `kernels` and `launch_ns`, the time of one launch.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>

__global__ void nothing() {}

static double now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

__attribute__((noinline)) double launch(cudaStream_t *streams, long n)
{
    double launching = 0;
    for (long i = 0; i < n; i += 400) {
        double start = now();
        for (int k = 0; k < 400; k++)
            nothing<<<1, 32, 0, streams[k % 4]>>>();
        launching += now() - start;
        // The queue of launches is never full, so that a launch does not wait for the device.
        cudaDeviceSynchronize();
    }
    return launching;
}

int main(int count, char **words)
{
    long n = count > 1 ? atol(words[1]) / 400 * 400 : 400000;
    cudaStream_t streams[4];
    for (cudaStream_t &stream : streams)
        if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
            return 1;
    launch(streams, 4000);
    double launching = launch(streams, n);
    if (cudaGetLastError() != cudaSuccess)
        return 1;
    printf("kernels %ld\nlaunch_ns %.1f\n", n + 4000, launching / n);
    return 0;
}
