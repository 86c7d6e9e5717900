/* The payload of an image as it was before compression. Sizes come from the file: a declared size that so short a payload cannot
 * reach is refused before memory is asked for. */
#include "image/internal.h"

#include <lz4.h>
#include <zstd.h>

enum { LARGEST_IMAGE = 1 << 30 };

/* The most that so many compressed bytes can become. LZ4: each byte extends a match by at most 255. Zstandard: a block is at most
 * 128 KiB and takes at least 4 bytes. */
static uint64_t largest_result(const struct bl_image *image)
{
    return image->compression == BL_IMAGE_LZ4 ? image->payload.size * (uint64_t)255 + 64
                                              : (image->payload.size / 4 + 1) * (uint64_t)(128 << 10);
}

struct unpack_call {
    struct bl_arena *arena;
    const struct bl_image *image;
    struct bl_sv *bytes;
    struct bl_error *error;
};

static enum bl_status damaged(const struct unpack_call *call, const char *why)
{
    return bl_fail(call->error, BL_SYNTAX, "%s image for sm_%u: the compressed code is damaged: %s",
                   call->image->kind == BL_IMAGE_PTX ? "PTX" : "machine code", call->image->sm, why);
}

static enum bl_status decompress(const struct unpack_call *call, char *to)
{
    const struct bl_image *image = call->image;
    size_t size = (size_t)image->uncompressed_size;
    if (image->compression == BL_IMAGE_LZ4) {
        int got = LZ4_decompress_safe(image->payload.data, to, (int)image->payload.size, (int)size);
        if (got < 0)
            return damaged(call, "not an LZ4 block");
        return (size_t)got == size ? BL_OK : damaged(call, "it is shorter than declared");
    }
    size_t got = ZSTD_decompress(to, size, image->payload.data, image->payload.size);
    if (ZSTD_isError(got))
        return damaged(call, ZSTD_getErrorName(got));
    return got == size ? BL_OK : damaged(call, "it is shorter than declared");
}

static enum bl_status unpack_work(void *context)
{
    const struct unpack_call *call = context;
    const struct bl_image *image = call->image;
    struct bl_sv bytes = image->payload;
    if (image->compression == BL_IMAGE_PLAIN && image->uncompressed_size != image->payload.size)
        return bl_fail(call->error, BL_UNSUPPORTED, "an image compressed in an unknown way (flags 0x%llx)",
                       (unsigned long long)image->flags);
    if (image->uncompressed_size > LARGEST_IMAGE || image->payload.size > LARGEST_IMAGE)
        return damaged(call, "it declares more than 1 GiB");
    if (image->compression != BL_IMAGE_PLAIN) {
        if (image->uncompressed_size > largest_result(image))
            return damaged(call, "it declares more than so few bytes can hold");
        char *to = bl_arena_alloc(call->arena, (size_t)image->uncompressed_size + 1);
        enum bl_status status = decompress(call, to);
        if (status != BL_OK)
            return status;
        bytes = (struct bl_sv){to, (size_t)image->uncompressed_size};
    }
    while (image->kind == BL_IMAGE_PTX && bytes.size && !bytes.data[bytes.size - 1])
        bytes.size--;
    *call->bytes = bytes;
    return BL_OK;
}

enum bl_status bl_image_unpack(struct bl_arena *arena, const struct bl_image *image, struct bl_sv *bytes, struct bl_error *error)
{
    struct unpack_call call = {arena, image, bytes, error};
    *bytes = (struct bl_sv){"", 0};
    return bl_image_guard(arena, unpack_work, &call, error);
}
