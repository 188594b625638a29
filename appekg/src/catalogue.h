/* The name and the rate factor of each id. */
#ifndef EKG_CATALOGUE_H
#define EKG_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

#define LONGEST_BEAT_NAME 120

struct beat {
    uint32_t id;
    uint32_t factor;  /* 1 beat in `factor` is recorded; 0 in an entry: the default */
    uint32_t version; /* changes with name and factor; 0 in a free entry */
    char name[LONGEST_BEAT_NAME];
};

/* Set the factor of ids without their own. Before the first beat. */
void catalogue_set_default_factor(uint32_t factor);

/* Set name or factor. Thread-safe; these functions wait only for each other. */
void catalogue_set_name(uint32_t id, const char *name);
void catalogue_set_factor(uint32_t id, uint32_t factor);

/* Copy the id's entry; an unknown id has an empty name, the default factor and version 0. Thread-safe. */
void catalogue_get(uint32_t id, struct beat *beat);

/* Return the number of changes of names and factors so far. Changes counted in it are visible to the caller. */
uint32_t catalogue_changes(void);

uint32_t catalogue_factor(uint32_t id);

/* Surround a fork, in the forking thread (the second function in parent and child), so that no entry is being
 * changed. */
uint64_t catalogue_before_fork(void);
void catalogue_after_fork(uint64_t mask);

#endif
