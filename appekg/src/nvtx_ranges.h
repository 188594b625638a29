/* Beats as ranges of NVTX, for a tool such as Nsight Systems. While they are on, owners of slots use fences, so that
 * each beat takes the path in beat.c on which ranges begin and end; otherwise they cost nothing. */
#ifndef EKG_NVTX_RANGES_H
#define EKG_NVTX_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of NVTX's binary interface that is used, of version 3. */
enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_DOMAINS = 5, NVTX_MODULES = 7 };
typedef void nvtx_function(void);
typedef const void *nvtx_export_table(uint32_t number);
struct nvtx_callbacks {
    size_t size;
    int (*module_table)(int module, nvtx_function ****table, unsigned *size);
};

/* What this library gives to a tool. */
nvtx_export_table nvtx_ranges_table;

/* Before the first beat: whether beats are to be ranges. One line if there is no tool. */
void nvtx_ranges_choose(bool wanted);

bool nvtx_ranges_are_on(void);

/* In a forked child, which tools do not follow. */
void nvtx_ranges_stop(void);

/* A beat has a range, which `start` (ticks) distinguishes. False: there are too many. Before another thread can end it:
 * inside its slot. */
bool nvtx_ranges_expect(uint32_t id, uint32_t generation, uint64_t start);

/* Begin or end that range, or mark a pulse. In threads of the program, not inside a slot. Not async-signal-safe,
 * because tools are not. errno is kept. */
void nvtx_ranges_begin(uint32_t id, uint32_t generation, uint64_t start);
void nvtx_ranges_end(uint32_t id, uint64_t start);
void nvtx_ranges_mark(uint32_t id);

#endif
