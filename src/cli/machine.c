/* Reads what doctor tells from /proc, /sys, /dev and the library folders, below a root that tests may choose. Nothing of a GPU is
 * opened or loaded. */
#include "cli/doctor.h"

#include <dirent.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086, VENDOR_NVIDIA = 0x10de };
enum { CLASS_DISPLAY = 0x03, CLASS_ACCELERATOR = 0x12 }; /* PCI Code and ID Assignment: the base class */

/* ---- small files ------------------------------------------------------------------------- */

static char *below_root(const struct bl_cli_machine *machine, const char *path)
{
    return bl_arena_printf(machine->arena, "%s%s", machine->root, path);
}

/* A file's text, at most 1 MiB; "" where there is none. Files of /proc and /sys tell no size. */
static struct bl_sv read_text(const struct bl_cli_machine *machine, const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(below_root(machine, path), "re");
    struct bl_buffer text = {0};
    char block[4096];
    size_t got;
    while (file && text.size < MOST && (got = fread(block, 1, sizeof(block), file)) > 0)
        bl_buffer_add(&text, block, got);
    if (file)
        fclose(file);
    struct bl_sv view = {text.size ? bl_arena_copy(machine->arena, text.data, text.size) : "", text.size};
    bl_buffer_cleanup(&text);
    return view;
}

static bool next_line(struct bl_sv *text, struct bl_sv *line)
{
    if (!text->size)
        return false;
    const char *end = memchr(text->data, '\n', text->size);
    size_t size = end ? (size_t)(end - text->data) : text->size;
    *line = (struct bl_sv){text->data, size};
    size_t used = BL_MIN(size + 1, text->size);
    *text = (struct bl_sv){text->data + used, text->size - used};
    return true;
}

/* What follows name and a separator (":", "=" or space) on the line that starts with it, without space and quotes around. */
static struct bl_sv field(struct bl_sv text, const char *name)
{
    struct bl_sv line;
    while (next_line(&text, &line)) {
        size_t at = strlen(name);
        if (!bl_sv_starts(line, name) || at >= line.size || !strchr(" \t:=", line.data[at]))
            continue;
        while (at < line.size && strchr(" \t:=\"", line.data[at]))
            at++;
        while (line.size > at && strchr(" \t\"\r", line.data[line.size - 1]))
            line.size--;
        return (struct bl_sv){line.data + at, line.size - at};
    }
    return (struct bl_sv){"", 0};
}

static uint64_t number(struct bl_cli_machine *machine, struct bl_sv text, int base)
{
    return strtoull(bl_sv_copy(machine->arena, text), NULL, base);
}

static const char *or_null(struct bl_cli_machine *machine, struct bl_sv text)
{
    return text.size ? bl_sv_copy(machine->arena, text) : NULL;
}

/* ---- system and CPU ---------------------------------------------------------------------- */

static bool has_word(struct bl_sv text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text.data, *end = at + text.size; (at = memmem(at, (size_t)(end - at), word, length)); at++) {
        bool starts = at == text.data || at[-1] == ' ', ends = at + length == end || at[length] == ' ';
        if (starts && ends)
            return true;
    }
    return false;
}

static void read_system(struct bl_cli_machine *machine)
{
    struct bl_sv release = read_text(machine, "/etc/os-release");
    struct bl_sv id = field(release, "ID"), like = field(release, "ID_LIKE");
    struct passwd *user = getpwuid(geteuid());
    machine->system_name = or_null(machine, field(release, "PRETTY_NAME"));
    machine->user = bl_arena_printf(machine->arena, "%s", user ? user->pw_name : "$USER");
    if (bl_sv_is(id, "debian") || bl_sv_is(id, "ubuntu") || has_word(like, "debian") || has_word(like, "ubuntu"))
        machine->family = BL_CLI_DEBIAN;
    else if (bl_sv_is(id, "fedora") || bl_sv_is(id, "rhel") || has_word(like, "fedora") || has_word(like, "rhel"))
        machine->family = BL_CLI_FEDORA;
    else
        machine->family = BL_CLI_OTHER_SYSTEM;
}

