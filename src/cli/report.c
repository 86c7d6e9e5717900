/* bailey inspect's two ways to say what it found. */
#include "cli/inspect.h"

#include <stdio.h>

static const char *const compressions[] = {"plain", "lz4", "zstd"};
static const char *const libraries[] = {"driver", "runtime", "other"};
static const char *const hows[] = {"imported", "called", "looked up"};
static const char *const statuses[] = {"works", "not yet", "unknown"};
static const char *const verdicts[] = {"runs", "runs unless", "cannot run"};

static const char *kind_name(const struct bl_image *image)
{
    switch (image->kind) {
    case BL_IMAGE_PTX:
        return "PTX";
    case BL_IMAGE_CUBIN:
        return "cubin";
    default:
        return image->raw_kind == 8 ? "LTO-IR" : "unknown";
    }
}

static const char *architecture(const struct bl_image *image, char *text, size_t size)
{
    char suffix[2] = {image->sm_suffix, 0};
    snprintf(text, size, "%s_%u%s", image->kind == BL_IMAGE_PTX ? "compute" : "sm", image->sm, suffix);
    return text;
}

/* Text from a file onto the terminal: what could steer it, or is no text, becomes a question mark. */
static void print_text(struct bl_sv text)
{
    for (size_t i = 0, length; i < text.size; i += BL_MAX(length, (size_t)1)) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        length = bl_cli_utf8_length(at, text.size - i);
        bool control = *at < 0x20 || *at == 0x7f || (*at == 0xc2 && length == 2 && at[1] < 0xa0);
        if (length && !control)
            fwrite(at, 1, length, stdout);
        else
            putchar('?');
    }
}

/* ---- text -------------------------------------------------------------------------------- */

static void print_codes(const struct bl_cli_file *file)
{
    char text[32];
    if (file->codes.count)
        printf("  images\n");
    for (uint32_t i = 0; i < file->codes.count; i++) {
        const struct bl_cli_code *code = &file->codes.items[i];
        const struct bl_image *image = &code->image;
        printf("    #%-3u %-6s %-13s", code->number, kind_name(image), architecture(image, text, sizeof(text)));
        if (image->ptx_version)
            snprintf(text, sizeof(text), "ISA %u.%u", image->ptx_version / 10, image->ptx_version % 10);
        printf(" %-9s %-5s %9zu", image->ptx_version ? text : "", compressions[image->compression], image->payload.size);
        if (image->compression != BL_IMAGE_PLAIN)
            printf(" -> %llu", (unsigned long long)image->uncompressed_size);
        printf(" bytes");
        if (image->name.size) {
            printf("  ");
            print_text(image->name);
        }
        if (image->options.size) {
            printf("  [");
            print_text(image->options);
            printf("]");
        }
        putchar('\n');
        if (code->fault) {
            printf("         damaged: ");
            print_text(bl_sv(code->fault));
            putchar('\n');
        }
    }
}

static void print_kernels(const struct bl_cli_file *file)
{
    if (file->kernels.count)
        printf("  kernels\n");
    for (uint32_t i = 0; i < file->kernels.count; i++) {
        const struct bl_cli_kernel *kernel = &file->kernels.items[i];
        printf("    #%-3u ", kernel->code->number);
        print_text(bl_sv(kernel->demangled));
        printf("\n         ");
        if (kernel->counted)
            printf("%u parameter%s, ", kernel->parameter_count, kernel->parameter_count == 1 ? "" : "s");
        printf("%u bytes%s", kernel->parameter_bytes, kernel->counted ? "" : " of parameters");
        printf("; shared %llu", (unsigned long long)kernel->shared_bytes);
        if (kernel->registers)
            printf("; registers %u", kernel->registers);
        if (kernel->max_registers)
            printf("; registers at most %u", kernel->max_registers);
        if (kernel->max_threads)
            printf("; threads at most %u", kernel->max_threads);
        if (kernel->min_ctas)
            printf("; blocks at least %u", kernel->min_ctas);
        putchar('\n');
        if (kernel->fault && kernel->code->image.kind == BL_IMAGE_PTX) {
            printf("         cannot run: ");
            print_text(bl_sv(kernel->fault));
            putchar('\n');
        }
    }
}

static void print_uses(const struct bl_cli_file *file, enum bl_cli_how how, const char *title, bool list)
{
    uint32_t count = 0, working = 0;
    for (uint32_t i = 0; i < file->uses.count; i++) {
        count += file->uses.items[i].how == how;
        working += file->uses.items[i].how == how && file->uses.items[i].works == BL_CLI_WORKS;
    }
    if (!count)
        return;
    printf("  %s: %u, of which %u work%s\n", title, count, working, list ? "" : " (--json lists them)");
    for (uint32_t i = 0; list && i < file->uses.count; i++) {
        const struct bl_cli_use *use = &file->uses.items[i];
        if (use->how != how)
            continue;
        printf("    %-8s ", statuses[use->works]);
        print_text(use->name);
        putchar('\n');
    }
}

