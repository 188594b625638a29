// Phases of known work on a GPU, with their truth measured by events and by the host's clock: kernels that the host waits
// for one by one, batches of kernels, copies, and batches beside work of the host. Host-only work separates them.
//
// Output: `kernels`, `copied` (bytes), `waited_ns`, `wall_ns`; for each kernel `kernel NAME COUNT NS`; and for each phase
// `phase NAME START_NS END_NS BUSY_NS WAITED_NS COPIED`, in which 0 stands for what is not measured.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static unsigned long long waited_ns, copied, kernels;

static unsigned long long now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000ull + at.tv_nsec;
}

__global__ void smooth(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n - 1)
        return;
    float value = from[i];
    for (int k = 0; k < 400; k++)
        value = 0.25f * (from[i - 1] + 2 * value + from[i + 1]);
    to[i] = value;
}

__global__ void multiply(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void multiply_beside(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

static void wait()
{
    unsigned long long start = now();
    CHECK(cudaDeviceSynchronize());
    waited_ns += now() - start;
}

// Events around a batch of kernels that run one after the other.
struct Timer {
    cudaEvent_t first, last;
    double ms = 0;
    Timer()
    {
        CHECK(cudaEventCreate(&first));
        CHECK(cudaEventCreate(&last));
    }
    void begin() { CHECK(cudaEventRecord(first)); }
    void end() { CHECK(cudaEventRecord(last)); }
    void add()
    {
        float each;
        CHECK(cudaEventElapsedTime(&each, first, last));
        ms += each;
    }
    void print(const char *name, int count) { printf("kernel %s %d %.0f\n", name, count, ms * 1e6), kernels += count; }
};

// A phase, from here to its end.
struct Phase {
    unsigned long long start = now(), waited = waited_ns, bytes = copied;
    void print(const char *name, double busy_ms)
    {
        printf("phase %s %llu %llu %.0f %llu %llu\n", name, start, now(), busy_ms * 1e6, waited_ns - waited,
               copied - bytes);
    }
};

__attribute__((noinline)) double host_work(int n)
{
    double sum = 0;
    for (int i = 1; i < n; i++)
        sum += sin(i * 1e-3) / i;
    return sum;
}

__attribute__((noinline)) void relax(float *a, float *b, int n, int steps)
{
    Timer timer;
    Phase phase;
    for (int i = 0; i < steps; i++) {
        timer.begin();
        smooth<<<(n + 255) / 256, 256>>>(a, b, n);
        timer.end();
        wait();
        timer.add();
        std::swap(a, b);
    }
    phase.print("relax", timer.ms);
    timer.print("smooth", steps);
}

__attribute__((noinline)) void products(float *a, float *b, float *c, int n, int steps)
{
    Timer timer;
    Phase phase;
    for (int i = 0; i < steps; i++) {
        timer.begin();
        for (int k = 0; k < 20; k++)
            multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
        timer.end();
        wait();
        timer.add();
    }
    phase.print("products", timer.ms);
    timer.print("multiply", 20 * steps);
}

__attribute__((noinline)) void shuttle(std::vector<float> &host, float *a, int steps)
{
    Phase phase;
    for (int i = 0; i < steps; i++) {
        CHECK(cudaMemcpy(a, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(host.data(), a, host.size() * 4, cudaMemcpyDeviceToHost));
    }
    copied += 2ull * steps * host.size() * 4;
    phase.print("shuttle", 0);
}

__attribute__((noinline)) double overlap(float *a, float *b, float *c, int n, int steps)
{
    Timer timer;
    Phase phase;
    double sum = 0;
    for (int i = 0; i < steps; i++) {
        timer.begin();
        for (int k = 0; k < 20; k++)
            multiply_beside<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
        timer.end();
        sum += host_work(400000);
        wait();
        timer.add();
    }
    phase.print("overlap", timer.ms);
    timer.print("multiply_beside", 20 * steps);
    return sum;
}

int main(int count, char **words)
{
    int scale = count > 1 ? atoi(words[1]) : 10;
    size_t n = 1 << 24;
    std::vector<float> host(n, 1.0f);
    float *a, *b, *c;
    unsigned long long start = now();
    for (float **each : {&a, &b, &c})
        CHECK(cudaMalloc(each, n * 4));
    CHECK(cudaMemcpy(a, host.data(), n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, host.data(), n * 4, cudaMemcpyHostToDevice));
    copied += 2 * n * 4;
    double sum = host_work(30000000);
    relax(a, b, n, 500 * scale);
    sum += host_work(30000000);
    products(a, b, c, 2048, 6 * scale);
    sum += host_work(30000000);
    shuttle(host, a, 40 * scale);
    sum += host_work(30000000);
    sum += overlap(a, b, c, 2048, 6 * scale);
    sum += host_work(30000000);
    printf("kernels %llu\ncopied %llu\nwaited_ns %llu\nwall_ns %llu\nsum %g\n", kernels, copied, waited_ns, now() - start, sum);
    return 0;
}
