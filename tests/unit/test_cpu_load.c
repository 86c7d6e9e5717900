/* The half of the CPU device that gets code and memory in place: allocations, the loader, the cache, the helper process (a fake
 * one, see cpu/fake_bailey_cc.c), modules. Arguments: the fake's path, and paths of objects: good, undefined, one for AArch64 or
 * "".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/cpu/load.h"

static const char *fake_path, *good_path, *undefined_path, *arm_path;
static struct bl_cpu_device device;
static char scratch[] = "/tmp/bailey-load-XXXXXX";

static uint64_t random_state = 88172645463325252u;
static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * limit >> 32);
}

static int set_up(void **state)
{
    assert_non_null(mkdtemp(scratch));
    setenv("BAILEY_CACHE_DIR", scratch, 1);
    setenv("BAILEY_CC", fake_path, 1);
    setenv("FAKE_OBJECT", good_path, 1);
    device.base.props.max_threads_per_block = 1024;
    device.base.props.shared_per_block_optin = 227 << 10;
    device.base.props.compute_major = 9;
    return bl_cpu_memory_create((uint64_t)1 << 30, &device.memory, NULL);
}

static void empty_scratch(void)
{
    DIR *folder = opendir(scratch);
    struct dirent *item;

    while (folder && (item = readdir(folder)))
        unlinkat(dirfd(folder), item->d_name, 0);
    if (folder)
        closedir(folder);
}

static int tear_down(void **state)
{
    bl_cpu_client_stop();
    bl_cpu_memory_destroy(device.memory);
    empty_scratch();
    return rmdir(scratch);
}

/* ---- memory ----------------------------------------------------------------------------------- */

static uint64_t free_bytes(void)
{
    uint64_t available, total;
    bl_cpu_memory_info(&device.base, &available, &total);
    assert_int_equal(total, (uint64_t)1 << 30);
    return available;
}

static bool faults(uint64_t address)
{
    int pipe_ends[2];
    bool fault;

    /* write(2) reads the byte in the kernel: EFAULT rather than a signal */
    assert_int_equal(pipe(pipe_ends), 0);
    fault = write(pipe_ends[1], (void *)(uintptr_t)address, 1) < 0 && errno == EFAULT;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return fault;
}

static void allocations_are_found_and_end_at_a_guard(void **state)
{
    static const uint64_t sizes[] = {1, 255, 256, 257, 3000, 4096, 70000, 131072, 131073, 1 << 20, 5000000, 64 << 20};
    uint64_t before = free_bytes(), page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < BL_LEN(sizes); i++)
        for (int kind = 0; kind < 3; kind++) {
            uint64_t address, base, size;
            enum bl_alloc_kind found;
            assert_int_equal(bl_cpu_alloc(&device.base, kind, sizes[i], 0, &address, NULL), BL_OK);
            assert_int_equal(address % 256, 0);
            memset((void *)(uintptr_t)address, 0xa5, sizes[i]);
            assert_int_equal(bl_cpu_range(&device.base, address + sizes[i] - 1, &base, &size, &found), BL_OK);
            assert_int_equal(base, address);
            assert_int_equal(size, sizes[i]);
            assert_int_equal(found, kind);
            assert_int_equal(bl_cpu_range(&device.base, address + sizes[i], &base, &size, &found), BL_NOT_FOUND);
            assert_true(bl_cpu_memory_find(&device, address, &base, &size));
            if (sizes[i] > 131072)
                assert_true(faults(address - 1) && faults(address + BL_ALIGN_UP(sizes[i], page)));
            if (sizes[i] > 2 << 20)
                assert_int_equal(address % (2 << 20), 0);
            assert_int_equal(bl_cpu_free(&device.base, address + 1), BL_INVALID);
            assert_int_equal(bl_cpu_free(&device.base, address), BL_OK);
            assert_int_equal(bl_cpu_free(&device.base, address), BL_INVALID);
            assert_false(bl_cpu_memory_find(&device, address, &base, &size));
        }
    assert_int_equal(bl_cpu_free(&device.base, (uintptr_t)&before), BL_INVALID);
    assert_int_equal(bl_cpu_free(&device.base, 0), BL_INVALID);
    (void)state;
}

static void alignment_is_kept(void **state)
{
    for (uint64_t align = 1; align <= 4 << 20; align *= 2)
        for (uint64_t size = 1; size < 10000000; size = size * 7 + 3) {
            uint64_t first, second;
            assert_int_equal(bl_cpu_alloc(&device.base, BL_ALLOC_DEVICE, size, align, &first, NULL), BL_OK);
            assert_int_equal(bl_cpu_alloc(&device.base, BL_ALLOC_DEVICE, size, align, &second, NULL), BL_OK);
            assert_int_equal(first % align, 0);
            assert_int_equal(second % align, 0);
            assert_int_equal(bl_cpu_free(&device.base, first), BL_OK);
            assert_int_equal(bl_cpu_free(&device.base, second), BL_OK);
        }
    (void)state;
}

struct block {
    uint64_t address, size;
    uint8_t mark;
};

static void check_block(const struct block *block)
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)block->address;
    uint64_t base, size;
    enum bl_alloc_kind kind;

    assert_int_equal(bl_cpu_range(&device.base, block->address + block->size / 2, &base, &size, &kind), BL_OK);
    assert_int_equal(base, block->address);
    assert_int_equal(size, block->size);
    assert_int_equal(bytes[0], block->mark);
    assert_int_equal(bytes[block->size - 1], block->mark);
}

static void many_blocks_do_not_overlap(void **state)
{
    enum { BLOCKS = 3000 };
    static struct block blocks[BLOCKS];
    uint64_t used;
    struct bl_cpu_device other = {0};

    memset(blocks, 0, sizeof(blocks));
    for (int round = 0; round < 40000; round++) {
        struct block *block = &blocks[random_below(BLOCKS)];
        if (block->size) {
            check_block(block);
            assert_int_equal(bl_cpu_free(&device.base, block->address), BL_OK);
            block->size = 0;
            continue;
        }
        block->size = 1 + random_below(random_below(50) ? 2000 : 400000);
        block->mark = (uint8_t)round;
        assert_int_equal(bl_cpu_alloc(&device.base, random_below(3), block->size, 0, &block->address, NULL), BL_OK);
        memset((void *)(uintptr_t)block->address, block->mark, block->size);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].size) {
            check_block(&blocks[i]);
            assert_int_equal(bl_cpu_free(&device.base, blocks[i].address), BL_OK);
        }
    assert_int_equal(bl_cpu_memory_create(1 << 20, &other.memory, NULL), BL_OK);
    assert_int_equal(bl_cpu_alloc(&other.base, BL_ALLOC_DEVICE, 1, 0, &used, NULL), BL_OK);
    assert_int_equal(bl_cpu_free(&device.base, used), BL_INVALID);
    bl_cpu_memory_destroy(other.memory); /* with an allocation left in it */
    (void)state;
}

