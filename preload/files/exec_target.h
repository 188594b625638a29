/* What a process becomes, where the library does not follow. */
#ifndef INCPROF_EXEC_TARGET_H
#define INCPROF_EXEC_TARGET_H

/* Before an exec by the process that is to say how the recording ended: one line, if what it becomes cannot, as it is
 * static, setuid, or has another environment. `file` is a path, or a name that is looked up in PATH. Async-signal-safe
 * and thread-safe; does nothing in any other process. */
void exec_target_report(const char *file, char *const envp[]);

#endif