/* The best of the vector extensions that the code generator makes use of. */
static const char *best_simd(struct bl_sv flags)
{
    static const struct {
        const char *flag, *name;
    } known[] = {{"avx512f", "AVX-512"}, {"avx2", "AVX2"}, {"avx", "AVX"},   {"sse4_2", "SSE4.2"},
                 {"sse2", "SSE2"},       {"sve", "SVE"},   {"asimd", "NEON"}};
    for (size_t i = 0; i < BL_LEN(known); i++)
        if (has_word(flags, known[i].flag))
            return known[i].name;
    return NULL;
}

static uint32_t count_processors(struct bl_sv cpuinfo)
{
    struct bl_sv line;
    uint32_t count = 0;
    while (next_line(&cpuinfo, &line))
        count += bl_sv_starts(line, "processor");
    return count;
}

static void read_cpu(struct bl_cli_machine *machine)
{
    struct bl_sv cpuinfo = read_text(machine, "/proc/cpuinfo"), memory = read_text(machine, "/proc/meminfo");
    struct bl_sv flags = field(cpuinfo, "flags");
    cpu_set_t set;
    machine->cpu_model = or_null(machine, field(cpuinfo, "model name"));
    machine->simd = best_simd(flags.size ? flags : field(cpuinfo, "Features"));
    machine->threads = count_processors(cpuinfo);
    if (!machine->root[0] && sched_getaffinity(0, sizeof(set), &set) == 0)
        machine->threads = (uint32_t)CPU_COUNT(&set);
    machine->memory = number(machine, field(memory, "MemTotal"), 10) * 1024;
    machine->memory_free = number(machine, field(memory, "MemAvailable"), 10) * 1024;
}

static const char *cache_folder(struct bl_cli_machine *machine)
{
    const char *off = getenv("BAILEY_CACHE"), *own = getenv("BAILEY_CACHE_DIR");
    const char *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (off && !strcmp(off, "0"))
        return NULL;
    if (own && *own)
        return own;
    if (shared && *shared == '/')
        return bl_arena_printf(machine->arena, "%s/bailey", shared);
    return home && *home == '/' ? bl_arena_printf(machine->arena, "%s/.cache/bailey", home) : NULL;
}

/* A folder that is not there yet can be made where the nearest one above can be written. */
static const char *folder_state(struct bl_cli_machine *machine, const char *folder)
{
    char *path = bl_arena_printf(machine->arena, "%s", folder);
    if (access(path, F_OK) == 0)
        return access(path, W_OK | X_OK) == 0 ? "ready" : "not writable";
    for (char *slash; (slash = strrchr(path, '/')) && slash > path;) {
        *slash = 0;
        if (access(path, F_OK) == 0)
            return access(path, W_OK | X_OK) == 0 ? "made when needed" : "can't be made";
    }
    return access("/", W_OK) == 0 ? "made when needed" : "can't be made";
}

static void read_own_files(struct bl_cli_machine *machine)
{
    const char *named = getenv("BAILEY_CC");
    char *helper = bl_cli_path("libexec/bailey/bailey-cc"), *library = bl_cli_path("lib/bailey/libcuda.so.1");
    machine->helper = bl_arena_printf(machine->arena, "%s", named && *named ? named : helper ? helper : "?");
    machine->driver_library = bl_arena_printf(machine->arena, "%s", library ? library : "?");
    machine->helper_found = access(machine->helper, X_OK) == 0;
    machine->driver_library_found = access(machine->driver_library, R_OK) == 0;
    bl_free(helper);
    bl_free(library);
    machine->cache = cache_folder(machine);
    machine->cache_state = machine->cache ? folder_state(machine, machine->cache) : "off";
}

/* ---- groups and special files ------------------------------------------------------------ */

