/* A program with ranges of NVTX. With -DPUBLISHED, it uses NVIDIA's header as programs do; otherwise it does by itself
 * what that does. Arguments: "some", ranges and a mark without a domain; "all": everything that is known, several
 * times; "threads": a range that another thread ends; "many": 5 000 names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifdef PUBLISHED
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>
#define NVTX_VERSION 3
typedef uint64_t nvtxRangeId_t;
typedef void *nvtxDomainHandle_t, *nvtxStringHandle_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    union {
        const char *ascii;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
enum { NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t) };
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_REGISTERED = 3 };
static void *functions[2][16], **tables[2][17];

static int module_table(int module, void ****table, unsigned *size)
{
    if (module != 1 && module != 5)
        return 0;
    *table = tables[module == 5];
    *size = 16;
    return 1;
}

static const void *export_table(uint32_t number)
{
    static const struct {
        size_t size;
        int (*module_table)(int, void ****, unsigned *);
    } callbacks = {sizeof callbacks, module_table};
    return number == 1 ? &callbacks : NULL;
}

static __attribute__((constructor)) void load(void)
{
    for (int i = 1; i < 16; i++)
        tables[0][i] = &functions[0][i], tables[1][i] = &functions[1][i];
    void *tool = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    if (tool != NULL)
        *(void **)&initialize = dlsym(tool, "InitializeInjectionNvtx2");
    if (initialize == NULL || initialize(export_table) != 1)
        abort();
}
#define CALL(core2, number, result, types, ...) ((result(*) types)functions[core2][number])(__VA_ARGS__)
#define nvtxMarkEx(a) CALL(0, 1, void, (const void *), a)
#define nvtxMarkA(a) CALL(0, 2, void, (const char *), a)
#define nvtxRangeStartEx(a) CALL(0, 4, uint64_t, (const void *), a)
#define nvtxRangeStartA(a) CALL(0, 5, uint64_t, (const char *), a)
#define nvtxRangeEnd(a) CALL(0, 7, void, (uint64_t), a)
#define nvtxRangePushEx(a) CALL(0, 8, int, (const void *), a)
#define nvtxRangePushA(a) CALL(0, 9, int, (const char *), a)
#define nvtxRangePushW(a) CALL(0, 10, int, (const wchar_t *), a)
#define nvtxRangePop() CALL(0, 11, int, (void), )
#define nvtxDomainMarkEx(d, a) CALL(1, 1, void, (void *, const void *), d, a)
#define nvtxDomainRangeStartEx(d, a) CALL(1, 2, uint64_t, (void *, const void *), d, a)
#define nvtxDomainRangeEnd(d, a) CALL(1, 3, void, (void *, uint64_t), d, a)
#define nvtxDomainRangePushEx(d, a) CALL(1, 4, int, (void *, const void *), d, a)
#define nvtxDomainRangePop(d) CALL(1, 5, int, (void *), d)
#define nvtxDomainRegisterStringA(d, a) CALL(1, 10, void *, (void *, const char *), d, a)
#define nvtxDomainCreateA(a) CALL(1, 12, void *, (const char *), a)
#endif

static nvtxRangeId_t common;

static void *end_common(void *unused)
{
    nvtxRangeEnd(common);
    return unused;
}

static void expect(int level, int wanted)
{
    if (level != wanted)
        printf("level %d instead of %d\n", level, wanted);
}

static void do_all(void)
{
    nvtxDomainHandle_t library = nvtxDomainCreateA("library"), again = nvtxDomainCreateA("library");
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(library, "reduce");
    nvtxEventAttributes_t text = {0}, registered = {0};
    text.version = registered.version = NVTX_VERSION;
    text.size = registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    text.messageType = NVTX_MESSAGE_TYPE_ASCII;
    text.message.ascii = "with attributes";
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = name;
    for (int i = 0; i < 10; i++) {
        char numbered[64];
        snprintf(numbered, sizeof numbered, "aten::add, seq = %d", i);
        expect(nvtxRangePushA("step"), 0);
        expect(nvtxRangePushA(numbered), 1);
        expect(nvtxDomainRangePushEx(library, &registered), 2);
        expect(nvtxRangePushEx(&text), 3);
        expect(nvtxRangePushW(L"wide"), 4);
        expect(nvtxRangePop(), 4);
        expect(nvtxRangePop(), 3);
        /* Of a domain, although the innermost one is another's. */
        expect(nvtxRangePop(), 2);
        expect(nvtxDomainRangePop(library), 1);
        expect(nvtxRangePop(), 0);
        expect(nvtxRangePop(), -1);
        nvtxMarkEx(&text);
        nvtxDomainMarkEx(again, &registered);
        nvtxRangeEnd(nvtxRangeStartEx(&text));
        nvtxDomainRangeEnd(again, nvtxDomainRangeStartEx(again, &text));
        for (int depth = 0; depth < 60; depth++)
            nvtxRangePushA("deep");
        for (int depth = 0; depth < 60; depth++)
            expect(nvtxRangePop(), 59 - depth);
    }
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (strcmp(what, "all") == 0)
        do_all();
    if (strcmp(what, "some") == 0) {
        nvtxRangeId_t outer = nvtxRangeStartA("solve"), inner = nvtxRangeStartA("heartbeat 2");
        nvtxMarkA("heartbeat 3");
        nvtxRangeEnd(outer);
        nvtxRangeEnd(inner);
    }
    if (strcmp(what, "threads") == 0) {
        pthread_t other;
        common = nvtxRangeStartA("common");
        pthread_create(&other, NULL, end_common, NULL);
        pthread_join(other, NULL);
    }
    for (int i = 0; strcmp(what, "many") == 0 && i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    return 0;
}
