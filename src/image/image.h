/* What GPU code is in a file or a block of memory: fatbins, cubins, PTX, archives, host executables. Uses base, lz4, zstd.
 * All input is hostile: every read is checked against the given size. Format: docs/facts in comments of fatbin.c. */
#ifndef BAILEY_IMAGE_H
#define BAILEY_IMAGE_H

#include "base/base.h"

enum bl_image_kind { BL_IMAGE_PTX, BL_IMAGE_CUBIN, BL_IMAGE_OTHER };
enum bl_image_compression { BL_IMAGE_PLAIN, BL_IMAGE_LZ4, BL_IMAGE_ZSTD };

/* One entry. Views point into the input. */
struct bl_image {
    enum bl_image_kind kind;
    uint32_t raw_kind; /* the entry's number, for BL_IMAGE_OTHER */
    enum bl_image_compression compression;
    uint32_t sm;          /* 80; 0 unknown */
    char sm_suffix;       /* 'a', 'f' or 0 */
    uint32_t ptx_version; /* 10 * major + minor; 0 unknown */
    uint64_t flags;
    struct bl_sv payload;       /* as stored, compressed or not */
    uint64_t uncompressed_size; /* == payload.size where plain */
    struct bl_sv name;          /* object name of the entry where it has one */
    struct bl_sv options;       /* ptxas options of the entry where it has some */
    uint64_t file_offset;       /* of the payload, from the start of the scanned bytes */
};

struct bl_images {
    BL_ARRAY(struct bl_image) items;
};

/* The fatbin (header 0xBA55ED50 …) at bytes; several may follow each other. Size 0 in bytes.size means: not known, trust the
 * header (a program's own memory), never read past what the header says. */
enum bl_status bl_image_read_fatbin(struct bl_arena *arena, struct bl_sv bytes, struct bl_images *images, struct bl_error *error);
/* A wrapper (magic 0x466243B1, versions 1 and 2) in this process's memory. Version 2 with its list of further fatbins. */
enum bl_status bl_image_read_wrapper(struct bl_arena *arena, const void *wrapper, struct bl_images *images, struct bl_error *error);
/* What a program gave to cuModuleLoadData: wrapper, fatbin, PTX text, cubin or archive, told apart by its first bytes.
 * size 0: not known. */
enum bl_status bl_image_read_any(struct bl_arena *arena, const void *data, size_t size, struct bl_images *images,
                                 struct bl_error *error);
/* A file's bytes: ELF executable, shared library or object (.nv_fatbin, __nv_relfatbin …), fatbin, cubin, PTX, archive. */
enum bl_status bl_image_read_file(struct bl_arena *arena, struct bl_sv bytes, struct bl_images *images, struct bl_error *error);

/* The payload, decompressed into arena; PTX comes without trailing NULs. BL_SYNTAX where it is damaged. A declared size over
 * 1 GiB is refused. */
enum bl_status bl_image_unpack(struct bl_arena *arena, const struct bl_image *image, struct bl_sv *bytes, struct bl_error *error);

/* The image to run on a device of compute capability sm (80 for 8.0): the PTX of the highest architecture not above sm, else
 * the lowest above it; no PTX: NULL and BL_NO_IMAGE with a message that names the cubins that are there. */
enum bl_status bl_image_choose(const struct bl_images *images, uint32_t sm, const struct bl_image **chosen, struct bl_error *error);

/* Facts of a cubin, for inspect and messages. */
struct bl_cubin_kernel {
    struct bl_sv name;
    uint32_t registers, shared_bytes, param_bytes, stack_bytes, max_threads;
};
struct bl_cubin {
    uint32_t sm;
    char sm_suffix;
    BL_ARRAY(struct bl_cubin_kernel) kernels;
};
enum bl_status bl_cubin_read(struct bl_arena *arena, struct bl_sv bytes, struct bl_cubin *cubin, struct bl_error *error);

/* A host ELF file: what it needs and imports, for inspect and run. */
struct bl_host_elf {
    uint16_t machine;             /* EM_X86_64 … */
    bool is_32bit, is_big_endian; /* then nothing but machine is filled in */
    bool is_executable, is_static, has_interpreter, has_dynamic;
    BL_ARRAY(struct bl_sv) needed, rpath, runpath;
    BL_ARRAY(struct bl_sv) imports;      /* undefined dynamic symbols */
    BL_ARRAY(struct bl_sv) strings_cuda; /* "cu…"/"cuda…" names in its read-only data: what a static runtime looks up at run time */
    BL_ARRAY(struct bl_sv) calls_cuda; /* functions of a static runtime that the program's own code calls; none if stripped */
    bool has_static_cudart;            /* found by its symbols or strings */
};
/* Only machine, is_32bit, is_executable, is_static and has_interpreter: reads a few pages of a mapped file. */
enum bl_status bl_host_elf_read_head(struct bl_sv bytes, struct bl_host_elf *elf, struct bl_error *error);
enum bl_status bl_host_elf_read(struct bl_arena *arena, struct bl_sv bytes, struct bl_host_elf *elf, struct bl_error *error);

#endif
