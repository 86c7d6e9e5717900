/* Compiled kernels on disk. Called by module.c, from any thread; other processes use the same folder at the same time.
 *
 * An entry is a file named by the key's 32 hex digits: a header with the key again and a checksum, then the packed answer of
 * bailey-cc. It is written to a temporary name and renamed, so that a reader sees a whole entry or none. A damaged entry is
 * removed and counts as missing. The modification time is the time of the last use, and the entries longest unused go first when
 * the folder grows past its limit.
 *
 * BAILEY_CACHE=0 turns it off. BAILEY_CACHE_DIR, else $XDG_CACHE_HOME/bailey, else ~/.cache/bailey is the folder;
 * BAILEY_CACHE_SIZE its limit in bytes (K, M, G may follow). */
#include "target/cpu/load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
    NAME_SIZE = 32,       /* hex digits of a key */
    SCAN_ONE_IN = 32,     /* of writes, as long as the process has not learned how large the folder is */
    FRESH_SECONDS = 3600, /* a use is written down when the last one was this long ago; temporary files live as long */
};
static const uint64_t usual_limit = (uint64_t)1 << 30;
#define UNKNOWN_SIZE UINT64_MAX

struct header {
    char magic[8];
    uint64_t key[2];
    uint64_t size;     /* of what follows */
    uint64_t checksum; /* bl_hash of what follows, with the key's low half as seed */
};
static const char magic[8] = {'B', 'L', 'C', 'A', 'C', 'H', 'E', '1'};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t folder_size = UNKNOWN_SIZE; /* an estimate: as last scanned, and what this process added since */

/* ---- where ------------------------------------------------------------------------------------ */

static bool fits(int written, size_t size)
{
    return written > 0 && (size_t)written < size;
}

bool bl_cpu_cache_folder(char *path, size_t size)
{
    const char *off = getenv("BAILEY_CACHE"), *own = getenv("BAILEY_CACHE_DIR");
    const char *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (off && strcmp(off, "0") == 0)
        return false;
    if (own && *own)
        return fits(snprintf(path, size, "%s", own), size);
    if (shared && shared[0] == '/')
        return fits(snprintf(path, size, "%s/bailey", shared), size);
    return home && home[0] == '/' && fits(snprintf(path, size, "%s/.cache/bailey", home), size);
}

/* The path of an entry; room for PATH_MAX bytes. */
static bool entry_path(struct bl_cpu_cache_key key, char *path)
{
    size_t used;

    if (!bl_cpu_cache_folder(path, PATH_MAX - NAME_SIZE - 2))
        return false;
    used = strlen(path);
    snprintf(path + used, PATH_MAX - used, "/%016llx%016llx", (unsigned long long)key.high, (unsigned long long)key.low);
    return true;
}

/* The folder and those above it; only the last answer counts. */
static bool make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static uint64_t size_limit(void)
{
    const char *text = getenv("BAILEY_CACHE_SIZE");
    char *end;
    uint64_t size;
    unsigned shift = 0;

    if (!text || !*text)
        return usual_limit;
    size = strtoull(text, &end, 10);
    if (*end == 'K' || *end == 'k')
        shift = 10;
    else if (*end == 'M' || *end == 'm')
        shift = 20;
    else if (*end == 'G' || *end == 'g')
        shift = 30;
    if (end == text || text[0] == '-' || end[shift != 0] || size > UINT64_MAX >> shift) {
        bl_error_log("BAILEY_CACHE_SIZE=%s: expected a number of bytes, or one with K, M or G; 1G is used", text);
        return usual_limit;
    }
    return size << shift;
}