static void memory_runs_out_by_its_own_measure(void **state)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_device small = {0};
    uint64_t first, second, available, total;

    assert_int_equal(bl_cpu_memory_create(4 << 20, &small.memory, NULL), BL_OK);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, 0, 0, &first, NULL), BL_INVALID);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, 1, 3, &first, NULL), BL_INVALID);
    assert_int_equal(bl_cpu_alloc(&small.base, 17, 1, 0, &first, NULL), BL_INVALID);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, UINT64_MAX, 0, &first, NULL), BL_NO_MEMORY);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, UINT64_MAX - 4096, 0, &first, NULL), BL_NO_MEMORY);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, (4 << 20) + 1, 0, &first, &error), BL_NO_MEMORY);
    assert_non_null(strstr(error.message, "4194305"));
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, 3 << 20, 0, &first, NULL), BL_OK);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, 2 << 20, 0, &second, NULL), BL_NO_MEMORY);
    bl_cpu_memory_info(&small.base, &available, &total);
    assert_int_equal(available, 1 << 20);
    assert_int_equal(bl_cpu_free(&small.base, first), BL_OK);
    assert_int_equal(bl_cpu_alloc(&small.base, BL_ALLOC_DEVICE, 4 << 20, 0, &second, NULL), BL_OK);
    assert_int_equal(bl_cpu_free(&small.base, second), BL_OK);
    bl_cpu_memory_info(&small.base, &available, &total);
    assert_int_equal(available, 4 << 20);
    bl_cpu_memory_destroy(small.memory);
    (void)state;
}

static void refused_memory_leaves_all_as_it_was(void **state)
{
    static const uint64_t sizes[] = {100, 1000000};
    uint64_t address, before;

    for (size_t s = 0; s < BL_LEN(sizes); s++)
        for (int kind = 0; kind < 2; kind++)
            for (uint64_t nth = 1; nth <= 3; nth++) {
                struct bl_cpu_device fresh = {0};
                uint64_t total;
                enum bl_status status;
                assert_int_equal(bl_cpu_memory_create(1 << 22, &fresh.memory, NULL), BL_OK);
                bl_fault_inject(kind ? "mmap" : "alloc", nth);
                status = bl_cpu_alloc(&fresh.base, BL_ALLOC_DEVICE, sizes[s], 0, &address, NULL);
                bl_fault_inject(kind ? "mmap" : "alloc", 0);
                assert_int_equal(status, (kind ? nth <= 1 : nth <= 2) ? BL_NO_MEMORY : BL_OK);
                if (status == BL_OK)
                    assert_int_equal(bl_cpu_free(&fresh.base, address), BL_OK);
                bl_cpu_memory_info(&fresh.base, &before, &total);
                assert_int_equal(before, 1 << 22);
                assert_int_equal(bl_cpu_alloc(&fresh.base, BL_ALLOC_DEVICE, sizes[s], 0, &address, NULL), BL_OK);
                bl_cpu_memory_destroy(fresh.memory);
            }
    bl_fault_inject("alloc", 1);
    assert_int_equal(bl_cpu_memory_create(1 << 20, &(struct bl_cpu_memory *){NULL}, NULL), BL_NO_MEMORY);
    bl_fault_inject("alloc", 0);
    (void)state;
}

static void a_modules_memory_is_not_the_programs_to_free(void **state)
{
    uint64_t address, base, size;
    enum bl_alloc_kind kind;

    for (int round = 0; round < 2; round++) {
        assert_int_equal(bl_cpu_memory_take(device.memory, BL_ALLOC_MANAGED, 100, 64, &address, NULL), BL_OK);
        assert_int_equal(*(uint64_t *)(uintptr_t)address, 0);
        memset((void *)(uintptr_t)address, 0xff, 100);
        assert_int_equal(bl_cpu_free(&device.base, address), BL_INVALID);
        assert_int_equal(bl_cpu_range(&device.base, address + 99, &base, &size, &kind), BL_OK);
        assert_int_equal(kind, BL_ALLOC_MANAGED);
        bl_cpu_memory_give_back(device.memory, address);
        assert_int_equal(bl_cpu_range(&device.base, address, &base, &size, &kind), BL_NOT_FOUND);
    }
    (void)state;
}

static _Atomic bool stop_looking;
static _Atomic uint64_t known, unknown;

/* Allocates and frees at random; each of its blocks must be found as long as it has it. */
static void *hammer(void *data)
{
    uint64_t blocks[64] = {0}, seed = (uintptr_t)data;

    for (int round = 0; round < 20000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t *block = &blocks[seed >> 58], base, size;
        if (*block) {
            if (!bl_cpu_memory_find(&device, *block, &base, &size) || base != *block)
                return (void *)1;
            if (bl_cpu_free(&device.base, *block) != BL_OK)
                return (void *)2;
            *block = 0;
        } else if (bl_cpu_alloc(&device.base, 0, 1 + (seed >> 20 & 0x3ffff), 0, block, NULL) != BL_OK) {
            return (void *)3;
        }
    }
    for (int i = 0; i < 64; i++)
        if (blocks[i])
            bl_cpu_free(&device.base, blocks[i]);
    return NULL;
}

static void *look(void *data)
{
    uint64_t base, size, address = *(uint64_t *)data;

    while (!stop_looking) {
        known += bl_cpu_memory_find(&device, address, &base, &size) && base == address && size == 5000;
        unknown += !bl_cpu_memory_find(&device, (uintptr_t)&base, &base, &size);
    }
    return NULL;
}

static void threads_share_the_memory(void **state)
{
    pthread_t workers[3], looker;
    uint64_t address, before = free_bytes();
    void *result;

    assert_int_equal(bl_cpu_alloc(&device.base, 0, 5000, 0, &address, NULL), BL_OK);
    stop_looking = false;
    pthread_create(&looker, NULL, look, &address);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&workers[i], NULL, hammer, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        pthread_join(workers[i], &result);
        assert_null(result);
    }
    stop_looking = true;
    pthread_join(looker, NULL);
    assert_true(known > 0);
    assert_int_equal(known, unknown);
    assert_int_equal(bl_cpu_free(&device.base, address), BL_OK);
    assert_int_equal(free_bytes(), before);
    (void)state;
}

/* ---- loader ----------------------------------------------------------------------------------- */

/* As the objects declare it. */
struct bl_cpu_object_warp {
    uint32_t *out;
};

static struct bl_sv read_object(const char *path)
{
    struct bl_sv object;
    char *data;

    assert_int_equal(bl_file_read(path, &data, &object.size, NULL), BL_OK);
    object.data = data;
    return object;
}

static void expect_good_code(uintptr_t entry)
{
    static const uint32_t expected[9] = {11, 3, 16, 8, 0, 4, 3, 99, 1008};
    uint32_t out[9] = {0};
    struct bl_cpu_object_warp warp = {out};

    ((void (*)(struct bl_cpu_object_warp *))entry)(&warp);
    assert_memory_equal(out, expected, sizeof(out));
}

static void an_object_runs(void **state)
{
    struct bl_sv object = read_object(good_path);
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_image image;

    assert_int_equal(bl_cpu_image_load(object, bl_cpu_host_machine(), "good", &image, &error), BL_OK);
    assert_true(image.entry >= image.begin && image.entry < image.end);
    expect_good_code(image.entry);
    bl_cpu_image_unload(&image);
    assert_null(image.map);
    bl_free((void *)(uintptr_t)object.data);
    (void)state;
}

