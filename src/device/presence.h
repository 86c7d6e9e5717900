/* Which processes use devices of Bailey, for those who watch: libnvidia-ml and `bailey top`. A process that has opened the driver
 * keeps a file named by its number in $XDG_RUNTIME_DIR/bailey, or /dev/shm/bailey-UID where that variable is not set; the file is a
 * page that says how many bytes it has allocated on each device. A file whose process is gone is removed by whoever comes across
 * it. Where there is no such folder, nothing is shown and nothing fails. */
#ifndef BAILEY_DEVICE_PRESENCE_H
#define BAILEY_DEVICE_PRESENCE_H

#include <stdatomic.h>

#include "base/base.h"

enum { BL_PRESENCE_DEVICES = 64 };

struct bl_presence {
    char magic[8];
    int32_t process;
    uint32_t device_count;
    uint64_t started; /* of the process: clock ticks since the system's start */
    _Atomic uint64_t bytes[BL_PRESENCE_DEVICES];
};

/* This process's own page, from now on until it ends; a page that nobody sees where none can be made. Never NULL. */
struct bl_presence *bl_presence_enter(uint32_t device_count);

/* A process that was found. */
struct bl_presence_seen {
    int32_t process;
    uint64_t started, ticks; /* ticks: of processor time used so far (sysconf(_SC_CLK_TCK) a second) */
    uint32_t device_count;
    uint64_t bytes[BL_PRESENCE_DEVICES];
};
/* Those that there are now, at most `most`; how many. */
size_t bl_presence_list(struct bl_presence_seen *seen, size_t most);

#endif
