/* Thread safety: only the interval thread; control_start runs before it starts. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <string.h>

#include "output.h"
#include "sys.h"

static char path[PATH_MAX];
static enum control last;

void control_start(const char *directory)
{
    output_name(path, directory, "control", "");
    last = CONTROL_NONE;
}

static enum control read_file(void)
{
    char text[8] = "";
    int fd = sys_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return CONTROL_NONE;
    long got = SYS3(SYS_read, fd, text, sizeof text - 1);
    sys_close(fd);
    if (got <= 0)
        return CONTROL_NONE;
    text[got] = '\0';
    text[strcspn(text, " \t\r\n")] = '\0';
    return strcmp(text, "on") == 0 ? CONTROL_ON : strcmp(text, "off") == 0 ? CONTROL_OFF : CONTROL_NONE;
}

enum control control_poll(void)
{
    enum control now = read_file();
    bool is_new = now != last;
    last = now;
    return is_new ? now : CONTROL_NONE;
}
