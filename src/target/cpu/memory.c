/* Memory of the CPU device: device, pinned and managed allocations and modules' variables, all of them ordinary memory of the
 * process. Called through bl_device_ops, by module.c, and (bl_cpu_memory_find) by the fault handler.
 *
 * Up to SMALL_MAX bytes come from slabs of one block size; larger ones are mappings of their own between guard pages. One
 * lock guards changes. Look-ups take none: the sorted table of regions stands under a sequence counter, and region records
 * are recycled but never freed before the device is. */
#include "target/cpu/load.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum {
    ALIGN = 256, /* what cudaMalloc promises at least */
    SMALL_MAX = 128 << 10,
    SLAB_SIZE = 1 << 20,
    HUGE_PAGE = 2 << 20,
    CLASS_MAX = 24,
    KINDS = BL_ALLOC_MANAGED + 1,
    SPINS = 100, /* of a look-up that meets a writer, before it lets others run */
    RETRIES = 10000,
};
/* Freed mappings kept for the next allocation of their size, in bytes together, and the largest one kept. */
static const uint64_t kept_max = 256u << 20, kept_largest = 64u << 20;
/* From this size on, an allocation is held against what the machine has free now. */
static const uint64_t ask_system = 64u << 20;

/* A mapping: one large allocation, or a slab. Fields that look-ups read are atomic. */
struct region {
    _Atomic uint64_t base, size; /* size: as asked for; of a slab: all its blocks */
    _Atomic uint32_t block_size; /* 0: no slab */
    _Atomic uint32_t kind;
    bool internal; /* a module's: not for bl_cpu_free */
    uint64_t bytes;
    void *reserved; /* the mapping with its guards */
    size_t reserved_size;
    int file;                       /* that its memory is of, shared with other processes; 0: none, memory of this process */
    struct region *next, *previous; /* slab: list of those with a free block; else: of kept or unused records */
    /* slabs only */
    uint32_t class, count, used, hint; /* hint: no free block in words before it */
    _Atomic uint64_t *bits;            /* count bits, 1: in use */
    _Atomic uint32_t *sizes;           /* as asked for, by block */
};

struct entry {
    _Atomic uint64_t base;
    _Atomic(struct region *) region;
};

/* A table of regions by base. When it is full a larger one follows; the old one stays for readers that are still in it. */
struct table {
    struct table *older;
    uint32_t capacity;
    struct entry entries[];
};

struct bl_cpu_memory {
    pthread_mutex_t lock;
    uint64_t page; /* bytes of one */
    uint64_t total, used;
    const struct bl_device *device; /* whose shown_bytes follows used; NULL: none */
    uint64_t at_start; /* bytes that the machine had free when the device was made, or later if more: allocations' sum */
    uint32_t class_count, class_size[CLASS_MAX];
    struct region *partial[KINDS][CLASS_MAX];
    struct region *unused[CLASS_MAX + 1]; /* records to use again; the last list: of large ones */
    struct region *kept;                  /* freed mappings */
    uint64_t kept_bytes;
    _Atomic uint32_t sequence; /* odd while the table changes */
    _Atomic uint32_t count;
    _Atomic(struct table *) table;
};

/* ---- the table -------------------------------------------------------------------------------- */