static void code_is_never_writable(void **state)
{
    struct bl_sv object = read_object(good_path);
    struct bl_cpu_image image;
    unsigned long begin, end;
    char line[512], rights[8];
    FILE *maps;
    bool seen = false;

    assert_int_equal(bl_cpu_image_load(object, bl_cpu_host_machine(), "good", &image, NULL), BL_OK);
    maps = fopen("/proc/self/maps", "re");
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && image.entry >= begin && image.entry < end) {
            assert_string_equal(rights, "r-xp");
            seen = true;
        }
    fclose(maps);
    assert_true(seen);
    bl_cpu_image_unload(&image);
    bl_free((void *)(uintptr_t)object.data);
    (void)state;
}

static void what_is_missing_is_named(void **state)
{
    struct bl_sv object = read_object(undefined_path);
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_image image;

    assert_int_equal(bl_cpu_image_load(object, bl_cpu_host_machine(), "kernel k", &image, &error), BL_COMPILER);
    assert_non_null(strstr(error.message, "kernel k"));
    assert_non_null(strstr(error.message, "somewhere_else"));
    assert_null(image.map);
    bl_free((void *)(uintptr_t)object.data);
    (void)state;
}

static void load_anything(struct bl_sv object, unsigned machine)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_image image;
    enum bl_status status = bl_cpu_image_load(object, machine, "damaged", &image, &error);

    assert_true(status == BL_OK || error.status == status);
    assert_true(status == BL_OK || error.message[0]);
    bl_cpu_image_unload(&image);
}

static void damage(const char *path, unsigned machine, int rounds)
{
    struct bl_sv object = read_object(path);
    char *bytes = bl_malloc(object.size);

    for (size_t size = 0; size < object.size; size += 5)
        load_anything((struct bl_sv){object.data, size}, machine);
    for (int round = 0; round < rounds; round++) {
        memcpy(bytes, object.data, object.size);
        for (uint32_t flips = 1 + random_below(4); flips > 0; flips--)
            bytes[random_below((uint32_t)object.size)] = (char)(random_below(3) ? random_below(256) : random_below(2) ? 0xff : 0);
        load_anything((struct bl_sv){bytes, object.size}, machine);
    }
    bl_free(bytes);
    bl_free((void *)(uintptr_t)object.data);
}

static void damaged_objects_are_refused(void **state)
{
    damage(good_path, bl_cpu_host_machine(), 20000);
    damage(undefined_path, bl_cpu_host_machine(), 5000);
    (void)state;
}

static uint32_t instruction_at(const struct bl_cpu_image *image, uint64_t offset)
{
    uint32_t word;
    memcpy(&word, (char *)(uintptr_t)image->begin + offset, 4);
    return word;
}

/* Bytes of an access by ADD, or LDR or STR of a word or double word, with an unsigned offset; 0: another instruction. */
static uint32_t arm_access(uint32_t instruction)
{
    switch (instruction >> 22) {
    case 0x91000000u >> 22:
        return 1;
    case 0xb9000000u >> 22:
    case 0xb9400000u >> 22:
        return 4;
    case 0xf9400000u >> 22:
    case 0xfd400000u >> 22:
        return 8;
    default:
        return 0;
    }
}

/* Follows each ADRP and the access after it, as the processor would, to what they address. */
static void arm_addresses_come_out(void **state)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_image image;
    uint32_t found = 0;

    if (!*arm_path)
        skip();
    struct bl_sv object = read_object(arm_path);
    assert_int_equal(bl_cpu_image_load(object, 183, "arm", &image, &error), BL_OK);
    for (uint64_t at = 0; image.begin + at + 8 <= image.end; at += 4) {
        uint32_t adrp = instruction_at(&image, at), next = instruction_at(&image, at + 4);
        if ((adrp & 0x9f000000) != 0x90000000 || !arm_access(next))
            continue;
        int64_t pages = ((int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43) | (adrp >> 29 & 3);
        uint64_t target =
            ((image.begin + at) & ~(uint64_t)4095) + (uint64_t)(pages * 4096) + (next >> 10 & 4095) * arm_access(next);
        assert_in_range(target, (uintptr_t)image.map, (uintptr_t)image.map + image.map_size - 1);
        found++;
    }
    assert_true(found > 3);
    bl_cpu_image_unload(&image);
    bl_free((void *)(uintptr_t)object.data);
    damage(arm_path, 183, 10000);
    (void)state;
}

static void loading_without_memory_fails_cleanly(void **state)
{
    struct bl_sv object = read_object(good_path);
    struct bl_cpu_image image;

    for (uint64_t nth = 1; nth <= 4; nth++) {
        bl_fault_inject("alloc", nth);
        assert_int_equal(bl_cpu_image_load(object, bl_cpu_host_machine(), "good", &image, NULL), BL_NO_MEMORY);
        bl_fault_inject("alloc", 0);
    }
    bl_fault_inject("mmap", 1);
    assert_int_equal(bl_cpu_image_load(object, bl_cpu_host_machine(), "good", &image, NULL), BL_NO_MEMORY);
    bl_fault_inject("mmap", 0);
    bl_free((void *)(uintptr_t)object.data);
    (void)state;
}

/* ---- cache ------------------------------------------------------------------------------------ */

static struct bl_cpu_cache_key key_of(const char *text, bool linear)
{
    struct bl_cpu_request request = {
        .ptx = bl_sv(text), .kernel = "k", .cta_shape = linear ? BL_CPU_CTA_LINEAR : BL_CPU_CTA_ANY, .optimize = 2};
    return bl_cpu_cache_make_key(&request);
}

static bool cache_has(struct bl_cpu_cache_key key, const char *expected)
{
    char *bytes;
    size_t size;

    if (!bl_cpu_cache_read(key, &bytes, &size))
        return false;
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(bytes, expected, size);
    bl_free(bytes);
    return true;
}

static void entry_path(struct bl_cpu_cache_key key, char *path, size_t size)
{
    snprintf(path, size, "%s/%016llx%016llx", scratch, (unsigned long long)key.high, (unsigned long long)key.low);
}

static void the_cache_keeps_what_it_is_given(void **state)
{
    struct bl_cpu_cache_key a = key_of("a", true), b = key_of("b", true), general = key_of("a", false), again = key_of("a", true);

    empty_scratch();
    assert_true(a.low == again.low && a.high == again.high);
    assert_true(a.low != b.low && a.low != general.low);
    assert_false(cache_has(a, ""));
    bl_cpu_cache_write(a, bl_sv("code of a"));
    bl_cpu_cache_write(b, bl_sv("other code"));
    assert_true(cache_has(a, "code of a"));
    assert_true(cache_has(b, "other code"));
    assert_false(cache_has(general, ""));
    bl_cpu_cache_write(a, bl_sv("newer"));
    assert_true(cache_has(a, "newer"));
    bl_cpu_cache_remove(a);
    assert_false(cache_has(a, ""));
    bl_fault_inject("read", 1);
    assert_false(cache_has(b, ""));
    assert_true(cache_has(b, "other code"));
    setenv("BAILEY_CACHE", "0", 1);
    assert_false(cache_has(b, ""));
    unsetenv("BAILEY_CACHE");
    (void)state;
}

