/* All passes in order, from what a front end made to what a target takes. */
#include "kir/kir.h"

enum bl_status bl_kir_prepare(struct bl_kir_module *module, struct bl_error *error)
{
    for (uint32_t i = 0; i < module->funcs.count; i++) {
        enum bl_status status = bl_kir_ssa(module->funcs.items[i], error);
        if (status != BL_OK)
            return status;
        bl_kir_dce(module->funcs.items[i]);
    }
    return BL_OK;
}
