/* bailey doctor: which devices this machine offers, which can be used, and what is missing. */
#include "cli/doctor.h"

#include <stdio.h>
#include <unistd.h>

static const char *const vendors[] = {"amd", "intel", "nvidia"};
static const char not_yet[] = "not used by this version of Bailey";

static bool cpu_works(const struct bl_cli_machine *machine)
{
    for (uint32_t i = 0; i < machine->findings.count; i++)
        if (machine->findings.items[i].blocks_cpu)
            return false;
    return true;
}

static const char *or_else(const char *text, const char *other)
{
    return text ? text : other;
}

static const char *node_state(const struct bl_cli_node *node)
{
    return !node->exists ? "missing" : node->accessible ? "accessible" : "no permission";
}

static const char *group_state(const struct bl_cli_group *group)
{
    return !group->exists ? "absent" : group->member ? "member" : group->listed ? "member from the next login on" : "not a member";
}

/* ---- text -------------------------------------------------------------------------------- */

static double gibibytes(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0 * 1024.0);
}

static void print_gpus(const struct bl_cli_machine *machine)
{
    for (uint32_t i = 0; i < machine->gpus.count; i++) {
        const struct bl_cli_gpu *gpu = &machine->gpus.items[i];
        printf("  %-7s %s\n          %s, PCI %04x:%04x%s%s, driver %s", vendors[gpu->vendor], not_yet, gpu->address,
               gpu->pci_vendor, gpu->pci_device, gpu->architecture ? ", " : "", or_else(gpu->architecture, ""),
               or_else(gpu->driver, "none"));
        if (gpu->render.path)
            printf(", %s %s", gpu->render.path, node_state(&gpu->render));
        putchar('\n');
    }
}

static void print_stacks(const struct bl_cli_machine *machine)
{
    if (!machine->gpus.count)
        return;
    printf("GPU software\n");
    if (bl_cli_machine_has(machine, BL_CLI_AMD))
        printf("  rocm    libamdhip64 %s%s%s, /dev/kfd %s\n", or_else(machine->hip_library, "missing"),
               machine->rocm_version ? ", version " : "", or_else(machine->rocm_version, ""), node_state(&machine->kfd));
    printf("  vulkan  loader %s, %u driver%s\n", or_else(machine->vulkan_loader, "missing"), machine->vulkan_drivers.count,
           machine->vulkan_drivers.count == 1 ? "" : "s");
    printf("  groups  render: %s; video: %s\n", group_state(&machine->render_group), group_state(&machine->video_group));
}