static void damaged_entries_are_as_good_as_none(void **state)
{
    struct bl_cpu_cache_key key = key_of("a", true);
    char path[200], *entry;
    size_t size;

    empty_scratch();
    entry_path(key, path, sizeof(path));
    bl_cpu_cache_write(key, bl_sv("some machine code"));
    assert_int_equal(bl_file_read(path, &entry, &size, NULL), BL_OK);
    for (size_t i = 0; i < size; i++) {
        char flip = (char)(1 << random_below(8));
        entry[i] ^= flip;
        assert_int_equal(bl_file_write(path, entry, size, NULL), BL_OK);
        assert_false(cache_has(key, ""));
        assert_int_not_equal(access(path, F_OK), 0);
        entry[i] ^= flip;
    }
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(bl_file_write(path, entry, cut, NULL), BL_OK);
        assert_false(cache_has(key, ""));
    }
    bl_free(entry);
    (void)state;
}

static void a_key_that_meets_anothers_file_gets_nothing(void **state)
{
    struct bl_cpu_cache_key a = key_of("a", true), b = key_of("b", true);
    char from[200], to[200];

    empty_scratch();
    bl_cpu_cache_write(a, bl_sv("code of a"));
    entry_path(a, from, sizeof(from));
    entry_path(b, to, sizeof(to));
    assert_int_equal(rename(from, to), 0);
    assert_false(cache_has(b, ""));
    (void)state;
}

static void writers_and_readers_at_once(void **state)
{
    struct bl_cpu_cache_key key = key_of("a", true);
    char text[2][20000];
    pid_t writers[2];

    empty_scratch();
    for (int i = 0; i < 2; i++) {
        memset(text[i], 'a' + i, sizeof(text[i]));
        if ((writers[i] = fork()) == 0) {
            for (int round = 0; round < 300; round++)
                bl_cpu_cache_write(key, (struct bl_sv){text[i], 10000 + 10000 * (size_t)i});
            _exit(0);
        }
    }
    for (int round = 0, seen = 0; round < 100000 && seen < 2000; round++) {
        char *bytes, path[200];
        size_t size;
        if (!bl_cpu_cache_read(key, &bytes, &size)) {
            entry_path(key, path, sizeof(path));
            assert_true(seen == 0); /* once there, it is never damaged and never missing */
            continue;
        }
        seen++;
        assert_int_equal(size, bytes[0] == 'a' ? 10000 : 20000);
        assert_memory_equal(bytes, text[bytes[0] - 'a'], size);
        bl_free(bytes);
    }
    for (int i = 0; i < 2; i++)
        waitpid(writers[i], NULL, 0);
    (void)state;
}

static uint64_t folder_bytes(int *entries)
{
    DIR *folder = opendir(scratch);
    struct dirent *item;
    struct stat info;
    uint64_t bytes = 0;

    *entries = 0;
    while ((item = readdir(folder)))
        if (item->d_name[0] != '.' && fstatat(dirfd(folder), item->d_name, &info, 0) == 0) {
            bytes += (uint64_t)info.st_size;
            ++*entries;
        }
    closedir(folder);
    return bytes;
}

static void the_cache_stays_small(void **state)
{
    char text[32], block[10001], path[200], stranger[200];
    struct bl_cpu_cache_key favourite = key_of("favourite", true);
    int entries;

    empty_scratch();
    setenv("BAILEY_CACHE_SIZE", "1M", 1);
    memset(block, 'x', sizeof(block) - 1);
    block[sizeof(block) - 1] = 0;
    snprintf(stranger, sizeof(stranger), "%s/readme", scratch);
    assert_int_equal(bl_file_write(stranger, "not ours", 8, NULL), BL_OK);
    bl_cpu_cache_write(favourite, bl_sv("used all the time"));
    entry_path(favourite, path, sizeof(path));
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "kernel %d", i);
        bl_cpu_cache_write(key_of(text, true), bl_sv(block));
        if (i % 10 == 0) {
            struct timeval old[2] = {{time(NULL) - 9999, 0}, {time(NULL) - 9999, 0}};
            utimes(path, old);
            assert_true(cache_has(favourite, "used all the time")); /* a use makes it young again */
        }
    }
    assert_in_range(folder_bytes(&entries), 500000, 1 << 20);
    assert_true(cache_has(key_of("kernel 999", true), block) || entries > 0);
    assert_int_equal(access(stranger, F_OK), 0);
    bl_cpu_cache_write(key_of("too large", true), bl_sv(block));
    setenv("BAILEY_CACHE_SIZE", "5000", 1);
    bl_cpu_cache_remove(key_of("too large", true));
    bl_cpu_cache_write(key_of("too large", true), bl_sv(block));
    assert_false(cache_has(key_of("too large", true), block));
    unsetenv("BAILEY_CACHE_SIZE");
    (void)state;
}

