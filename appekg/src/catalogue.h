/* What is known of each id: its name and its rate factor. */
#ifndef EKG_CATALOGUE_H
#define EKG_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

#define LONGEST_BEAT_NAME 120

struct beat {
    uint32_t id;
    uint32_t factor;  /* 1 beat in so many is recorded; 0 in an entry: the default */
    uint32_t version; /* changes with name and factor; 0 in a free entry */
    char name[LONGEST_BEAT_NAME];
};

/* Sets the factor that ids without one of their own have. Before the first beat. */
void catalogue_set_default_factor(uint32_t factor);

/* Thread-safe; they wait for each other only. */
void catalogue_set_name(uint32_t id, const char *name);
void catalogue_set_factor(uint32_t id, uint32_t factor);

/* Copies what is known of the id; an unknown one has an empty name, the default factor and version 0. Thread-safe. */
void catalogue_get(uint32_t id, struct beat *beat);

/* How often a name or a factor has been set. Whoever sees a number sees what made it. */
uint32_t catalogue_changes(void);

uint32_t catalogue_factor(uint32_t id);

/* Around a fork, in the thread that calls it (the second in parent and child): nobody is changing an entry. */
uint64_t catalogue_before_fork(void);
void catalogue_after_fork(uint64_t mask);

#endif