/* ---- the key ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* What CPUID says of the model and its instruction sets; the bits that differ from core to core are left out. */
static void hash_processor(XXH3_state_t *state)
{
    static const struct {
        unsigned leaf, subleaf;
        bool registers[4]; /* which of eax to edx */
    } parts[] = {
        {0, 0, {false, true, true, true}}, /* vendor */
        {1, 0, {true, false, true, true}}, /* ebx holds the core's number */
        {7, 0, {false, true, true, true}},          {7, 1, {true, true, true, true}},       {0xd, 1, {true, false, false, false}},
        {0x80000001, 0, {false, true, true, true}}, {0x24, 0, {false, true, false, false}},
    };

    const unsigned os_saves = 1u << 27; /* leaf 1, ecx */
    for (size_t i = 0; i < BL_LEN(parts); i++) {
        unsigned values[4] = {0};
        __get_cpuid_count(parts[i].leaf, parts[i].subleaf, &values[0], &values[1], &values[2], &values[3]);
        for (int k = 0; k < 4; k++)
            if (parts[i].registers[k])
                XXH3_128bits_update(state, &values[k], sizeof(values[k]));
        if (parts[i].leaf == 1 && values[2] & os_saves) {
            unsigned enabled[2]; /* which registers the system saves: without them there is no AVX */
            __asm__ volatile("xgetbv" : "=a"(enabled[0]), "=d"(enabled[1]) : "c"(0));
            XXH3_128bits_update(state, enabled, sizeof(enabled));
        }
    }
}
#else
static void hash_processor(XXH3_state_t *state)
{
    unsigned long values[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    char *text;
    size_t size;

    XXH3_128bits_update(state, values, sizeof(values));
    if (bl_file_read("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", &text, &size, NULL) == BL_OK) {
        XXH3_128bits_update(state, text, size);
        bl_free(text);
    }
}
#endif

static XXH128_hash_t processor;

static void find_processor(void)
{
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    hash_processor(&state);
    processor = XXH3_128bits_digest(&state);
}

static void hash_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text ? text : "", strlen(text ? text : "") + 1);
}

/* Which bailey-cc would compile, without running it: a build that differs has another size or time. */
static void hash_compiler(XXH3_state_t *state)
{
    struct stat info;
    int64_t numbers[3] = {0};

    if (bl_cpu_client_stat(&info)) {
        numbers[0] = info.st_size;
        numbers[1] = info.st_mtim.tv_sec;
        numbers[2] = info.st_mtim.tv_nsec;
    }
    XXH3_128bits_update(state, numbers, sizeof(numbers));
}

struct bl_cpu_cache_key bl_cpu_cache_make_key(const struct bl_cpu_request *request)
{
    uint64_t numbers[] = {BL_CPU_ABI, request->cta_shape, request->fast_math, request->optimize, request->emit, request->ptx.size};
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* a virtual machine takes its time for CPUID */
    XXH3_state_t state;
    XXH128_hash_t hash;

    pthread_once(&once, find_processor);
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    hash_text(&state, BAILEY_VERSION);
    hash_compiler(&state);
    if (!request->cpu || !*request->cpu)
        XXH3_128bits_update(&state, &processor, sizeof(processor));
    hash_text(&state, request->cpu);
    hash_text(&state, request->features);
    hash_text(&state, request->kernel);
    XXH3_128bits_update(&state, numbers, sizeof(numbers));
    XXH3_128bits_update(&state, request->ptx.data, request->ptx.size);
    hash = XXH3_128bits_digest(&state);
    return (struct bl_cpu_cache_key){hash.low64, hash.high64};
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool whole(struct bl_cpu_cache_key key, const char *data, size_t size)
{
    struct header header;

    if (size < sizeof(header))
        return false;
    memcpy(&header, data, sizeof(header));
    return memcmp(header.magic, magic, sizeof(magic)) == 0 && header.key[0] == key.low && header.key[1] == key.high &&
           header.size == size - sizeof(header) && header.checksum == bl_hash(data + sizeof(header), header.size, key.low);
}

static void note_use(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && time(NULL) - info.st_mtim.tv_sec > FRESH_SECONDS)
        utimensat(AT_FDCWD, path, NULL, 0); /* in a folder that is read-only nothing is lost */
}

bool bl_cpu_cache_read(struct bl_cpu_cache_key key, char **bytes, size_t *size)
{
    char path[PATH_MAX], *data;
    size_t all;

    if (!entry_path(key, path) || bl_file_read(path, &data, &all, NULL) != BL_OK)
        return false;
    if (!whole(key, data, all)) {
        bl_info("%s: a damaged cache entry; compiling anew", path);
        unlink(path);
        bl_free(data);
        return false;
    }
    note_use(path);
    *size = all - sizeof(struct header);
    memmove(data, data + sizeof(struct header), *size);
    *bytes = data;
    return true;
}

void bl_cpu_cache_remove(struct bl_cpu_cache_key key)
{
    char path[PATH_MAX];

    if (entry_path(key, path))
        unlink(path);
}

