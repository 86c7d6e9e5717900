/* Fuzzer of src/image: no input may crash it, hang it, or make it read outside. Run: build-fuzz/tests/fuzz/fuzz_image SEEDS. */
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_LIMIT = 64 << 20 };

static void read_code(struct bl_arena *arena, const struct bl_image *image)
{
    struct bl_cubin cubin;
    struct bl_sv code;
    if (bl_image_unpack(arena, image, &code, NULL) == BL_OK && image->kind == BL_IMAGE_CUBIN)
        bl_cubin_read(arena, code, &cubin, NULL);
}

static void read_images(struct bl_arena *arena, const struct bl_images *images)
{
    const struct bl_image *chosen;
    for (uint32_t i = 0; i < images->items.count && i < 64; i++)
        read_code(arena, &images->items.items[i]);
    bl_image_choose(images, 80, &chosen, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_arena arena;
    struct bl_images images = {0}, any = {0};
    struct bl_sv bytes = {(const char *)data, size};
    struct bl_cubin cubin;
    struct bl_host_elf host;
    bl_arena_init(&arena);
    arena.limit = MEMORY_LIMIT;
    bl_image_read_file(&arena, bytes, &images, NULL);
    read_images(&arena, &images);
    /* A wrapper is a program's own memory and holds addresses: those can't be given by a fuzzer. */
    if (size && !bl_sv_starts(bytes, "\xb1\x43\x62\x46"))
        bl_image_read_any(&arena, data, size, &any, NULL);
    bl_cubin_read(&arena, bytes, &cubin, NULL);
    bl_host_elf_read(&arena, bytes, &host, NULL);
    bl_arena_cleanup(&arena);
    return 0;
}