static void without_a_folder_nothing_is_kept(void **state)
{
    struct bl_cpu_cache_key key = key_of("a", true);
    char path[256];

    setenv("BAILEY_CACHE_DIR", "/proc/no such place", 1);
    bl_cpu_cache_write(key, bl_sv("code"));
    assert_false(cache_has(key, "code"));
    unsetenv("BAILEY_CACHE_DIR");
    setenv("XDG_CACHE_HOME", scratch, 1);
    assert_true(bl_cpu_cache_folder(path, sizeof(path)));
    assert_non_null(strstr(path, "/bailey"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "", 1);
    assert_false(bl_cpu_cache_folder(path, sizeof(path)));
    setenv("BAILEY_CACHE_DIR", scratch, 1);
    (void)state;
}

/* ---- the helper process ----------------------------------------------------------------------- */

static enum bl_status ask(const char *mode, struct bl_error *error, char **bytes, size_t *size)
{
    struct bl_cpu_request request = {.ptx = bl_sv("text"), .kernel = "some_kernel", .source_name = "a.ptx"};

    bl_cpu_client_stop();
    setenv("FAKE_MODE", mode, 1);
    *error = (struct bl_error)BL_ERROR_INIT;
    return bl_cpu_client_compile(&request, bytes, size, error);
}

static void expect_answer(const char *mode, const char *message)
{
    struct bl_cpu_answer *answer = calloc(1, sizeof(*answer));
    struct bl_error error;
    struct bl_arena arena;
    char *bytes;
    size_t size;

    bl_arena_init(&arena);
    assert_int_equal(ask(mode, &error, &bytes, &size), BL_OK);
    assert_int_equal(bl_cpu_unpack_answer(&arena, (struct bl_sv){bytes, size}, answer), BL_OK);
    assert_string_equal(answer->error.message, message);
    bl_free(bytes);
    bl_arena_cleanup(&arena);
    free(answer);
}

static void expect_failure(const char *mode, const char *word)
{
    struct bl_error error;
    char *bytes = NULL;
    size_t size;

    assert_int_equal(ask(mode, &error, &bytes, &size), BL_COMPILER);
    assert_null(bytes);
    assert_non_null(strstr(error.message, "some_kernel"));
    if (!strstr(error.message, word))
        fail_msg("%s: %s", mode, error.message);
    expect_answer("ok", ""); /* a new helper for the next */
}

static void a_bad_helper_costs_one_answer(void **state)
{
    expect_failure("die", "ended before it answered");
    expect_failure("crash", "LLVM ERROR: cannot select");
    expect_failure("half", "ended before it answered");
    expect_failure("garbage", "nonsense");
    expect_failure("huge", "nonsense");
    (void)state;
}

static void a_helper_that_hangs_is_ended(void **state)
{
    setenv("BAILEY_COMPILE_TIMEOUT", "1", 1);
    expect_failure("hang", "1 seconds");
    unsetenv("BAILEY_COMPILE_TIMEOUT");
    (void)state;
}

static void a_helper_that_cannot_start_is_named(void **state)
{
    struct bl_error error;
    char *bytes;
    size_t size;

    setenv("BAILEY_CC", "/no/such/bailey-cc", 1);
    assert_int_equal(ask("ok", &error, &bytes, &size), BL_COMPILER);
    assert_non_null(strstr(error.message, "/no/such/bailey-cc"));
    setenv("BAILEY_CC", good_path, 1); /* a file, but no program */
    assert_int_equal(ask("ok", &error, &bytes, &size), BL_COMPILER);
    assert_non_null(strstr(error.message, good_path));
    setenv("BAILEY_CC", fake_path, 1);
    bl_fault_inject("spawn", 1);
    assert_int_equal(ask("ok", &error, &bytes, &size), BL_COMPILER);
    assert_non_null(strstr(error.message, "can't be started"));
    bl_fault_inject("read", 1);
    assert_int_equal(ask("ok", &error, &bytes, &size), BL_COMPILER);
    expect_answer("ok", "");
    for (uint64_t nth = 1; nth <= 3; nth++) {
        enum bl_status status;
        bl_cpu_client_stop();
        bl_fault_inject("alloc", nth);
        status = ask("ok", &error, &bytes, &size);
        bl_fault_inject("alloc", 0);
        assert_true(status == BL_NO_MEMORY || status == BL_COMPILER);
    }
    (void)state;
}

static void ignore_signal(int number)
{
    (void)number;
}

static _Atomic int children_heard_of;

static void hear(int number)
{
    children_heard_of++;
    (void)number;
}

static int open_files(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void the_program_notices_nothing(void **state)
{
    int files, leaked = open("/dev/null", O_RDONLY); /* as careless programs do: not close-on-exec */
    sigset_t block;
    void (*child_before)(int) = signal(SIGCHLD, hear);
    void (*user_before)(int) = signal(SIGUSR1, ignore_signal);

    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &block, NULL);
    setenv("LD_PRELOAD", "", 1);
    setenv("LD_LIBRARY_PATH", "/nowhere", 1);
    setenv("BAILEY_TEST_FAULT", "none:1", 1);
    bl_cpu_client_stop();
    files = open_files();
    expect_answer("look", "clean");
    unsetenv("LD_PRELOAD");
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("BAILEY_TEST_FAULT");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    bl_cpu_client_stop();
    usleep(20000); /* time for the helper to end */
    assert_int_equal(children_heard_of, 0);
    assert_int_equal(open_files(), files);
    pthread_sigmask(SIG_UNBLOCK, &block, NULL);
    signal(SIGCHLD, child_before);
    signal(SIGUSR1, user_before);
    signal(SIGUSR2, SIG_DFL);
    close(leaked);
    (void)state;
}

static size_t counted(const char *path, char what)
{
    size_t size = 0, count = 0;
    char *text = NULL;

    if (bl_file_read(path, &text, &size, NULL) != BL_OK)
        return 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == what;
    bl_free(text);
    return count;
}

static void a_forked_child_has_its_own_helpers(void **state)
{
    struct bl_cpu_request request = {.ptx = bl_sv("text"), .kernel = "k"};
    char *bytes, counts[200];
    size_t size;
    pid_t child;
    int result;

    snprintf(counts, sizeof(counts), "%s/counts", scratch);
    unlink(counts);
    setenv("FAKE_COUNT", counts, 1);
    expect_answer("ok", "");
    child = fork();
    if (child == 0)
        _exit(bl_cpu_client_compile(&request, &bytes, &size, NULL) != BL_OK);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(counted(counts, 's'), 2);
    assert_int_equal(bl_cpu_client_compile(&request, &bytes, &size, NULL), BL_OK);
    bl_free(bytes);
    assert_int_equal(counted(counts, 's'), 2); /* the first one lives and is asked again */
    assert_int_equal(counted(counts, 'r'), 3);
    unsetenv("FAKE_COUNT");
    unlink(counts);
    (void)state;
}

static void files_that_the_program_closed_are_left_alone(void **state)
{
    struct bl_cpu_request request = {.ptx = bl_sv("text"), .kernel = "k"};
    char *bytes, *text, path[200];
    size_t size;
    int mine[64];

    expect_answer("ok", "");
    for (int fd = 3; fd < 64; fd++)
        close(fd); /* as daemons do */
    snprintf(path, sizeof(path), "%s/mine", scratch);
    for (int i = 0; i < 64; i++)
        mine[i] = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(bl_cpu_client_compile(&request, &bytes, &size, NULL), BL_OK);
    bl_free(bytes);
    assert_int_equal(bl_file_read(path, &text, &size, NULL), BL_OK);
    assert_int_equal(size, 0);
    bl_free(text);
    for (int i = 0; i < 64; i++)
        assert_int_equal(close(mine[i]), 0);
    (void)state;
}

static void closed_standard_files_do_no_harm(void **state)
{
    struct bl_cpu_request request = {.ptx = bl_sv("text"), .kernel = "k"};
    char *bytes;
    size_t size;
    int result;
    pid_t child = fork();

    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        enum bl_status status = bl_cpu_client_compile(&request, &bytes, &size, NULL);
        for (int fd = 0; fd < 3; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                _exit(9); /* what the program writes there must not reach the helper */
        _exit(status);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    (void)state;
}

/* ---- modules ---------------------------------------------------------------------------------- */

static const char module_text[] = ".version 8.0\n"
                                  ".target sm_80\n"
                                  ".address_size 64\n"
                                  ".visible .global .align 4 .u32 number = 0x12345678;\n"
                                  ".visible .const .align 8 .f64 pair[3] = {0d3FF0000000000000, 0d4000000000000000};\n"
                                  ".visible .global .align 1 .b8 bytes[5] = {1, 2, 3};\n"
                                  ".visible .global .align 8 .u64 link = generic(bytes)+2;\n"
                                  ".visible .global .align 8 .u64 plain = pair;\n"
                                  ".visible .global .align 4 .b8 spelled[4] = {0xff(number), 0xff00(number)};\n"
                                  ".visible .global .align 512 .b8 far[3000];\n"
                                  ".visible .global .attribute(.managed) .align 4 .s32 both = -5;\n"
                                  ".extern .global .align 4 .u32 elsewhere;\n"
                                  ".extern .shared .align 16 .b8 dynamic[];\n"
                                  ".func (.reg .u32 r) helper(.reg .u32 a)\n"
                                  "{\n    add.u32 r, a, 1;\n    ret;\n}\n"
                                  ".visible .global .align 8 .u64 functions[2] = {helper, 0};\n"
                                  ".visible .entry first(.param .u64 p, .param .align 16 .b8 s[20], .param .u8 c)\n"
                                  ".maxntid 128, 2, 1\n"
                                  "{\n    .reg .u32 %r<3>;\n    mov.u32 %r1, 1;\n    ret;\n}\n"
                                  ".visible .entry second()\n"
                                  ".reqntid 32, 1, 1\n"
                                  "{\n    ret;\n}\n";

static enum bl_status load_text(const char *text, bool check_now, struct bl_device_module **module, struct bl_error *error)
{
    struct bl_module_source source = {.ptx = bl_sv(text), .name = "test.ptx", .check_now = check_now};

    *module = NULL;
    return bl_cpu_module_load(&device.base, &source, module, error);
}

static struct bl_device_module *good_module(void)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_device_module *module;

    if (load_text(module_text, false, &module, &error) != BL_OK)
        fail_msg("%s", error.message);
    return module;
}

static void *variable(struct bl_device_module *module, const char *name, uint64_t expected_size)
{
    uint64_t address = 0, size = 0;
    bool managed;

    assert_int_equal(bl_cpu_module_variable(module, name, &address, &size, &managed), BL_OK);
    assert_int_equal(size, expected_size);
    assert_int_equal(managed, strcmp(name, "both") == 0);
    return (void *)(uintptr_t)address;
}

static void variables_start_with_their_values(void **state)
{
    struct bl_device_module *module = good_module();
    uint64_t address, size, base;
    enum bl_alloc_kind kind;
    bool managed;
    const double *pair = variable(module, "pair", 24);
    const uint8_t *bytes = variable(module, "bytes", 5), *spelled = variable(module, "spelled", 4);
    const uint8_t *far = variable(module, "far", 3000);
    const uint32_t *number = variable(module, "number", 4);
    const uint64_t *functions = variable(module, "functions", 16);
    int32_t *both = variable(module, "both", 4);

    assert_int_equal(*number, 0x12345678);
    assert_true(pair[0] == 1.0 && pair[1] == 2.0 && pair[2] == 0.0);
    assert_memory_equal(bytes, ((uint8_t[]){1, 2, 3, 0, 0}), 5);
    assert_ptr_equal(*(void **)variable(module, "link", 8), bytes + 2);
    assert_ptr_equal(*(void **)variable(module, "plain", 8), pair);
    assert_int_equal(spelled[0], (uintptr_t)number & 0xff);
    assert_int_equal(spelled[1], (uintptr_t)number >> 8 & 0xff);
    assert_int_equal((uintptr_t)far % 512, 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(far[i], 0);
    assert_int_equal(functions[0], bl_ptx_find_func(module->ptx, bl_sv("helper"))->number);
    assert_int_equal(functions[1], 0);
    assert_int_equal(*both, -5);
    assert_int_equal(bl_cpu_range(&device.base, (uintptr_t)both, &base, &size, &kind), BL_OK);
    assert_int_equal(kind, BL_ALLOC_MANAGED);
    assert_int_equal(bl_cpu_range(&device.base, (uintptr_t)far, &base, &size, &kind), BL_OK);
    assert_int_equal(kind, BL_ALLOC_DEVICE);
    assert_int_equal(bl_cpu_module_variable(module, "elsewhere", &address, &size, &managed), BL_NOT_FOUND);
    assert_int_equal(bl_cpu_module_variable(module, "dynamic", &address, &size, &managed), BL_NOT_FOUND);
    assert_int_equal(bl_cpu_module_variable(module, "first", &address, &size, &managed), BL_NOT_FOUND);
    assert_int_equal(bl_cpu_module_variable(module, "", &address, &size, &managed), BL_NOT_FOUND);
    bl_cpu_module_unload(module);
    assert_int_equal(bl_cpu_range(&device.base, (uintptr_t)far, &base, &size, &kind), BL_NOT_FOUND);
    (void)state;
}

static void kernels_say_what_they_take(void **state)
{
    struct bl_device_module *module = good_module();
    struct bl_device_kernel *first, *second, *none;
    struct bl_cpu_kernel_limits limits;
    static const uint32_t offsets[] = {0, 16, 36}, sizes[] = {8, 20, 1};
    uint32_t offset, size;

    assert_string_equal(bl_cpu_module_kernel_name(module, 0), "first");
    assert_string_equal(bl_cpu_module_kernel_name(module, 1), "second");
    assert_null(bl_cpu_module_kernel_name(module, 2));
    assert_int_equal(bl_cpu_module_kernel(module, "first", &first), BL_OK);
    assert_int_equal(bl_cpu_module_kernel(module, "second", &second), BL_OK);
    assert_int_equal(bl_cpu_module_kernel(module, "helper", &none), BL_NOT_FOUND);
    assert_int_equal(bl_cpu_module_kernel(module, "number", &none), BL_NOT_FOUND);
    assert_string_equal(bl_cpu_kernel_name(first), "first");
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(bl_cpu_kernel_param(first, i, &offset, &size), BL_OK);
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
    }
    assert_int_equal(bl_cpu_kernel_param(first, 3, &offset, &size), BL_NOT_FOUND);
    assert_int_equal(bl_cpu_kernel_param(second, 0, &offset, &size), BL_NOT_FOUND);
    bl_cpu_kernel_get_limits(first, &limits);
    assert_int_equal(limits.max_block[0] * limits.max_block[1], 256);
    assert_int_equal(limits.param_bytes, 37);
    assert_int_equal(limits.max_dynamic_shared, 48 << 10);
    assert_int_equal(bl_cpu_kernel_set_max_dynamic_shared(first, (227 << 10) + 1), BL_INVALID);
    assert_int_equal(bl_cpu_kernel_set_max_dynamic_shared(first, 100 << 10), BL_OK);
    bl_cpu_kernel_get_limits(first, &limits);
    assert_int_equal(limits.max_dynamic_shared, 100 << 10);
    bl_cpu_kernel_get_limits(second, &limits);
    assert_int_equal(limits.required_block[0], 32);
    bl_cpu_module_unload(module);
    (void)state;
}

static void a_bad_text_says_where(void **state)
{
    static const char bad[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k()\n{\n    .reg .u32 %r<3>;\n    add.u32 %r1, %r2, %;\n    ret;\n}\n";
    struct bl_error error = BL_ERROR_INIT;
    struct bl_device_module *module;

    assert_int_equal(load_text(bad, true, &module, &error), BL_SYNTAX);
    assert_int_equal(error.line, 7);
    assert_non_null(strstr(error.message, "test.ptx"));
    assert_null(module);
    error = (struct bl_error)BL_ERROR_INIT;
    assert_int_equal(load_text("", true, &module, &error), BL_SYNTAX);
    error = (struct bl_error)BL_ERROR_INIT;
    assert_int_equal(load_text(".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".extern .global .u32 x;\n.global .u64 p = x;\n",
                               true, &module, &error),
                     BL_NOT_FOUND);
    assert_non_null(strstr(error.message, "p needs the address of x"));
    error = (struct bl_error)BL_ERROR_INIT;
    assert_int_equal(
        load_text(".version 8.0\n.target sm_80\n.address_size 64\n.global .b8 x[0x7fffffffffff];\n", true, &module, &error),
        BL_NO_MEMORY);
    assert_null(module);
    (void)state;
}

static void loading_a_module_without_memory_fails_cleanly(void **state)
{
    uint64_t before = free_bytes();
    bool done = false;

    for (int kind = 0; kind < 2; kind++, done = false)
        for (uint64_t nth = 1; nth < 200 && !done; nth++) {
            struct bl_error error = BL_ERROR_INIT;
            struct bl_device_module *module;
            enum bl_status status;
            bl_fault_inject(kind ? "mmap" : "alloc", nth);
            status = load_text(module_text, true, &module, &error);
            bl_fault_inject(kind ? "mmap" : "alloc", 0);
            done = status == BL_OK;
            if (done)
                bl_cpu_module_unload(module);
            else
                assert_int_equal(status, BL_NO_MEMORY);
            if (kind == 0)
                assert_true(nth > 1 || !done); /* a mapping is asked for again once those only kept are gone */
        }
    assert_int_equal(free_bytes(), before);
    (void)state;
}

static void *unload(void *module)
{
    bl_cpu_module_unload(module);
    children_heard_of = 77;
    return NULL;
}

static void unloading_waits_for_launches(void **state)
{
    struct bl_device_module *module = good_module();
    struct bl_device_kernel *kernel;
    pthread_t thread;

    children_heard_of = 0;
    assert_int_equal(bl_cpu_module_kernel(module, "first", &kernel), BL_OK);
    bl_cpu_kernel_hold(kernel);
    bl_cpu_kernel_hold(kernel);
    pthread_create(&thread, NULL, unload, module);
    usleep(20000);
    bl_cpu_kernel_drop(kernel);
    usleep(20000);
    assert_int_equal(children_heard_of, 0);
    bl_cpu_kernel_drop(kernel);
    pthread_join(thread, NULL);
    assert_int_equal(children_heard_of, 77);
    (void)state;
}

/* ---- code ------------------------------------------------------------------------------------- */

static void a_slice_loses_what_its_module_put_there(void **state)
{
    static const char one[] = "//bl.func k 7\n.version 8.0\n//bl.line 41\n.entry k()\n{\nret;\n}\n";
    static const char two[] = "//bl.func f 3\n//bl.func k 7\n//bl.line 10\n.func f()\n{\n}\n//bl.line 90\n.entry k()\n";
    struct bl_buffer text = {0};
    struct bl_cpu_code code = {0};
    struct bl_cpu_line *lines;
    uint32_t count;

    assert_int_equal(bl_cpu_canonical_slice(bl_sv(one), &text, &lines, &count, NULL), BL_OK);
    assert_string_equal(text.data, ".version 8.0\n.entry k()\n{\nret;\n}\n");
    code.lines = lines;
    code.line_count = count;
    assert_int_equal(bl_cpu_code_line(&code, 0), 0);
    assert_int_equal(bl_cpu_code_line(&code, 1), 0);
    assert_int_equal(bl_cpu_code_line(&code, 2), 41);
    assert_int_equal(bl_cpu_code_line(&code, 4), 43);
    bl_free(lines);
    bl_buffer_cleanup(&text);
    assert_int_equal(bl_cpu_canonical_slice(bl_sv(two), &text, &lines, &count, NULL), BL_OK);
    assert_string_equal(text.data, "//bl.func f 3\n//bl.func k 7\n.func f()\n{\n}\n.entry k()\n");
    code.lines = lines;
    code.line_count = count;
    assert_int_equal(bl_cpu_code_line(&code, 4), 11);
    assert_int_equal(bl_cpu_code_line(&code, 6), 90);
    bl_free(lines);
    bl_buffer_cleanup(&text);
    (void)state;
}

struct asking {
    struct bl_device_kernel *kernel;
    const struct bl_cpu_code *code;
    enum bl_status status;
};

static void *ask_for_code(void *data)
{
    struct asking *asking = data;
    asking->status = bl_cpu_kernel_code(asking->kernel, true, &asking->code, NULL);
    return NULL;
}

static void counting(char *counts, size_t size)
{
    snprintf(counts, size, "%s/counts", scratch);
    unlink(counts);
    setenv("FAKE_COUNT", counts, 1);
    bl_cpu_client_stop();
}

static void many_threads_compile_once(void **state)
{
    struct bl_device_module *module = good_module();
    struct asking asking[8];
    pthread_t threads[8];
    char counts[200];

    empty_scratch();
    counting(counts, sizeof(counts));
    setenv("FAKE_MODE", "ok", 1);
    setenv("FAKE_DELAY", "30000", 1);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(bl_cpu_module_kernel(module, i % 2 ? "second" : "first", &asking[i].kernel), BL_OK);
        pthread_create(&threads[i], NULL, ask_for_code, &asking[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(asking[i].status, BL_OK);
        assert_ptr_equal(asking[i].code, asking[i % 2].code);
    }
    assert_ptr_not_equal(asking[0].code, asking[1].code);
    assert_int_equal(counted(counts, 'r'), 2);
    assert_int_equal(counted(counts, 's'), 2);
    expect_good_code((uintptr_t)asking[0].code->entry);
    bl_cpu_module_unload(module);
    unsetenv("FAKE_DELAY");
    unsetenv("FAKE_COUNT");
    (void)state;
}

static enum bl_status code_of(const char *mode, struct bl_device_module *module, const char *name, struct bl_error *error)
{
    const struct bl_cpu_code *code;
    struct bl_device_kernel *kernel;
    enum bl_status status;

    bl_cpu_client_stop();
    setenv("FAKE_MODE", mode, 1);
    *error = (struct bl_error)BL_ERROR_INIT;
    assert_int_equal(bl_cpu_module_kernel(module, name, &kernel), BL_OK);
    status = bl_cpu_kernel_code(kernel, true, &code, error);
    assert_true(status == error->status);
    assert_true((status == BL_OK) == (code != NULL));
    return status;
}

static void a_warm_cache_needs_no_helper(void **state)
{
    struct bl_device_module *module = good_module();
    struct bl_kernel_attr attr;
    struct bl_error error;
    struct bl_device_kernel *kernel;
    char counts[200];

    empty_scratch();
    counting(counts, sizeof(counts));
    assert_int_equal(code_of("ok", module, "first", &error), BL_OK);
    bl_cpu_module_unload(module);
    module = good_module();
    assert_int_equal(code_of("die", module, "first", &error), BL_OK);
    assert_int_equal(counted(counts, 's'), 1);
    assert_int_equal(bl_cpu_module_kernel(module, "first", &kernel), BL_OK);
    assert_int_equal(bl_cpu_kernel_attr(kernel, &attr, NULL), BL_OK);
    assert_int_equal(attr.max_threads, 256);
    assert_int_equal(attr.static_shared, 1024);
    assert_int_equal(attr.max_dynamic_shared, (48 << 10) - 1024);
    assert_int_equal(attr.registers, 12);
    assert_int_equal(attr.param_bytes, 37);
    assert_int_equal(attr.ptx_version, 80);
    assert_int_equal(attr.binary_version, 90);
    bl_cpu_module_unload(module);
    unsetenv("FAKE_COUNT");
    (void)state;
}

static void useless_entries_are_compiled_anew(void **state)
{
    struct bl_device_module *module;
    struct bl_error error;

    for (int i = 0; i < 2; i++) {
        int entries;
        empty_scratch();
        module = good_module();
        assert_int_equal(code_of("ok", module, "first", &error), BL_OK);
        bl_cpu_module_unload(module);
        folder_bytes(&entries);
        assert_int_equal(entries, 1);
        /* whole by its checksum, but its answer is a stranger's, or no answer at all */
        DIR *folder = opendir(scratch);
        struct dirent *item;
        while ((item = readdir(folder)))
            if (item->d_name[0] != '.') {
                struct bl_cpu_cache_key key;
                assert_int_equal(sscanf(item->d_name, "%16lx%16lx", &key.high, &key.low), 2);
                if (i == 0) {
                    bl_cpu_cache_write(key, bl_sv("no answer"));
                } else {
                    struct bl_cpu_answer answer = {.object = (const uint8_t *)"no object", .object_size = 9};
                    struct bl_buffer packed = {0};
                    assert_true(bl_cpu_pack_answer(&packed, &answer));
                    bl_cpu_cache_write(key, (struct bl_sv){packed.data, packed.size});
                    bl_buffer_cleanup(&packed);
                }
            }
        closedir(folder);
        module = good_module();
        assert_int_equal(code_of("ok", module, "first", &error), BL_OK);
        bl_cpu_module_unload(module);
    }
    (void)state;
}

static void failures_are_remembered_unless_the_helper_died(void **state)
{
    struct bl_device_module *module = good_module();
    struct bl_error error;
    char counts[200];

    empty_scratch();
    counting(counts, sizeof(counts));
    assert_int_equal(code_of("die", module, "first", &error), BL_COMPILER);
    assert_int_equal(code_of("crash", module, "first", &error), BL_COMPILER);
    assert_int_equal(counted(counts, 'r'), 2);
    assert_int_equal(code_of("refuse", module, "first", &error), BL_UNSUPPORTED);
    assert_non_null(strstr(error.message, "first:"));
    assert_int_equal(counted(counts, 'r'), 4); /* once more for the lines of the whole text */
    assert_int_equal(code_of("ok", module, "first", &error), BL_UNSUPPORTED);
    assert_non_null(strstr(error.message, "first:"));
    assert_int_equal(counted(counts, 'r'), 4);
    assert_int_equal(code_of("rubbish", module, "second", &error), BL_SYNTAX);
    bl_cpu_module_unload(module);
    unsetenv("FAKE_COUNT");
    (void)state;
}

static void code_gets_its_variables(void **state)
{
    struct bl_device_module *module = good_module();
    const struct bl_cpu_code *code;
    struct bl_device_kernel *kernel;
    struct bl_error error;

    empty_scratch();
    setenv("FAKE_GLOBAL", "pair", 1);
    assert_int_equal(code_of("ok", module, "first", &error), BL_OK);
    assert_int_equal(bl_cpu_module_kernel(module, "first", &kernel), BL_OK);
    assert_int_equal(bl_cpu_kernel_code(kernel, true, &code, NULL), BL_OK);
    assert_ptr_equal(code->globals[0], variable(module, "pair", 24));
    assert_string_equal(code->info.globals[0], "pair");
    setenv("FAKE_GLOBAL", "elsewhere", 1);
    assert_int_equal(code_of("ok", module, "second", &error), BL_NOT_FOUND);
    assert_non_null(strstr(error.message, "elsewhere is extern"));
    unsetenv("FAKE_GLOBAL");
    bl_cpu_module_unload(module);
    (void)state;
}

static void code_without_memory_fails_cleanly(void **state)
{
    static const char *const kinds[] = {"alloc", "mmap", "read"};
    struct bl_error error;

    for (size_t kind = 0; kind < BL_LEN(kinds); kind++) {
        bool done = false;
        for (uint64_t nth = 1; nth < 100 && !done; nth++) {
            struct bl_device_module *module = good_module();
            enum bl_status status;
            empty_scratch();
            bl_cpu_client_stop();
            setenv("FAKE_MODE", "ok", 1);
            bl_fault_inject(kinds[kind], nth);
            status = code_of("ok", module, "first", &error);
            done = !bl_fault_due(kinds[kind]) && status == BL_OK && nth > 3;
            bl_fault_inject(kinds[kind], 0);
            if (status != BL_OK)
                assert_true(status == BL_NO_MEMORY || status == BL_COMPILER);
            assert_int_equal(code_of("ok", module, "first", &error), BL_OK);
            bl_cpu_module_unload(module);
        }
        assert_true(done);
    }
    (void)state;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_found_and_end_at_a_guard),
        cmocka_unit_test(alignment_is_kept),
        cmocka_unit_test(many_blocks_do_not_overlap),
        cmocka_unit_test(memory_runs_out_by_its_own_measure),
        cmocka_unit_test(refused_memory_leaves_all_as_it_was),
        cmocka_unit_test(a_modules_memory_is_not_the_programs_to_free),
        cmocka_unit_test(threads_share_the_memory),
        cmocka_unit_test(an_object_runs),
        cmocka_unit_test(code_is_never_writable),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(damaged_objects_are_refused),
        cmocka_unit_test(arm_addresses_come_out),
        cmocka_unit_test(loading_without_memory_fails_cleanly),
        cmocka_unit_test(the_cache_keeps_what_it_is_given),
        cmocka_unit_test(damaged_entries_are_as_good_as_none),
        cmocka_unit_test(a_key_that_meets_anothers_file_gets_nothing),
        cmocka_unit_test(writers_and_readers_at_once),
        cmocka_unit_test(the_cache_stays_small),
        cmocka_unit_test(without_a_folder_nothing_is_kept),
        cmocka_unit_test(a_bad_helper_costs_one_answer),
        cmocka_unit_test(a_helper_that_hangs_is_ended),
        cmocka_unit_test(a_helper_that_cannot_start_is_named),
        cmocka_unit_test(the_program_notices_nothing),
        cmocka_unit_test(a_forked_child_has_its_own_helpers),
        cmocka_unit_test(files_that_the_program_closed_are_left_alone),
        cmocka_unit_test(closed_standard_files_do_no_harm),
        cmocka_unit_test(variables_start_with_their_values),
        cmocka_unit_test(kernels_say_what_they_take),
        cmocka_unit_test(a_bad_text_says_where),
        cmocka_unit_test(loading_a_module_without_memory_fails_cleanly),
        cmocka_unit_test(unloading_waits_for_launches),
        cmocka_unit_test(a_slice_loses_what_its_module_put_there),
        cmocka_unit_test(many_threads_compile_once),
        cmocka_unit_test(a_warm_cache_needs_no_helper),
        cmocka_unit_test(useless_entries_are_compiled_anew),
        cmocka_unit_test(failures_are_remembered_unless_the_helper_died),
        cmocka_unit_test(code_gets_its_variables),
        cmocka_unit_test(code_without_memory_fails_cleanly),
    };

    if (argc < 5) {
        fprintf(stderr, "usage: %s FAKE_BAILEY_CC GOOD_OBJECT UNDEFINED_OBJECT AARCH64_OBJECT\n", argv[0]);
        return 2;
    }
    fake_path = argv[1];
    good_path = realpath(argv[2], NULL); /* helpers have another working directory */
    undefined_path = argv[3];
    arm_path = argv[4];
    return cmocka_run_group_tests_name("cpu_load", tests, set_up, tear_down);
}
