#define _GNU_SOURCE
#include "ticker.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "sys.h"

int perf_event_open(pid_t tid, uint64_t every_ns)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = every_ns,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .disabled = 1};
    return (int)SYS5(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool perf_event_aim(int fd, pid_t tid, int number)
{
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    return SYS3(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 && SYS3(SYS_fcntl, fd, F_SETSIG, number) == 0 &&
           SYS3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

bool perf_event_start(int fd, pid_t tid, int number)
{
    return perf_event_aim(fd, tid, number) && SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

bool perf_event_stop(int fd)
{
    return SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
}

bool perf_event_start_some(int fd, pid_t tid, int number, int times)
{
    return perf_event_aim(fd, tid, number) && SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, times) == 0;
}
