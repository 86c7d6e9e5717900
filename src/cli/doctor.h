/* What bailey doctor knows of a machine. Shared by doctor.c, machine.c and remedy.c. */
#ifndef BAILEY_CLI_DOCTOR_H
#define BAILEY_CLI_DOCTOR_H

#include "cli/cli.h"

#include <sys/types.h>

enum bl_cli_vendor { BL_CLI_AMD, BL_CLI_INTEL, BL_CLI_NVIDIA };
enum bl_cli_family { BL_CLI_DEBIAN, BL_CLI_FEDORA, BL_CLI_OTHER_SYSTEM }; /* whose package commands are told */

/* A special file and what keeps this user from it. */
struct bl_cli_node {
    const char *path; /* below the root; NULL: there is none */
    bool exists, accessible;
    const char *group; /* that may use it, NULL unknown */
};

struct bl_cli_gpu {
    enum bl_cli_vendor vendor;
    const char *address; /* 0000:03:00.0 */
    uint32_t domain, bus, device, function;
    uint32_t pci_vendor, pci_device;
    const char *driver;       /* bound kernel driver, NULL: none */
    const char *architecture; /* gfx1100; NULL unknown */
    struct bl_cli_node render;
};

struct bl_cli_group {
    const char *name;
    bool exists, member, listed; /* member: of this process; listed: in the system's file, for the next login */
};

struct bl_cli_finding {
    const char *about;          /* "cpu", a GPU's address, "rocm", "vulkan" */
    const char *text, *command; /* command NULL: none is known */
    bool blocks_cpu;
};

struct bl_cli_machine {
    struct bl_arena *arena;
    const char *root; /* "" or the folder that stands for / */
    const char *system_name, *user;
    enum bl_cli_family family;
    /* CPU */
    const char *cpu_model, *simd;
    uint32_t threads;
    uint64_t memory, memory_free; /* bytes */
    const char *cache, *cache_state;
    const char *helper, *driver_library;
    bool helper_found, driver_library_found;
    /* GPUs */
    BL_ARRAY(struct bl_cli_gpu) gpus;
    struct bl_cli_node kfd;
    struct bl_cli_group render_group, video_group;
    const char *hip_library, *rocm_version, *vulkan_loader; /* NULL: not found */
    BL_ARRAY(const char *) vulkan_drivers;                  /* ICD files */
    BL_ARRAY(struct bl_cli_finding) findings;
};

/* machine.c: reads everything but the findings. */
void bl_cli_machine_read(struct bl_cli_machine *machine);
bool bl_cli_machine_has(const struct bl_cli_machine *machine, enum bl_cli_vendor vendor);
/* remedy.c: what is missing, and the command that mends it. */
void bl_cli_find_remedies(struct bl_cli_machine *machine);

#endif