static void print_text(const struct bl_cli_machine *machine)
{
    printf("Devices\n  cpu     %s\n          %s, %u thread%s, %s, %.1f GiB memory, %.1f free\n",
           cpu_works(machine) ? "ready" : "can't be used", or_else(machine->cpu_model, "unknown processor"), machine->threads,
           machine->threads == 1 ? "" : "s", or_else(machine->simd, "no known SIMD"), gibibytes(machine->memory),
           gibibytes(machine->memory_free));
    printf("          compiler helper %s, cache %s%s%s\n", machine->helper_found ? "found" : "missing", or_else(machine->cache, ""),
           machine->cache ? " " : "", machine->cache_state);
    print_gpus(machine);
    print_stacks(machine);
    if (machine->findings.count)
        printf("Missing\n");
    for (uint32_t i = 0; i < machine->findings.count; i++) {
        const struct bl_cli_finding *finding = &machine->findings.items[i];
        printf("  %s: %s\n", finding->about, finding->text);
        if (finding->command)
            printf("      %s\n", finding->command);
    }
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_optional(struct bl_json *json, const char *name, const char *text)
{
    if (text)
        bl_json_text(json, name, bl_sv(text));
}

static void json_cpu(struct bl_json *json, const struct bl_cli_machine *machine)
{
    bl_json_open(json, NULL, '{');
    bl_json_text(json, "kind", bl_sv("cpu"));
    bl_json_bool(json, "usable", cpu_works(machine));
    json_optional(json, "model", machine->cpu_model);
    bl_json_number(json, "threads", machine->threads);
    json_optional(json, "simd", machine->simd);
    bl_json_number(json, "memory_bytes", machine->memory);
    bl_json_number(json, "memory_free_bytes", machine->memory_free);
    json_optional(json, "cache", machine->cache);
    bl_json_text(json, "cache_state", bl_sv(machine->cache_state));
    bl_json_text(json, "helper", bl_sv(machine->helper));
    bl_json_bool(json, "helper_found", machine->helper_found);
    bl_json_close(json, '}');
}

static void json_gpu(struct bl_json *json, const struct bl_cli_gpu *gpu)
{
    char id[16];
    snprintf(id, sizeof(id), "%04x:%04x", gpu->pci_vendor, gpu->pci_device);
    bl_json_open(json, NULL, '{');
    bl_json_text(json, "kind", bl_sv(vendors[gpu->vendor]));
    bl_json_bool(json, "usable", false);
    bl_json_text(json, "reason", bl_sv(not_yet));
    bl_json_text(json, "address", bl_sv(gpu->address));
    bl_json_text(json, "pci_id", bl_sv(id));
    json_optional(json, "architecture", gpu->architecture);
    json_optional(json, "driver", gpu->driver);
    json_optional(json, "render_node", gpu->render.path);
    if (gpu->render.path)
        bl_json_text(json, "render_node_state", bl_sv(node_state(&gpu->render)));
    bl_json_close(json, '}');
}

static void json_stacks(struct bl_json *json, const struct bl_cli_machine *machine)
{
    bl_json_open(json, "rocm", '{');
    json_optional(json, "libamdhip64", machine->hip_library);
    json_optional(json, "version", machine->rocm_version);
    bl_json_text(json, "kfd", bl_sv(node_state(&machine->kfd)));
    bl_json_close(json, '}');
    bl_json_open(json, "vulkan", '{');
    json_optional(json, "loader", machine->vulkan_loader);
    bl_json_open(json, "drivers", '[');
    for (uint32_t i = 0; i < machine->vulkan_drivers.count; i++)
        bl_json_text(json, NULL, bl_sv(machine->vulkan_drivers.items[i]));
    bl_json_close(json, ']');
    bl_json_close(json, '}');
    bl_json_open(json, "groups", '{');
    bl_json_text(json, "render", bl_sv(group_state(&machine->render_group)));
    bl_json_text(json, "video", bl_sv(group_state(&machine->video_group)));
    bl_json_close(json, '}');
}

static bool print_json(const struct bl_cli_machine *machine)
{
    struct bl_json json = {0};
    bl_json_open(&json, NULL, '{');
    json_optional(&json, "system", machine->system_name);
    bl_json_open(&json, "devices", '[');
    json_cpu(&json, machine);
    for (uint32_t i = 0; i < machine->gpus.count; i++)
        json_gpu(&json, &machine->gpus.items[i]);
    bl_json_close(&json, ']');
    json_stacks(&json, machine);
    bl_json_open(&json, "missing", '[');
    for (uint32_t i = 0; i < machine->findings.count; i++) {
        bl_json_open(&json, NULL, '{');
        bl_json_text(&json, "about", bl_sv(machine->findings.items[i].about));
        bl_json_text(&json, "text", bl_sv(machine->findings.items[i].text));
        json_optional(&json, "command", machine->findings.items[i].command);
        bl_json_close(&json, '}');
    }
    bl_json_close(&json, ']');
    bl_json_close(&json, '}');
    return bl_json_print(&json);
}

/* ---- the command ------------------------------------------------------------------------- */

static int examine(const char *root, bool as_json)
{
    struct bl_arena arena;
    jmp_buf no_memory;
    bl_arena_init(&arena);
    if (setjmp(no_memory)) {
        bl_arena_cleanup(&arena);
        bl_cli_say("out of memory");
        return BL_CLI_FAILED;
    }
    arena.no_memory = &no_memory;
    struct bl_cli_machine machine = {.arena = &arena, .root = root};
    bl_cli_machine_read(&machine);
    bl_cli_find_remedies(&machine);
    bool fine = true;
    if (as_json)
        fine = print_json(&machine);
    else
        print_text(&machine);
    fine = fine && cpu_works(&machine);
    bl_arena_cleanup(&arena);
    return fine ? BL_CLI_OK : BL_CLI_FAILED;
}

static int run_doctor(int argc, char **argv)
{
    const char *root = "", *value = NULL;
    bool as_json = false;
    for (int at = 1; at < argc; at++) {
        if (!strcmp(argv[at], "--json"))
            as_json = true;
        else if ((value = bl_cli_option(argc, argv, &at, "root")))
            root = value;
        else
            return bl_cli_usage("doctor", "doctor: unknown argument %s", argv[at]);
        if (value && !*value)
            return bl_cli_usage("doctor", "doctor: --root needs a folder");
        if (root[0] && access(root, X_OK) != 0)
            return bl_cli_usage("doctor", "doctor: no folder %s", root);
    }
    return examine(root, as_json);
}

const struct bl_cli_command bl_cli_doctor = {
    .name = "doctor",
    .summary = "says which devices this machine offers, and what is missing for them",
    .help = "Usage: bailey doctor [--json] [--root DIR]\n"
            "\n"
            "Which devices there are, which Bailey can use, and for AMD and Intel GPUs what is there, what is missing, and the\n"
            "command that mends it (Debian, Ubuntu, Fedora).\n"
            "\n"
            "  --root DIR   read DIR/proc, DIR/sys, DIR/dev, DIR/etc, DIR/usr and DIR/opt: an image of another machine\n"
            "\n"
            "Exit status: 0 where the CPU device can be used, else 1.\n",
    .run = run_doctor,
};
