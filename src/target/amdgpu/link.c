/* A relocatable object to a code object that a driver can load, by LLVM's linker lld: the only program that knows AMD's relocations
 * and is packaged everywhere. Called by machine.c, in bailey-cc only. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/amdgpu/codegen.h"

extern char **environ;

/* The one beside the LLVM that this was built with, else the first in PATH. */
static const char *linker(void)
{
    return access(BAILEY_LLD, X_OK) == 0 ? BAILEY_LLD : "ld.lld";
}

static enum bl_status run_linker(const char *from, const char *to, const char *messages, struct bl_error *error)
{
    const char *program = linker();
    char *arguments[] = {(char *)(uintptr_t) "ld.lld",
                         (char *)(uintptr_t) "-shared",
                         (char *)(uintptr_t) "--no-undefined",
                         (char *)(uintptr_t) "--threads=1",
                         (char *)(uintptr_t) "-o",
                         (char *)(uintptr_t)to,
                         (char *)(uintptr_t)from,
                         NULL};
    posix_spawn_file_actions_t actions;
    char *said = NULL;
    size_t size;
    pid_t child;
    int failed, status = 0;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return bl_fail(error, BL_NOT_FOUND, "%s: %s: it links code for AMD GPUs; Debian's package is lld-%d", program,
                       strerror(failed), LLVM_VERSION_MAJOR);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return BL_OK;
    if (bl_file_read(messages, &said, &size, NULL) == BL_OK)
        bl_fail(error, BL_COMPILER, "%s: %.1500s", program, said);
    bl_free(said);
    return bl_fail(error, BL_COMPILER, "%s failed", program);
}

enum bl_status bl_amd_link(struct bl_arena *arena, const void *object, size_t size, struct bl_amd_answer *answer)
{
    const char *place = getenv("TMPDIR");
    char *folder = bl_arena_printf(arena, "%s/bailey-link-XXXXXX", place && place[0] ? place : "/tmp"), *names[3], *data = NULL;
    enum bl_status status;
    size_t linked = 0;

    if (!folder || !mkdtemp(folder))
        return bl_fail(&answer->error, BL_IO, "%s: %s", folder ? folder : "a folder for the linker", strerror(errno));
    names[0] = bl_arena_printf(arena, "%s/in.o", folder);
    names[1] = bl_arena_printf(arena, "%s/out.hsaco", folder);
    names[2] = bl_arena_printf(arena, "%s/messages", folder);
    status = bl_file_write(names[0], object, size, &answer->error);
    if (status == BL_OK)
        status = run_linker(names[0], names[1], names[2], &answer->error);
    if (status == BL_OK)
        status = bl_file_read(names[1], &data, &linked, &answer->error);
    for (uint32_t n = 0; n < 3; n++)
        unlink(names[n]);
    rmdir(folder);
    if (status == BL_OK) {
        answer->data = bl_arena_copy(arena, data, linked);
        answer->size = linked;
    }
    bl_free(data);
    return status;
}