static bool in_group(gid_t group)
{
    gid_t groups[NGROUPS_MAX];
    int count = getgroups(NGROUPS_MAX, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return getegid() == group;
}

static struct bl_sv cut(struct bl_sv *text, char separator)
{
    const char *end = memchr(text->data, separator, text->size);
    size_t size = end ? (size_t)(end - text->data) : text->size;
    struct bl_sv part = {text->data, size};
    size_t used = BL_MIN(size + 1, text->size);
    *text = (struct bl_sv){text->data + used, text->size - used};
    return part;
}

/* A line of /etc/group: name:password:number:user,user */
static struct bl_cli_group read_group(struct bl_cli_machine *machine, const char *name)
{
    struct bl_cli_group group = {.name = name};
    struct bl_sv text = read_text(machine, "/etc/group"), line;
    while (next_line(&text, &line)) {
        if (!bl_sv_is(cut(&line, ':'), name))
            continue;
        cut(&line, ':');
        group.exists = true;
        group.member = in_group((gid_t)number(machine, cut(&line, ':'), 10));
        while (line.size)
            group.listed |= bl_sv_is(cut(&line, ','), machine->user);
    }
    return group;
}

static const char *group_name(struct bl_cli_machine *machine, gid_t gid)
{
    struct bl_sv text = read_text(machine, "/etc/group"), line;
    while (next_line(&text, &line)) {
        struct bl_sv name = cut(&line, ':');
        cut(&line, ':');
        if (number(machine, cut(&line, ':'), 10) == gid)
            return bl_sv_copy(machine->arena, name);
    }
    return NULL;
}

static struct bl_cli_node read_node(struct bl_cli_machine *machine, const char *path)
{
    struct bl_cli_node node = {.path = path};
    struct stat info;
    if (stat(below_root(machine, path), &info) != 0)
        return node;
    node.exists = true;
    node.accessible = access(below_root(machine, path), R_OK | W_OK) == 0;
    node.group = group_name(machine, info.st_gid);
    return node;
}

/* ---- GPUs -------------------------------------------------------------------------------- */

static const char *link_name(struct bl_cli_machine *machine, const char *path)
{
    char target[PATH_MAX];
    ssize_t size = readlink(below_root(machine, path), target, sizeof(target) - 1);
    if (size <= 0)
        return NULL;
    target[size] = 0;
    char *slash = strrchr(target, '/');
    return bl_arena_printf(machine->arena, "%s", slash ? slash + 1 : target);
}

static const char *find_render_node(struct bl_cli_machine *machine, const char *device)
{
    const char *folder = bl_arena_printf(machine->arena, "%s/drm", device), *found = NULL;
    DIR *list = opendir(below_root(machine, folder));
    struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (!strncmp(entry->d_name, "renderD", 7))
            found = bl_arena_printf(machine->arena, "/dev/dri/%s", entry->d_name);
    if (list)
        closedir(list);
    return found;
}

static void read_pci_device(struct bl_cli_machine *machine, const char *name)
{
    struct bl_cli_gpu gpu = {.address = bl_arena_printf(machine->arena, "%s", name)};
    const char *folder = bl_arena_printf(machine->arena, "/sys/bus/pci/devices/%s", name);
    uint64_t class = number(machine, read_text(machine, bl_arena_printf(machine->arena, "%s/class", folder)), 16) >> 16;
    gpu.pci_vendor = (uint32_t)number(machine, read_text(machine, bl_arena_printf(machine->arena, "%s/vendor", folder)), 16);
    gpu.pci_device = (uint32_t)number(machine, read_text(machine, bl_arena_printf(machine->arena, "%s/device", folder)), 16);
    if (class != CLASS_DISPLAY && class != CLASS_ACCELERATOR)
        return;
    if (sscanf(name, "%x:%x:%x.%x", &gpu.domain, &gpu.bus, &gpu.device, &gpu.function) != 4)
        return;
    if (gpu.pci_vendor == VENDOR_AMD)
        gpu.vendor = BL_CLI_AMD;
    else if (gpu.pci_vendor == VENDOR_INTEL && class == CLASS_DISPLAY)
        gpu.vendor = BL_CLI_INTEL;
    else if (gpu.pci_vendor == VENDOR_NVIDIA)
        gpu.vendor = BL_CLI_NVIDIA;
    else
        return;
    gpu.driver = link_name(machine, bl_arena_printf(machine->arena, "%s/driver", folder));
    const char *render = find_render_node(machine, folder);
    if (render)
        gpu.render = read_node(machine, render);
    *BL_PUSH(machine->arena, &machine->gpus) = gpu;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void read_pci(struct bl_cli_machine *machine)
{
    BL_ARRAY(const char *) names = {0};
    DIR *list = opendir(below_root(machine, "/sys/bus/pci/devices"));
    struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (entry->d_name[0] != '.')
            *BL_PUSH(machine->arena, &names) = bl_arena_printf(machine->arena, "%s", entry->d_name);
    if (list)
        closedir(list);
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), by_name);
    for (uint32_t i = 0; i < names.count; i++)
        read_pci_device(machine, names.items[i]);
}

/* A node of the kernel's compute topology tells the architecture: 90010 is gfx90a, 110000 gfx1100; and the PCI place, as
 * bus << 8 | device << 3 | function. */
