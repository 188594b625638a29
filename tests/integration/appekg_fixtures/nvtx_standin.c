/* A stand-in for a tool that shows ranges of NVTX: a line for each call in the file NVTX_LOG. With -DPUBLISHED, the
 * interface is that of NVIDIA's header; otherwise it is written down here. NVTX_REFUSES=1: it does not start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PUBLISHED
#include <nvtx3/nvToolsExt.h>
#define CALLBACKS NVTX_ETID_CALLBACKS
#define VERSION NVTX_ETID_VERSIONINFO
#define CORE NVTX_CB_MODULE_CORE
#define MODULES NVTX_CB_MODULE_SIZE
#define MARK NVTX_CBID_CORE_MarkA
#define START NVTX_CBID_CORE_RangeStartA
#define END NVTX_CBID_CORE_RangeEnd
static const unsigned sizes[] = {0, NVTX_CBID_CORE_SIZE, NVTX_CBID_CUDA_SIZE, NVTX_CBID_OPENCL_SIZE,
                                 NVTX_CBID_CUDART_SIZE, NVTX_CBID_CORE2_SIZE, NVTX_CBID_SYNC_SIZE};
#else
enum { CALLBACKS = 1, VERSION = 3, CORE = 1, MODULES = 7, MARK = 2, START = 5, END = 7 };
static const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable;
typedef struct {
    size_t struct_size;
    int (*GetModuleFunctionTable)(int module, NvtxFunctionTable *table, unsigned *size);
} NvtxExportTableCallbacks;
typedef struct {
    size_t struct_size;
    uint32_t version, reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
} NvtxExportTableVersionInfo;
typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t number);
#endif

static uint64_t last;

static void report(const char *what, uint64_t range, const char *name)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%s %llu %s\n", what, (unsigned long long)range, name);
    int file = open(getenv("NVTX_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0 || write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

static uint64_t start(const char *name)
{
    uint64_t range = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    report("start", range, name);
    return range;
}

static void end(uint64_t range)
{
    report("end", range, "");
}

static void mark(const char *name)
{
    report("mark", 0, name);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table)
{
    const NvtxExportTableVersionInfo *version = export_table(VERSION);
    const NvtxExportTableCallbacks *callbacks = export_table(CALLBACKS);
    if (getenv("NVTX_REFUSES") != NULL)
        return 0;
    if (version == NULL || version->struct_size < sizeof *version || version->version != 3 || callbacks == NULL ||
        callbacks->struct_size < sizeof *callbacks || export_table(99) != NULL)
        abort();
    version->SetInjectionNvtxVersion(3);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(MODULES, &table, &size) != 0 ||
        callbacks->GetModuleFunctionTable(0, &table, &size) != 0)
        abort();
    /* A tool may put a function into each place but the first. */
    for (int module = MODULES - 1; module >= CORE; module--) {
        if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || size < sizes[module])
            abort();
        for (unsigned i = 1; i < sizes[module]; i++)
            *table[i] = NULL;
    }
    *table[MARK] = (NvtxFunctionPointer)mark;
    *table[START] = (NvtxFunctionPointer)start;
    *table[END] = (NvtxFunctionPointer)end;
    return 1;
}
