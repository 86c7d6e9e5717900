/* What src/image finds in real files: image_files FILE EXPECTED…, with EXPECTED such as ptx:75:zstd, cubin:90a:plain, kernel:NAME
 * (in some cubin), or import:NAME, call:NAME, runtime:static. Each must be there; the PTX must be text that names a kernel. */
#include "image/image.h"

#include <stdio.h>

static const char *const kinds[] = {"ptx", "cubin", "other"};
static const char *const forms[] = {"plain", "lz4", "zstd"};

struct found {
    struct bl_arena arena;
    BL_ARRAY(char *) facts;
};

static void add(struct found *found, char *fact)
{
    *BL_PUSH(&found->arena, &found->facts) = fact;
}

static bool add_image(struct found *found, const struct bl_image *image, struct bl_error *error)
{
    char suffix[2] = {image->sm_suffix, 0};
    struct bl_cubin cubin;
    struct bl_sv code;
    add(found, bl_arena_printf(&found->arena, "%s:%u%s:%s", kinds[image->kind], image->sm, suffix, forms[image->compression]));
    if (bl_image_unpack(&found->arena, image, &code, error) != BL_OK)
        return false;
    if (image->kind == BL_IMAGE_PTX && !memmem(code.data, code.size, ".entry", 6) && !memmem(code.data, code.size, ".version", 8))
        return bl_fail(error, BL_SYNTAX, "the PTX for sm_%u is no PTX", image->sm), false;
    if (image->kind != BL_IMAGE_CUBIN)
        return true;
    if (bl_cubin_read(&found->arena, code, &cubin, error) != BL_OK)
        return false;
    if (cubin.sm != image->sm || cubin.sm_suffix != image->sm_suffix)
        return bl_fail(error, BL_SYNTAX, "the cubin says sm_%u, its entry sm_%u", cubin.sm, image->sm), false;
    for (uint32_t i = 0; i < cubin.kernels.count; i++)
        add(found, bl_arena_printf(&found->arena, "kernel:%.*s:%u", BL_SV(cubin.kernels.items[i].name),
                                   cubin.kernels.items[i].param_bytes));
    return true;
}

static bool read(struct found *found, const char *path, struct bl_error *error)
{
    struct bl_images images = {0};
    struct bl_host_elf host;
    char *data;
    size_t size;
    if (bl_file_read(path, &data, &size, error) != BL_OK)
        return false;
    struct bl_sv bytes = {bl_arena_copy(&found->arena, data, size), size};
    bl_free(data);
    if (bl_image_read_file(&found->arena, bytes, &images, error) != BL_OK)
        return false;
    for (uint32_t i = 0; i < images.items.count; i++)
        if (!add_image(found, &images.items.items[i], error))
            return false;
    if (bl_host_elf_read(&found->arena, bytes, &host, NULL) != BL_OK)
        return true;
    for (uint32_t i = 0; i < host.imports.count; i++)
        add(found, bl_arena_printf(&found->arena, "import:%.*s", BL_SV(host.imports.items[i])));
    for (uint32_t i = 0; i < host.calls_cuda.count; i++)
        add(found, bl_arena_printf(&found->arena, "call:%.*s", BL_SV(host.calls_cuda.items[i])));
    add(found, host.has_static_cudart ? "runtime:static" : "runtime:none");
    return true;
}

int main(int argc, char **argv)
{
    struct found found = {0};
    struct bl_error error = BL_ERROR_INIT;
    int missing = 0;
    bl_arena_init(&found.arena);
    if (argc < 2 || !read(&found, argv[1], &error)) {
        printf("%s: %s\n", argv[1], error.message);
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        bool there = false;
        for (uint32_t k = 0; k < found.facts.count; k++)
            there |= !strcmp(found.facts.items[k], argv[i]);
        if (!there)
            missing++, printf("missing: %s\n", argv[i]);
    }
    for (uint32_t k = 0; missing && k < found.facts.count; k++)
        if (strncmp(found.facts.items[k], "import:", 7) != 0)
            printf("found: %s\n", found.facts.items[k]);
    bl_arena_cleanup(&found.arena);
    return missing != 0;
}
