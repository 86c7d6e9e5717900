/* Writing fatbins, for nvcc. Uses base. The format is read by src/image; its facts stand in src/image/fatbin.c. */
#ifndef BAILEY_TOOLKIT_FATBIN_H
#define BAILEY_TOOLKIT_FATBIN_H

#include "base/base.h"

/* One PTX text for an architecture (80 for compute_80). */
struct bl_fatbin_entry {
    struct bl_sv ptx;
    uint32_t sm;
};

/* Appends a fatbin of the entries to out. Check out->failed. */
void bl_fatbin_write(struct bl_buffer *out, const struct bl_fatbin_entry *entries, size_t count, bool compress);

#endif
