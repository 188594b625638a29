#include "peek.h"

pid_t peek_process;
