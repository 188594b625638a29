/* Launches an empty kernel as often as its argument says, waits after every hundred, and prints the CPU time that the
 * launching thread needs for each. With a second argument the program profiles itself: its queue records times, and it
 * keeps an event of each launch, and reads its times after waiting. That is what the driver alone needs for it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *source = "kernel void tiny(global float *a) { a[get_global_id(0)] += 1; }";

#define BATCH 100
static int is_profiled;
static cl_event events[BATCH];

static void read_times(int count)
{
    cl_ulong start_ns, end_ns;
    for (int i = 0; is_profiled && i < count; i++) {
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof start_ns, &start_ns, NULL);
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, NULL);
        clReleaseEvent(events[i]);
    }
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100000;
    is_profiled = argc > 2;
    size_t size = 16;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) != 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != 0)
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, is_profiled ? CL_QUEUE_PROFILING_ENABLE : 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "tiny", NULL);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof memory, &memory);
    /* The first launch compiles the kernel. */
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
    clFinish(queue);
    double start_s = cpu_s();
    for (long i = 0; i < count; i++) {
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, is_profiled ? &events[i % BATCH] : NULL);
        if (i % BATCH != BATCH - 1)
            continue;
        clFinish(queue);
        read_times(BATCH);
    }
    clFinish(queue);
    read_times((int)(count % BATCH));
    printf("%.0f ns a launch\n", (cpu_s() - start_s) / (double)count * 1e9);
    clReleaseCommandQueue(queue);
    return 0;
}
