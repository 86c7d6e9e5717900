/* What a machine lacks, and the command that mends it: package commands for Debian, Ubuntu and Fedora. */
#include "cli/doctor.h"

static const char *const names[] = {"AMD GPU", "Intel GPU", "NVIDIA GPU"};

static void find(struct bl_cli_machine *machine, const char *about, const char *text, const char *command)
{
    *BL_PUSH(machine->arena, &machine->findings) = (struct bl_cli_finding){.about = about, .text = text, .command = command};
}

/* The command that installs a package of either family; for other systems the name is all that can be said. */
static const char *install(struct bl_cli_machine *machine, const char *debian, const char *fedora)
{
    switch (machine->family) {
    case BL_CLI_DEBIAN:
        return bl_arena_printf(machine->arena, "sudo apt-get install %s", debian);
    case BL_CLI_FEDORA:
        return bl_arena_printf(machine->arena, "sudo dnf install %s", fedora);
    default:
        return NULL;
    }
}

static void check_cpu(struct bl_cli_machine *machine)
{
    if (!machine->driver_library_found) {
        find(machine, "cpu", bl_arena_printf(machine->arena, "%s is missing: Bailey is not whole", machine->driver_library), NULL);
        machine->findings.items[machine->findings.count - 1].blocks_cpu = true;
    }
    if (!machine->helper_found) {
        find(machine, "cpu",
             bl_arena_printf(machine->arena, "the compiler helper %s is missing: only cached kernels run", machine->helper), NULL);
        machine->findings.items[machine->findings.count - 1].blocks_cpu = true;
    }
    if (!strcmp(machine->cache_state, "not writable") || !strcmp(machine->cache_state, "can't be made"))
        find(machine, "cpu",
             bl_arena_printf(machine->arena, "the cache %s: kernels are compiled again in each run", machine->cache_state),
             bl_arena_printf(machine->arena, "export BAILEY_CACHE_DIR=/tmp/bailey-%s", machine->user));
}

static bool expected_driver(const struct bl_cli_gpu *gpu)
{
    if (!gpu->driver)
        return false;
    switch (gpu->vendor) {
    case BL_CLI_AMD:
        return !strcmp(gpu->driver, "amdgpu");
    case BL_CLI_INTEL:
        return !strcmp(gpu->driver, "i915") || !strcmp(gpu->driver, "xe");
    default:
        return true; /* no device of ours needs NVIDIA's own driver */
    }
}

static void check_driver(struct bl_cli_machine *machine, const struct bl_cli_gpu *gpu)
{
    static const char *const wanted[] = {"amdgpu", "i915 or xe"};
    static const char *const load[] = {"sudo modprobe amdgpu", "sudo modprobe i915"};
    static const char *const debian[] = {"firmware-amd-graphics", "firmware-misc-nonfree"};
    static const char *const fedora[] = {"amd-gpu-firmware", "intel-gpu-firmware"};
    if (gpu->vendor == BL_CLI_NVIDIA || expected_driver(gpu))
        return;
    const char *has = gpu->driver ? gpu->driver : "none";
    find(machine, gpu->address,
         bl_arena_printf(machine->arena, "%s: the kernel driver %s is not bound to it (bound: %s)", names[gpu->vendor],
                         wanted[gpu->vendor], has),
         load[gpu->vendor]);
    if (!gpu->driver)
        find(machine, gpu->address, "if loading it fails: its firmware may be missing; then restart",
             install(machine, debian[gpu->vendor], fedora[gpu->vendor]));
}

/* A user who may not open a special file: into its group. */
static void check_access(struct bl_cli_machine *machine, const char *about, const struct bl_cli_node *node)
{
    if (!node->exists || node->accessible)
        return;
    const char *group = node->group ? node->group : "render";
    const struct bl_cli_group *known = !strcmp(group, "render")  ? &machine->render_group
                                       : !strcmp(group, "video") ? &machine->video_group
                                                                 : NULL;
    if (known && known->listed && !known->member)
        find(machine, about,
             bl_arena_printf(machine->arena, "%s: you are in group %s since a later time than this login; log in again", node->path,
                             group),
             NULL);
    else
        find(machine, about, bl_arena_printf(machine->arena, "%s: no permission; join its group, then log in again", node->path),
             !strcmp(group, "root") ? "sudo udevadm trigger"
                                    : bl_arena_printf(machine->arena, "sudo usermod -aG %s %s", group, machine->user));
}

static void check_render_node(struct bl_cli_machine *machine, const struct bl_cli_gpu *gpu)
{
    if (!expected_driver(gpu) || gpu->vendor == BL_CLI_NVIDIA)
        return;
    if (!gpu->render.path)
        find(machine, gpu->address, "the driver made no render node for it; see the kernel's log", "sudo dmesg | grep -i drm");
    else if (!gpu->render.exists)
        find(machine, gpu->address,
             bl_arena_printf(machine->arena, "%s is missing (in a container: pass it in, --device=/dev/dri)", gpu->render.path),
             NULL);
    check_access(machine, gpu->address, &gpu->render);
}

static void check_rocm(struct bl_cli_machine *machine)
{
    bool bound = false;
    for (uint32_t i = 0; i < machine->gpus.count; i++)
        bound |= machine->gpus.items[i].vendor == BL_CLI_AMD && expected_driver(&machine->gpus.items[i]);
    if (bound && !machine->kfd.exists)
        find(machine, "rocm", "/dev/kfd is missing (in a container: pass it in, --device=/dev/kfd)", NULL);
    check_access(machine, "rocm", &machine->kfd);
    if (!machine->hip_library)
        find(machine, "rocm", "the HIP runtime libamdhip64 is not installed", install(machine, "libamdhip64-5", "rocm-hip"));
}

static bool has_vulkan_driver(const struct bl_cli_machine *machine, enum bl_cli_vendor vendor)
{
    static const char *const parts[] = {"radeon", "intel", "nvidia"};
    static const char *const others[] = {"amd_icd", "intel", "nouveau"};
    for (uint32_t i = 0; i < machine->vulkan_drivers.count; i++)
        if (strstr(machine->vulkan_drivers.items[i], parts[vendor]) || strstr(machine->vulkan_drivers.items[i], others[vendor]))
            return true;
    return false;
}

static void check_vulkan(struct bl_cli_machine *machine)
{
    if (!machine->vulkan_loader)
        find(machine, "vulkan", "the Vulkan loader libvulkan.so.1 is not installed",
             install(machine, "libvulkan1", "vulkan-loader"));
    for (enum bl_cli_vendor vendor = BL_CLI_AMD; vendor <= BL_CLI_NVIDIA; vendor++) {
        if (!bl_cli_machine_has(machine, vendor) || has_vulkan_driver(machine, vendor))
            continue;
        find(machine, "vulkan", bl_arena_printf(machine->arena, "no Vulkan driver for the %s", names[vendor]),
             vendor == BL_CLI_NVIDIA ? NULL : install(machine, "mesa-vulkan-drivers", "mesa-vulkan-drivers"));
    }
}

void bl_cli_find_remedies(struct bl_cli_machine *machine)
{
    check_cpu(machine);
    for (uint32_t i = 0; i < machine->gpus.count; i++) {
        check_driver(machine, &machine->gpus.items[i]);
        check_render_node(machine, &machine->gpus.items[i]);
    }
    if (bl_cli_machine_has(machine, BL_CLI_AMD))
        check_rocm(machine);
    if (machine->gpus.count)
        check_vulkan(machine);
}
