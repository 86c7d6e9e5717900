/* From what a program hands over (fatbin wrapper, fatbin, PTX text, an archive) to the one PTX text that the device gets. */
#include "cuda/driver/driver.h"
#include "image/image.h"

enum { WRAPPER_MAGIC = 0x466243B1 };

/* What nvcc's host code registers. Version 2, from -rdc=true: `list` holds the headers of one fatbin for each object file and a
 * NULL, to be linked; version 1: data is the header of the one fatbin. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *list;
};

void bl_cu_code_cleanup(struct bl_cu_code *code)
{
    bl_free(code->ptx);
    code->ptx = NULL;
}

uint32_t bl_cu_device_sm(const struct bl_cu_device *device)
{
    return (uint32_t)(device->device->props.compute_major * 10 + device->device->props.compute_minor);
}

struct inputs {
    BL_ARRAY(struct bl_cu_link_input) items;
};

/* Adds the best PTX of a set of images. */
static enum bl_status add_best(struct bl_arena *arena, const struct bl_images *images, uint32_t sm, struct inputs *inputs,
                               struct bl_error *error)
{
    const struct bl_image *chosen = NULL;
    struct bl_sv text;
    enum bl_status status = bl_image_choose(images, sm, &chosen, error);
    if (status == BL_OK)
        status = bl_image_unpack(arena, chosen, &text, error);
    if (status != BL_OK)
        return status;
    const char *name = chosen->name.size ? bl_sv_copy(arena, chosen->name) : "fatbin";
    *BL_PUSH(arena, &inputs->items) = (struct bl_cu_link_input){text, name};
    return BL_OK;
}

static enum bl_status add_list(struct bl_arena *arena, const struct wrapper *wrapper, uint32_t sm, struct inputs *inputs,
                               struct bl_error *error)
{
    for (uint32_t i = 0; wrapper->list && wrapper->list[i]; i++) {
        struct bl_images images = {0};
        enum bl_status status = bl_image_read_fatbin(arena, (struct bl_sv){wrapper->list[i], 0}, &images, error);
        if (status == BL_OK)
            status = add_best(arena, &images, sm, inputs, error);
        if (status != BL_OK)
            return status;
    }
    return BL_OK;
}

static enum bl_status read_inputs(struct bl_arena *arena, const void *data, size_t size, uint32_t sm, struct inputs *inputs,
                                  bool *check_now, struct bl_error *error)
{
    uint32_t magic = 0;
    memcpy(&magic, data, size && size < sizeof(magic) ? size : strnlen(data, sizeof(magic)));
    const struct wrapper *wrapper = data;
    if (magic == WRAPPER_MAGIC && (!size || size >= sizeof(*wrapper)) && wrapper->version == 2 && wrapper->list && wrapper->list[0])
        return add_list(arena, wrapper, sm, inputs, error);
    struct bl_images images = {0};
    enum bl_status status = bl_image_read_any(arena, data, size, &images, error);
    if (status != BL_OK)
        return status;
    *check_now = images.items.count == 1 && images.items.items[0].kind == BL_IMAGE_PTX &&
                 images.items.items[0].payload.data == (const char *)data;
    return add_best(arena, &images, sm, inputs, error);
}

static enum bl_status join_inputs(const struct inputs *inputs, struct bl_cu_code *code, struct bl_error *error)
{
    struct bl_buffer out = {0};
    enum bl_status status = BL_OK;
    if (inputs->items.count == 1)
        bl_buffer_add(&out, inputs->items.items[0].text.data, inputs->items.items[0].text.size);
    else
        status = bl_cu_link(inputs->items.items, inputs->items.count, &out, error);
    if (status == BL_OK && (out.failed || !out.data))
        status = bl_fail(error, BL_NO_MEMORY, "out of memory for %u PTX texts", inputs->items.count);
    if (status != BL_OK) {
        bl_buffer_cleanup(&out);
        return status;
    }
    code->ptx = out.data;
    code->size = out.size;
    return BL_OK;
}

enum bl_status bl_cu_code_read(const void *data, size_t size, uint32_t sm, struct bl_cu_code *code, struct bl_error *error)
{
    struct bl_arena arena;
    struct inputs inputs = {0};
    jmp_buf no_memory;
    memset(code, 0, sizeof(*code));
    bl_arena_init(&arena);
    if (setjmp(no_memory)) {
        bl_arena_cleanup(&arena);
        return bl_fail(error, BL_NO_MEMORY, "out of memory while reading a code image");
    }
    arena.no_memory = &no_memory;
    enum bl_status status = read_inputs(&arena, data, size, sm, &inputs, &code->check_now, error);
    if (status == BL_OK)
        status = join_inputs(&inputs, code, error);
    bl_arena_cleanup(&arena);
    return status;
}
