/* Shared by the files of this room only. */
#ifndef BAILEY_IMAGE_INTERNAL_H
#define BAILEY_IMAGE_INTERNAL_H

#include "image/image.h"

enum {
    BL_FATBIN_WRAPPER_MAGIC = 0x466243B1,
    BL_FATBIN_HEADER_SIZE = 16,
};
/* Magic 0xBA55ED50, version 1, header size 16, as they stand in a file. */
#define BL_FATBIN_MAGIC "\x50\xed\x55\xba\x01\x00\x10\x00"
#define BL_ARCHIVE_MAGIC "!<arch>\n"

struct bl_image_reader {
    struct bl_arena *arena;
    struct bl_images *images;
    struct bl_error *error;
    const char *base; /* file offsets count from here */
};

/* Runs work(context) with the arena's running out of memory turned into BL_NO_MEMORY, whatever the arena's owner wants then. */
enum bl_status bl_image_guard(struct bl_arena *arena, enum bl_status (*work)(void *context), void *context, struct bl_error *error);

/* One fatbin at bytes (header and entries inside); *used is its size. */
enum bl_status bl_fatbin_read_one(struct bl_image_reader *reader, struct bl_sv bytes, size_t *used);
/* All fatbins at bytes, zeros between them allowed. */
enum bl_status bl_fatbin_read_all(struct bl_image_reader *reader, struct bl_sv bytes);
/* Fatbins wherever they stand in bytes; what only looks like one is passed over. */
void bl_fatbin_scan(struct bl_image_reader *reader, struct bl_sv bytes);
/* The size in memory of the fatbin at data by its header; 0 where there is none. */
enum bl_status bl_image_mapped(struct bl_sv bytes, struct bl_error *error); /* whether all of it is in the process's memory */
size_t bl_fatbin_extent(const void *data);

/* True where text starts as PTX does: comments and space, then .version. Fills version, sm and suffix where given. */
bool bl_ptx_header(struct bl_sv text, struct bl_image *image);
/* Compute capability of a cubin by its header and notes. */
enum bl_status bl_cubin_architecture(struct bl_sv bytes, uint32_t *sm, char *suffix, struct bl_error *error);
bool bl_cubin_is(struct bl_sv bytes);

struct bl_elf;
/* Fills calls_cuda of a program with a static runtime. */
void bl_host_find_calls(struct bl_arena *arena, const struct bl_elf *elf, struct bl_host_elf *host);

#endif
