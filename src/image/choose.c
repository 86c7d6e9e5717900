/* Which image of several a device runs. */
#include "image/internal.h"

#include <stdio.h>

/* True when a is the better choice for sm. Plain PTX goes before that of the same number with features of one architecture
 * (sm_90a), which asks for more. */
static bool better(const struct bl_image *a, const struct bl_image *b, uint32_t sm)
{
    bool a_fits = a->sm <= sm, b_fits = b->sm <= sm;
    if (a_fits != b_fits)
        return a_fits;
    if (a->sm != b->sm)
        return a_fits ? a->sm > b->sm : a->sm < b->sm;
    return !a->sm_suffix && b->sm_suffix;
}

static bool named_before(const struct bl_images *images, uint32_t end)
{
    const struct bl_image *one = &images->items.items[end];
    for (uint32_t i = 0; i < end; i++) {
        const struct bl_image *other = &images->items.items[i];
        if (other->kind == one->kind && other->sm == one->sm && other->sm_suffix == one->sm_suffix)
            return true;
    }
    return false;
}

static enum bl_status say_what_is_there(const struct bl_images *images, struct bl_error *error)
{
    char list[512];
    size_t used = 0;
    uint32_t cubins = 0;
    list[0] = 0;
    for (uint32_t i = 0; i < images->items.count && used < sizeof(list); i++) {
        const struct bl_image *image = &images->items.items[i];
        char suffix[2] = {image->sm_suffix, 0};
        cubins += image->kind == BL_IMAGE_CUBIN;
        if (named_before(images, i))
            continue;
        int wrote = snprintf(list + used, sizeof(list) - used, "%s%ssm_%u%s", used ? ", " : "",
                             image->kind == BL_IMAGE_CUBIN ? "" : "link-time optimisation code for ", image->sm, suffix);
        used += (size_t)BL_MAX(wrote, 0);
    }
    if (!images->items.count)
        return bl_fail(error, BL_NO_IMAGE, "the image holds no code at all");
    return bl_fail(error, BL_NO_IMAGE, "no PTX in it, only %s%.400s", cubins ? "machine code: " : "", list);
}

enum bl_status bl_image_choose(const struct bl_images *images, uint32_t sm, const struct bl_image **chosen, struct bl_error *error)
{
    const struct bl_image *best = NULL;
    for (uint32_t i = 0; i < images->items.count; i++) {
        const struct bl_image *image = &images->items.items[i];
        if (image->kind == BL_IMAGE_PTX && (!best || better(image, best, sm)))
            best = image;
    }
    *chosen = best;
    return best ? BL_OK : say_what_is_there(images, error);
}