void bl_cli_report_text(const struct bl_cli_file *file)
{
    printf("%s: %s\n", file->path, file->kind);
    print_codes(file);
    print_kernels(file);
    if (file->needed.count)
        printf("  CUDA libraries\n");
    for (uint32_t i = 0; i < file->needed.count; i++) {
        printf("    %-8s ", file->needed.items[i].here ? "here" : "missing");
        print_text(file->needed.items[i].name);
        putchar('\n');
    }
    print_uses(file, BL_CLI_IMPORTED, "imported CUDA functions", true);
    print_uses(file, BL_CLI_CALLED, "CUDA functions called in the runtime that is linked in", true);
    print_uses(file, BL_CLI_LOOKED_UP,
               file->host.has_static_cudart ? "driver functions that this runtime may look up"
                                            : "CUDA functions whose names it holds",
               !file->host.has_static_cudart);
    if (file->fault) {
        printf("  %s: ", strcmp(file->kind, "unknown") ? "damaged" : "fault");
        print_text(bl_sv(file->fault));
        putchar('\n');
    }
    printf("  verdict: ");
    print_text(bl_sv(file->verdict_text));
    putchar('\n');
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_codes(struct bl_json *json, const struct bl_cli_file *file)
{
    char text[32];
    bl_json_open(json, "images", '[');
    for (uint32_t i = 0; i < file->codes.count; i++) {
        const struct bl_cli_code *code = &file->codes.items[i];
        bl_json_open(json, NULL, '{');
        bl_json_number(json, "number", code->number);
        bl_json_text(json, "kind", bl_sv(kind_name(&code->image)));
        bl_json_text(json, "architecture", bl_sv(architecture(&code->image, text, sizeof(text))));
        if (code->image.ptx_version) {
            snprintf(text, sizeof(text), "%u.%u", code->image.ptx_version / 10, code->image.ptx_version % 10);
            bl_json_text(json, "isa", bl_sv(text));
        }
        bl_json_text(json, "compression", bl_sv(compressions[code->image.compression]));
        bl_json_number(json, "stored_bytes", code->image.payload.size);
        bl_json_number(json, "bytes", code->image.uncompressed_size);
        bl_json_number(json, "offset", code->image.file_offset);
        if (code->image.name.size)
            bl_json_text(json, "source", code->image.name);
        if (code->image.options.size)
            bl_json_text(json, "options", code->image.options);
        if (code->fault)
            bl_json_text(json, "fault", bl_sv(code->fault));
        bl_json_close(json, '}');
    }
    bl_json_close(json, ']');
}

static void json_kernels(struct bl_json *json, const struct bl_cli_file *file)
{
    bl_json_open(json, "kernels", '[');
    for (uint32_t i = 0; i < file->kernels.count; i++) {
        const struct bl_cli_kernel *kernel = &file->kernels.items[i];
        bl_json_open(json, NULL, '{');
        bl_json_text(json, "name", kernel->name);
        bl_json_text(json, "demangled", bl_sv(kernel->demangled));
        bl_json_number(json, "image", kernel->code->number);
        if (kernel->counted)
            bl_json_number(json, "parameters", kernel->parameter_count);
        bl_json_number(json, "parameter_bytes", kernel->parameter_bytes);
        bl_json_number(json, "shared_bytes", kernel->shared_bytes);
        if (kernel->registers)
            bl_json_number(json, "registers", kernel->registers);
        if (kernel->max_registers)
            bl_json_number(json, "max_registers", kernel->max_registers);
        if (kernel->max_threads)
            bl_json_number(json, "max_threads", kernel->max_threads);
        if (kernel->min_ctas)
            bl_json_number(json, "min_blocks", kernel->min_ctas);
        bl_json_bool(json, "runs", !kernel->fault);
        if (kernel->fault)
            bl_json_text(json, "fault", bl_sv(kernel->fault));
        bl_json_close(json, '}');
    }
    bl_json_close(json, ']');
}

static void json_uses(struct bl_json *json, const struct bl_cli_file *file)
{
    bl_json_open(json, "libraries", '[');
    for (uint32_t i = 0; i < file->needed.count; i++) {
        bl_json_open(json, NULL, '{');
        bl_json_text(json, "name", file->needed.items[i].name);
        bl_json_bool(json, "here", file->needed.items[i].here);
        bl_json_close(json, '}');
    }
    bl_json_close(json, ']');
    bl_json_open(json, "functions", '[');
    for (uint32_t i = 0; i < file->uses.count; i++) {
        const struct bl_cli_use *use = &file->uses.items[i];
        bl_json_open(json, NULL, '{');
        bl_json_text(json, "name", use->name);
        bl_json_text(json, "library", bl_sv(libraries[use->library]));
        bl_json_text(json, "how", bl_sv(hows[use->how]));
        bl_json_text(json, "status", bl_sv(statuses[use->works]));
        bl_json_close(json, '}');
    }
    bl_json_close(json, ']');
}

void bl_cli_report_json(struct bl_json *json, const struct bl_cli_file *file)
{
    bl_json_open(json, NULL, '{');
    bl_json_text(json, "file", bl_sv(file->path));
    bl_json_text(json, "kind", bl_sv(file->kind));
    json_codes(json, file);
    json_kernels(json, file);
    json_uses(json, file);
    if (file->fault)
        bl_json_text(json, "fault", bl_sv(file->fault));
    bl_json_text(json, "verdict", bl_sv(verdicts[file->verdict]));
    bl_json_text(json, "verdict_text", bl_sv(file->verdict_text));
    bl_json_close(json, '}');
}