static void read_topology_node(struct bl_cli_machine *machine, struct bl_sv properties)
{
    uint32_t version = (uint32_t)number(machine, field(properties, "gfx_target_version"), 10);
    uint32_t place = (uint32_t)number(machine, field(properties, "location_id"), 10);
    uint32_t domain = (uint32_t)number(machine, field(properties, "domain"), 10);
    if (!version)
        return; /* a CPU */
    for (uint32_t i = 0; i < machine->gpus.count; i++) {
        struct bl_cli_gpu *gpu = &machine->gpus.items[i];
        if (gpu->vendor == BL_CLI_AMD && gpu->domain == domain && (gpu->bus << 8 | gpu->device << 3 | gpu->function) == place)
            gpu->architecture = bl_arena_printf(machine->arena, "gfx%u%x%x", version / 10000, version / 100 % 100, version % 100);
    }
}

static void read_topology(struct bl_cli_machine *machine)
{
    const char *folder = "/sys/class/kfd/kfd/topology/nodes";
    DIR *list = opendir(below_root(machine, folder));
    struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (entry->d_name[0] != '.')
            read_topology_node(machine,
                               read_text(machine, bl_arena_printf(machine->arena, "%s/%s/properties", folder, entry->d_name)));
    if (list)
        closedir(list);
}

/* ---- libraries --------------------------------------------------------------------------- */

static const char *const library_folders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/rocm/lib",
    "/opt/rocm/lib64",
    "/opt/rocm-*/lib",
};

/* The first match of a pattern, its path below the root; NULL where there is none. */
static const char *first_match(struct bl_cli_machine *machine, const char *pattern)
{
    glob_t found;
    const char *match = NULL;
    if (glob(below_root(machine, pattern), 0, NULL, &found) == 0 && found.gl_pathc)
        match = bl_arena_printf(machine->arena, "%s", found.gl_pathv[0] + strlen(machine->root));
    globfree(&found);
    return match;
}

static const char *find_library(struct bl_cli_machine *machine, const char *name)
{
    for (size_t i = 0; i < BL_LEN(library_folders); i++) {
        const char *match = first_match(machine, bl_arena_printf(machine->arena, "%s/%s", library_folders[i], name));
        if (match)
            return match;
    }
    return NULL;
}

/* ROCm's own version file, else what the library's whole name says: libamdhip64.so.5.2.50203. */
static const char *rocm_version(struct bl_cli_machine *machine)
{
    struct bl_sv text = read_text(machine, "/opt/rocm/.info/version"), line;
    char real[PATH_MAX];
    if (next_line(&text, &line) && line.size)
        return bl_sv_copy(machine->arena, line);
    if (!machine->hip_library || !realpath(below_root(machine, machine->hip_library), real))
        return NULL;
    const char *number_at = strstr(real, ".so.");
    return number_at ? bl_arena_printf(machine->arena, "%s", number_at + 4) : NULL;
}

static void read_vulkan(struct bl_cli_machine *machine)
{
    static const char *const folders[] = {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"};
    machine->vulkan_loader = find_library(machine, "libvulkan.so.1");
    for (size_t i = 0; i < BL_LEN(folders); i++) {
        glob_t found;
        if (glob(bl_arena_printf(machine->arena, "%s%s/*.json", machine->root, folders[i]), 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++)
                *BL_PUSH(machine->arena, &machine->vulkan_drivers) =
                    bl_arena_printf(machine->arena, "%s", found.gl_pathv[k] + strlen(machine->root));
        globfree(&found);
    }
}

void bl_cli_machine_read(struct bl_cli_machine *machine)
{
    read_system(machine);
    read_cpu(machine);
    read_own_files(machine);
    read_pci(machine);
    read_topology(machine);
    machine->kfd = read_node(machine, "/dev/kfd");
    machine->render_group = read_group(machine, "render");
    machine->video_group = read_group(machine, "video");
    machine->hip_library = find_library(machine, "libamdhip64.so*");
    machine->rocm_version = rocm_version(machine);
    read_vulkan(machine);
}

bool bl_cli_machine_has(const struct bl_cli_machine *machine, enum bl_cli_vendor vendor)
{
    for (uint32_t i = 0; i < machine->gpus.count; i++)
        if (machine->gpus.items[i].vendor == vendor)
            return true;
    return false;
}