/* Index of the first entry with a base above address. */
static uint32_t upper_bound(struct table *table, uint32_t count, uint64_t address)
{
    uint32_t low = 0, high = BL_MIN(count, table->capacity);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (atomic_load_explicit(&table->entries[middle].base, memory_order_relaxed) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool table_reserve(struct bl_cpu_memory *memory)
{
    struct table *table = atomic_load(&memory->table), *larger;
    uint32_t count = atomic_load(&memory->count);

    if (table && count < table->capacity)
        return true;
    uint32_t capacity = table ? table->capacity * 2 : 64;
    larger = bl_calloc(1, sizeof(*larger) + capacity * sizeof(struct entry));
    if (!larger)
        return false;
    larger->capacity = capacity;
    larger->older = table;
    for (uint32_t i = 0; i < count; i++) {
        atomic_init(&larger->entries[i].base, atomic_load(&table->entries[i].base));
        atomic_init(&larger->entries[i].region, atomic_load(&table->entries[i].region));
    }
    atomic_store(&memory->table, larger);
    return true;
}

static void write_begin(struct bl_cpu_memory *memory)
{
    atomic_fetch_add_explicit(&memory->sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void write_end(struct bl_cpu_memory *memory)
{
    atomic_fetch_add_explicit(&memory->sequence, 1, memory_order_release);
}

static void entry_move(struct entry *to, struct entry *from)
{
    atomic_store_explicit(&to->base, atomic_load_explicit(&from->base, memory_order_relaxed), memory_order_relaxed);
    atomic_store_explicit(&to->region, atomic_load_explicit(&from->region, memory_order_relaxed), memory_order_relaxed);
}

/* After table_reserve. */
static void table_add(struct bl_cpu_memory *memory, struct region *region)
{
    struct table *table = atomic_load(&memory->table);
    uint32_t count = atomic_load(&memory->count);
    uint32_t at = upper_bound(table, count, region->base);

    write_begin(memory);
    for (uint32_t i = count; i > at; i--)
        entry_move(&table->entries[i], &table->entries[i - 1]);
    atomic_store_explicit(&table->entries[at].base, region->base, memory_order_relaxed);
    atomic_store_explicit(&table->entries[at].region, region, memory_order_relaxed);
    atomic_store_explicit(&memory->count, count + 1, memory_order_relaxed);
    write_end(memory);
}

static void table_remove(struct bl_cpu_memory *memory, struct region *region)
{
    struct table *table = atomic_load(&memory->table);
    uint32_t count = atomic_load(&memory->count);
    uint32_t at = upper_bound(table, count, region->base) - 1;

    write_begin(memory);
    for (uint32_t i = at; i + 1 < count; i++)
        entry_move(&table->entries[i], &table->entries[i + 1]);
    atomic_store_explicit(&memory->count, count - 1, memory_order_relaxed);
    write_end(memory);
}

/* What a look-up found. */
struct place {
    struct region *region;
    uint64_t base, size;
    enum bl_alloc_kind kind;
};

/* The block of a slab that holds address, if it is in use and reaches that far. */
static bool block_at(struct region *slab, uint64_t slab_base, uint32_t block_size, uint64_t address, struct place *place)
{
    uint64_t block = (address - slab_base) / block_size;
    uint64_t word;

    if (block >= slab->count)
        return false;
    word = atomic_load_explicit(&slab->bits[block / 64], memory_order_acquire);
    place->base = slab_base + block * block_size;
    place->size = atomic_load_explicit(&slab->sizes[block], memory_order_relaxed);
    return (word >> (block % 64) & 1) && address - place->base < place->size;
}

static bool look_up(struct bl_cpu_memory *memory, uint64_t address, struct place *place)
{
    struct table *table = atomic_load_explicit(&memory->table, memory_order_acquire);
    uint32_t count = atomic_load_explicit(&memory->count, memory_order_relaxed);
    uint32_t at = table ? upper_bound(table, count, address) : 0;
    struct region *region;
    uint32_t block_size;

    if (at == 0)
        return false;
    region = atomic_load_explicit(&table->entries[at - 1].region, memory_order_relaxed);
    if (!region)
        return false;
    place->region = region;
    place->base = atomic_load_explicit(&region->base, memory_order_relaxed);
    place->size = atomic_load_explicit(&region->size, memory_order_relaxed);
    place->kind = (enum bl_alloc_kind)atomic_load_explicit(&region->kind, memory_order_relaxed);
    block_size = atomic_load_explicit(&region->block_size, memory_order_relaxed);
    if (address < place->base || address - place->base >= place->size)
        return false;
    return block_size == 0 || block_at(region, place->base, block_size, address, place);
}

enum answer { ABSENT, PRESENT, BUSY };

/* Takes no lock and allocates nothing: also for signal handlers. BUSY: a writer stands in the way for long, most likely one that
 * was interrupted. */
static enum answer find(struct bl_cpu_memory *memory, uint64_t address, struct place *place)
{
    for (int i = 0; i < RETRIES; i++) {
        uint32_t before = atomic_load_explicit(&memory->sequence, memory_order_acquire);
        bool found;
        if (before & 1) {
            if (i >= SPINS)
                sched_yield();
            continue;
        }
        found = look_up(memory, address, place);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&memory->sequence, memory_order_relaxed) == before)
            return found ? PRESENT : ABSENT;
    }
    return BUSY;
}

/* For ordinary threads: waits for the writer if need be. */
static bool find_surely(struct bl_cpu_memory *memory, uint64_t address, struct place *place)
{
    enum answer answer = find(memory, address, place);

    if (answer == BUSY) {
        pthread_mutex_lock(&memory->lock);
        answer = find(memory, address, place);
        pthread_mutex_unlock(&memory->lock);
    }
    return answer == PRESENT;
}

/* ---- mappings --------------------------------------------------------------------------------- */

/* Maps `bytes`, aligned, with at least one page on each side that faults. */
static bool map_guarded(struct region *region, uint64_t page, uint64_t bytes, uint64_t align)
{
    uint64_t slack = align > page ? align : 0;
    uint64_t whole;
    char *reserved;
    uint64_t base;

    if (__builtin_add_overflow(bytes, slack + 2 * page, &whole) || bl_fault_due("mmap"))
        return false;
    reserved = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return false;
    base = BL_ALIGN_UP((uint64_t)(uintptr_t)reserved + page, BL_MAX(align, page));
    if (mprotect((void *)(uintptr_t)base, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(reserved, whole);
        return false;
    }
    if (bytes >= HUGE_PAGE)
        madvise((void *)(uintptr_t)base, bytes, MADV_HUGEPAGE); /* only a wish */
    region->reserved = reserved;
    region->reserved_size = whole;
    region->bytes = bytes;
    atomic_store_explicit(&region->base, base, memory_order_relaxed);
    return true;
}

static void unmap(struct region *region)
{
    if (region->file)
        close(region->file);
    region->file = 0;
    munmap(region->reserved, region->reserved_size);
    region->reserved = NULL;
}

static void give_up_record(struct bl_cpu_memory *memory, struct region *region)
{
    uint32_t list = region->block_size ? region->class : CLASS_MAX;
    region->next = memory->unused[list];
    memory->unused[list] = region;
}

static struct region *reuse_record(struct bl_cpu_memory *memory, uint32_t list)
{
    struct region *region = memory->unused[list];
    if (region)
        memory->unused[list] = region->next;
    return region;
}

static void drop_kept(struct bl_cpu_memory *memory)
{
    while (memory->kept) {
        struct region *region = memory->kept;
        memory->kept = region->next;
        memory->kept_bytes -= region->bytes;
        unmap(region);
        give_up_record(memory, region);
    }
}

/* As map_guarded; when the system refuses, once more without the mappings that are only kept. */
static bool map_region(struct bl_cpu_memory *memory, struct region *region, uint64_t bytes, uint64_t align)
{
    if (map_guarded(region, memory->page, bytes, align))
        return true;
    if (!memory->kept)
        return false;
    drop_kept(memory);
    return map_guarded(region, memory->page, bytes, align);
}

/* ---- slabs ------------------------------------------------------------------------------------ */

static void list_add(struct region **list, struct region *slab)
{
    slab->previous = NULL;
    slab->next = *list;
    if (*list)
        (*list)->previous = slab;
    *list = slab;
}

static void list_remove(struct region **list, struct region *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        *list = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static struct region *slab_record(struct bl_cpu_memory *memory, uint32_t class)
{
    uint32_t count = SLAB_SIZE / memory->class_size[class];
    uint32_t words = (count + 63) / 64;
    struct region *slab = reuse_record(memory, class);

    if (slab)
        return slab;
    slab = bl_calloc(1, sizeof(*slab) + words * sizeof(uint64_t) + count * sizeof(uint32_t));
    if (!slab)
        return NULL;
    slab->bits = (_Atomic uint64_t *)(slab + 1);
    slab->sizes = (_Atomic uint32_t *)(slab->bits + words);
    slab->class = class;
    slab->count = count;
    atomic_init(&slab->block_size, memory->class_size[class]);
    atomic_init(&slab->size, (uint64_t)count * memory->class_size[class]);
    return slab;
}

static struct region *slab_create(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint32_t class)
{
    struct region *slab = table_reserve(memory) ? slab_record(memory, class) : NULL;

    if (!slab)
        return NULL;
    if (!map_region(memory, slab, SLAB_SIZE, SMALL_MAX)) {
        give_up_record(memory, slab);
        return NULL;
    }
    slab->used = slab->hint = 0;
    atomic_store_explicit(&slab->kind, kind, memory_order_relaxed);
    table_add(memory, slab);
    list_add(&memory->partial[kind][class], slab);
    return slab;
}

/* Takes a block of a slab that has a free one. */
static uint64_t slab_take(struct bl_cpu_memory *memory, struct region *slab, uint32_t size)
{
    uint32_t word = slab->hint, block;
    uint64_t bits;

    while ((bits = atomic_load_explicit(&slab->bits[word], memory_order_relaxed)) == UINT64_MAX)
        word++;
    block = word * 64 + (uint32_t)__builtin_ctzll(~bits);
    slab->hint = word;
    atomic_store_explicit(&slab->sizes[block], size, memory_order_relaxed);
    atomic_store_explicit(&slab->bits[word], bits | (uint64_t)1 << (block % 64), memory_order_release);
    if (++slab->used == slab->count)
        list_remove(&memory->partial[slab->kind][slab->class], slab);
    return slab->base + (uint64_t)block * slab->block_size;
}

static void slab_give_back(struct bl_cpu_memory *memory, struct region *slab, uint64_t address)
{
    uint32_t block = (uint32_t)((address - slab->base) / slab->block_size);
    uint64_t bit = (uint64_t)1 << (block % 64);
    struct region **list = &memory->partial[slab->kind][slab->class];

    atomic_store_explicit(&slab->bits[block / 64], slab->bits[block / 64] & ~bit, memory_order_release);
    slab->hint = BL_MIN(slab->hint, block / 64);
    memory->used -= slab->block_size;
    if (slab->used-- == slab->count)
        list_add(list, slab);
    /* The last slab of its class stays, so that a loop of one allocation makes no system calls. */
    if (slab->used > 0 || (*list == slab && !slab->next))
        return;
    list_remove(list, slab);
    table_remove(memory, slab);
    unmap(slab);
    give_up_record(memory, slab);
}

/* The smallest class for a size whose blocks all have the alignment; class_count: none. */
static uint32_t class_for(const struct bl_cpu_memory *memory, uint64_t size, uint64_t align)
{
    uint32_t units, class;

    if (size > SMALL_MAX || align > SMALL_MAX)
        return memory->class_count;
    /* Classes 2k-1 and 2k hold up to 1.5 and 2 times 2^k units; classes 0 and 1 one and two units. */
    units = (uint32_t)((size + ALIGN - 1) / ALIGN);
    if (units <= 2) {
        class = units - 1;
    } else {
        uint32_t power = 31 - (uint32_t)__builtin_clz(units - 1);
        class = 2 * power + (units > 3u << (power - 1));
    }
    while (class < memory->class_count && memory->class_size[class] & (align - 1))
        class ++;
    return class;
}

static void make_classes(struct bl_cpu_memory *memory)
{
    memory->class_size[memory->class_count++] = ALIGN;
    for (uint32_t size = 2 * ALIGN; size <= SMALL_MAX; size *= 2) {
        memory->class_size[memory->class_count++] = size;
        if (size < SMALL_MAX)
            memory->class_size[memory->class_count++] = size / 2 * 3;
    }
}

/* With the lock, after a change. */
static void show_used(const struct bl_cpu_memory *memory)
{
    if (memory->device && memory->device->shown_bytes)
        atomic_store_explicit(memory->device->shown_bytes, memory->used, memory_order_relaxed);
}

/* ---- allocation ------------------------------------------------------------------------------- */

static uint64_t take_small(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint64_t size, uint32_t class)
{
    struct region *slab = memory->partial[kind][class];

    if (!slab)
        slab = slab_create(memory, kind, class);
    if (!slab)
        return 0;
    memory->used += slab->block_size;
    return slab_take(memory, slab, (uint32_t)size);
}

/* A kept mapping of just this length, or NULL. */
static struct region *take_kept(struct bl_cpu_memory *memory, uint64_t bytes, uint64_t align)
{
    for (struct region **at = &memory->kept; *at; at = &(*at)->next) {
        struct region *region = *at;
        if (region->bytes != bytes || region->base & (align - 1))
            continue;
        *at = region->next;
        memory->kept_bytes -= bytes;
        return region;
    }
    return NULL;
}

static struct region *new_large(struct bl_cpu_memory *memory, uint64_t bytes, uint64_t align)
{
    struct region *region = reuse_record(memory, CLASS_MAX);

    if (!region)
        region = bl_calloc(1, sizeof(*region));
    if (!region)
        return NULL;
    if (map_region(memory, region, bytes, bytes >= HUGE_PAGE ? BL_MAX(align, (uint64_t)HUGE_PAGE) : align))
        return region;
    give_up_record(memory, region);
    return NULL;
}

static uint64_t take_large(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint64_t size, uint64_t align, bool internal)
{
    uint64_t bytes = BL_ALIGN_UP(size, memory->page);
    struct region *region;

    if (!table_reserve(memory))
        return 0;
    region = internal ? NULL : take_kept(memory, bytes, align); /* a kept one is not zeroed */
    if (!region)
        region = new_large(memory, bytes, align);
    if (!region)
        return 0;
    region->internal = internal;
    atomic_store_explicit(&region->size, size, memory_order_relaxed);
    atomic_store_explicit(&region->kind, kind, memory_order_relaxed);
    memory->used += bytes;
    table_add(memory, region);
    return region->base;
}

static void give_back_large(struct bl_cpu_memory *memory, struct region *region)
{
    memory->used -= region->bytes;
    table_remove(memory, region);
    if (!region->internal && !region->file && region->bytes <= kept_largest && memory->kept_bytes + region->bytes <= kept_max) {
        region->next = memory->kept;
        memory->kept = region;
        memory->kept_bytes += region->bytes;
        return;
    }
    unmap(region);
    give_up_record(memory, region);
}

/* Bytes that the machine can still give without swapping, by /proc/meminfo; UINT64_MAX where it can't be read. */
static uint64_t system_free(void)
{
    char text[1024];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *line;

    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return UINT64_MAX;
    text[size] = 0;
    line = strstr(text, "MemAvailable:");
    return line ? strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : UINT64_MAX;
}

/* Whether the machine can give so many bytes now. Most often memory that nobody uses at all says so at little cost. */
static bool system_has(uint64_t size)
{
    struct sysinfo info;

    return (sysinfo(&info) == 0 && size <= (uint64_t)info.freeram * info.mem_unit) || size <= system_free();
}

/* Bytes that this process has in memory and that are no file's. */
static uint64_t own_pages(void)
{
    unsigned long long all, resident, shared;
    FILE *file = fopen("/proc/self/statm", "re");
    bool known = file && fscanf(file, "%llu %llu %llu", &all, &resident, &shared) == 3 && resident >= shared;

    if (file)
        fclose(file);
    return known ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Other processes may have given memory back since the device was made. With the lock. */
static void measure_again(struct bl_cpu_memory *memory)
{
    uint64_t available = system_free(), own = own_pages();

    if (available <= UINT64_MAX - own)
        memory->at_start = BL_MAX(memory->at_start, BL_MIN(memory->total, available + own));
}

static enum bl_status out_of_memory(uint64_t size, uint64_t left, struct bl_error *error)
{
    return bl_fail(error, BL_NO_MEMORY, "allocation of %llu bytes: %llu of the device's memory are free", (unsigned long long)size,
                   (unsigned long long)left);
}

/* Bytes that may still be given out. With the lock. */
static uint64_t left_for(struct bl_cpu_memory *memory, uint64_t size)
{
    if (size > memory->at_start - BL_MIN(memory->at_start, memory->used))
        measure_again(memory);
    return memory->at_start - BL_MIN(memory->at_start, memory->used);
}

static enum bl_status take(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint64_t size, uint64_t align, bool internal,
                           uint64_t *address, struct bl_error *error)
{
    uint64_t left, taken = 0;
    uint32_t class;

    if (size == 0 || align & (align - 1) || (unsigned)kind >= KINDS)
        return bl_fail(error, BL_INVALID, "allocation of %llu bytes aligned to %llu", (unsigned long long)size,
                       (unsigned long long)align);
    align = BL_MAX(align, (uint64_t)ALIGN);
    if (size >= ask_system && !system_has(size))
        return out_of_memory(size, system_free(), error);
    class = internal ? memory->class_count : class_for(memory, size, align);
    pthread_mutex_lock(&memory->lock);
    left = left_for(memory, size);
    if (size <= left)
        taken =
            class < memory->class_count ? take_small(memory, kind, size, class) : take_large(memory, kind, size, align, internal);
    show_used(memory);
    pthread_mutex_unlock(&memory->lock);
    if (!taken)
        return out_of_memory(size, left, error);
    *address = taken;
    return BL_OK;
}

static enum bl_status give_back(struct bl_cpu_memory *memory, uint64_t address, bool internal)
{
    enum bl_status status = BL_INVALID;
    struct place place;

    pthread_mutex_lock(&memory->lock);
    if (find(memory, address, &place) == PRESENT && place.base == address && place.region->internal == internal) {
        status = BL_OK;
        if (place.region->block_size)
            slab_give_back(memory, place.region, address);
        else
            give_back_large(memory, place.region);
        show_used(memory);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

/* ---- what others call ------------------------------------------------------------------------- */

enum bl_status bl_cpu_memory_create(uint64_t total, struct bl_cpu_memory **result, struct bl_error *error)
{
    struct bl_cpu_memory *memory = bl_calloc(1, sizeof(*memory));
    uint64_t available = system_free();

    if (!memory)
        return bl_fail(error, BL_NO_MEMORY, "out of memory");
    pthread_mutex_init(&memory->lock, NULL);
    memory->page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory->total = total;
    memory->at_start = BL_MIN(total, available);
    make_classes(memory);
    *result = memory;
    return BL_OK;
}

void bl_cpu_memory_show(struct bl_cpu_memory *memory, const struct bl_device *device)
{
    memory->device = device;
}

void bl_cpu_memory_destroy(struct bl_cpu_memory *memory)
{
    struct table *table, *older;

    if (!memory)
        return;
    table = atomic_load(&memory->table);
    for (uint32_t i = 0; i < memory->count; i++) {
        struct region *region = table->entries[i].region;
        unmap(region);
        give_up_record(memory, region);
    }
    drop_kept(memory);
    for (uint32_t list = 0; list <= CLASS_MAX; list++) {
        struct region *region;
        while ((region = reuse_record(memory, list)))
            bl_free(region);
    }
    for (; table; table = older) {
        older = table->older;
        bl_free(table);
    }
    pthread_mutex_destroy(&memory->lock);
    bl_free(memory);
}

enum bl_status bl_cpu_memory_take(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint64_t size, uint64_t align,
                                  uint64_t *address, struct bl_error *error)
{
    return take(memory, kind, size, align, true, address, error);
}

void bl_cpu_memory_give_back(struct bl_cpu_memory *memory, uint64_t address)
{
    give_back(memory, address, true);
}

enum bl_status bl_cpu_memory_charge(struct bl_cpu_memory *memory, uint64_t size, struct bl_error *error)
{
    uint64_t left;

    if (size >= ask_system && !system_has(size))
        return out_of_memory(size, system_free(), error);
    pthread_mutex_lock(&memory->lock);
    left = left_for(memory, size);
    if (size <= left)
        memory->used += size;
    show_used(memory);
    pthread_mutex_unlock(&memory->lock);
    return size <= left ? BL_OK : out_of_memory(size, left, error);
}

void bl_cpu_memory_discharge(struct bl_cpu_memory *memory, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    memory->used -= size;
    show_used(memory);
    pthread_mutex_unlock(&memory->lock);
}

bool bl_cpu_memory_find(struct bl_cpu_device *device, uint64_t address, uint64_t *base, uint64_t *size)
{
    struct place place;

    if (find(device->memory, address, &place) != PRESENT)
        return false;
    *base = place.base;
    *size = place.size;
    return true;
}

enum bl_status bl_cpu_alloc(struct bl_device *device, enum bl_alloc_kind kind, uint64_t size, uint64_t align, uint64_t *address,
                            struct bl_error *error)
{
    return take(((struct bl_cpu_device *)device)->memory, kind, size, align, false, address, error);
}

enum bl_status bl_cpu_free(struct bl_device *device, uint64_t address)
{
    return give_back(((struct bl_cpu_device *)device)->memory, address, false);
}

enum bl_status bl_cpu_range(struct bl_device *device, uint64_t address, uint64_t *base, uint64_t *size, enum bl_alloc_kind *kind)
{
    struct place place;

    if (!find_surely(((struct bl_cpu_device *)device)->memory, address, &place))
        return BL_NOT_FOUND;
    *base = place.base;
    *size = place.size;
    *kind = place.kind;
    return BL_OK;
}

/* What is free goes down by what is allocated, as programs expect: so not what the system says now, since pages that were never
 * touched cost it nothing. */
void bl_cpu_memory_info(struct bl_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct bl_cpu_memory *memory = ((struct bl_cpu_device *)device)->memory;

    pthread_mutex_lock(&memory->lock);
    *free_bytes = memory->at_start - BL_MIN(memory->at_start, memory->used);
    *total_bytes = memory->total;
    pthread_mutex_unlock(&memory->lock);
}

/* ---- sharing with other processes ---------------------------------------------------------------- */

/* Copies pages that are not all zero, so that what was never touched stays without memory. */
static bool copy_pages(int file, const char *from, uint64_t bytes, uint64_t page)
{
    for (uint64_t at = 0; at < bytes; at += page) {
        bool zero = from[at] == 0 && memcmp(from + at, from + at + 1, page - 1) == 0;
        if (!zero && pwrite(file, from + at, page, (off_t)at) != (ssize_t)page)
            return false;
    }
    return true;
}

/* Puts a file in the place of a region's own memory. With the lock; nothing of the device runs. */
static bool replace_by_file(struct bl_cpu_memory *memory, struct region *region)
{
    void *base = (void *)(uintptr_t)region->base;
    int file = bl_cpu_memory_file(region->bytes);

    if (file < 0)
        return false;
    if (!copy_pages(file, base, region->bytes, memory->page) ||
        mmap(base, region->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        close(file);
        return false;
    }
    if (region->bytes >= HUGE_PAGE)
        madvise(base, region->bytes, MADV_HUGEPAGE);
    region->file = file;
    return true;
}

/* Memory becomes a file's only when it is shared: a file's pages are small ones on most systems, and cost more to get. */
enum bl_status bl_cpu_share(struct bl_device *base, uint64_t address, int *descriptor, uint64_t *start, struct bl_error *error)
{
    struct bl_cpu_device *device = (struct bl_cpu_device *)base;
    struct bl_cpu_memory *memory = device->memory;
    struct place place;
    enum bl_status status = BL_OK;

    if (!bl_cpu_quiet_begin(device))
        return bl_fail(error, BL_TIMEOUT, "memory cannot be shared while a kernel runs that does not end");
    pthread_mutex_lock(&memory->lock);
    if (find(memory, address, &place) != PRESENT || place.region->internal || place.kind != BL_ALLOC_DEVICE)
        status = bl_fail(error, BL_INVALID, "no device memory at 0x%llx", (unsigned long long)address);
    else if (!place.region->file && !replace_by_file(memory, place.region))
        status = bl_fail(error, BL_NO_MEMORY, "no memory to share %llu bytes", (unsigned long long)place.region->bytes);
    if (status == BL_OK) {
        *descriptor = place.region->file;
        *start = place.region->base;
    }
    pthread_mutex_unlock(&memory->lock);
    bl_cpu_quiet_end(device);
    return status;
}
