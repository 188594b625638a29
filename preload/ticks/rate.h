/* The clock and the rate that ticks come at, from what was asked for and what the machine gives. */
#ifndef INCPROF_RATE_H
#define INCPROF_RATE_H

#include "config.h"

/* Takes perf's clock where nobody asked for a clock and CPU timers do not go as fast as the rate; lowers a rate above
 * 1 000 Hz at which making ticks takes more of the CPU time than config->overhead: in virtual machines each may cost 50
 * us. One line on stderr where things are not as asked for. Changes `config`. Once, before main, with the ticks' signal
 * handled; such a rate takes some milliseconds to judge. */
void rate_choose(struct config *config);

#endif