/* ---- keeping it small ------------------------------------------------------------------------- */

struct old_entry {
    char name[NAME_SIZE + 1];
    uint64_t size;
    struct timespec used;
};

static int by_age(const void *a, const void *b)
{
    const struct old_entry *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Only what has an entry's name, or an entry's and a suffix, is ever removed: the folder may be shared with other things. */
static bool is_ours(const char *name, bool *temporary)
{
    *temporary = strspn(name, "0123456789abcdef") == NAME_SIZE && name[NAME_SIZE] == '.';
    return *temporary || (strspn(name, "0123456789abcdef") == NAME_SIZE && !name[NAME_SIZE]);
}

/* Lists the entries; removes what a killed writer left behind. False: memory ran out. */
static bool list_entries(DIR *folder, struct old_entry **entries, size_t *count)
{
    size_t capacity = 0;
    struct dirent *item;

    *entries = NULL;
    *count = 0;
    while ((item = readdir(folder))) {
        bool temporary;
        struct stat info;
        if (!is_ours(item->d_name, &temporary) || fstatat(dirfd(folder), item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (temporary) {
            if (time(NULL) - info.st_mtim.tv_sec > FRESH_SECONDS)
                unlinkat(dirfd(folder), item->d_name, 0);
            continue;
        }
        if (*count == capacity) {
            size_t more = capacity ? capacity * 2 : 256;
            struct old_entry *larger = bl_realloc(*entries, more * sizeof(*larger));
            if (!larger)
                return false;
            *entries = larger;
            capacity = more;
        }
        memcpy((*entries)[*count].name, item->d_name, NAME_SIZE + 1);
        (*entries)[*count].size = (uint64_t)info.st_size;
        (*entries)[(*count)++].used = info.st_mtim;
    }
    return true;
}

/* Removes the entries longest unused until three quarters of the limit are left; returns the size then. */
static uint64_t trim(const char *path, uint64_t limit)
{
    DIR *folder = opendir(path);
    struct old_entry *entries;
    size_t count;
    uint64_t size = 0;

    if (!folder)
        return UNKNOWN_SIZE;
    if (!list_entries(folder, &entries, &count))
        count = 0;
    for (size_t i = 0; i < count; i++)
        size += entries[i].size;
    if (size > limit)
        qsort(entries, count, sizeof(*entries), by_age);
    for (size_t i = 0, goal = size > limit ? limit / 4 * 3 : limit; i < count && size > goal; i++) {
        unlinkat(dirfd(folder), entries[i].name, 0);
        size -= entries[i].size;
    }
    bl_free(entries);
    closedir(folder);
    return size;
}

/* After an entry of so many bytes was written. */
static void keep_small(struct bl_cpu_cache_key key, const char *path, uint64_t added)
{
    uint64_t limit = size_limit();

    pthread_mutex_lock(&lock);
    if (folder_size == UNKNOWN_SIZE ? key.low % SCAN_ONE_IN == 0 : folder_size + added > limit)
        folder_size = trim(path, limit);
    else if (folder_size != UNKNOWN_SIZE)
        folder_size += added;
    pthread_mutex_unlock(&lock);
}

/* ---- writing ---------------------------------------------------------------------------------- */

void bl_cpu_cache_write(struct bl_cpu_cache_key key, struct bl_sv bytes)
{
    struct header header = {.key = {key.low, key.high}, .size = bytes.size};
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer entry = {0};
    char folder[PATH_MAX], path[PATH_MAX];

    if (!entry_path(key, path) || bytes.size + sizeof(header) > size_limit())
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strlen(path) - NAME_SIZE - 1), path);
    memcpy(header.magic, magic, sizeof(magic));
    header.checksum = bl_hash(bytes.data, bytes.size, key.low);
    bl_buffer_add(&entry, &header, sizeof(header));
    bl_buffer_add(&entry, bytes.data, bytes.size);
    if (entry.failed)
        bl_info("cache: out of memory; an entry is not kept");
    else if (!make_folder(folder))
        bl_info("cache: %s: %s; nothing is kept", folder, strerror(errno));
    else if (bl_file_write(path, entry.data, entry.size, &error) != BL_OK)
        bl_info("cache: %s; the entry is not kept", error.message);
    else
        keep_small(key, folder, entry.size);
    bl_buffer_cleanup(&entry);
}
