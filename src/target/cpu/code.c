/* From a kernel to its machine code: slice, cache, helper, loader. Called through bl_device_ops (attributes) and by launches, from
 * any thread. */
#include "target/cpu/load.h"

#include <stdio.h>

enum { NEVER_SET = -1, USUAL_SHARED = 48 << 10, REGISTERS_MAX = 255 };

void bl_cpu_kernel_init(struct bl_device_kernel *kernel, struct bl_device_module *module, struct bl_ptx_func *func,
                        const char *name)
{
    kernel->module = module;
    kernel->func = func;
    kernel->name = name;
    func->user = kernel;
    atomic_init(&kernel->max_dynamic_shared, (uint32_t)NEVER_SET);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&kernel->variants[i].lock, NULL);
}

/* Back to a variant that was never compiled, but for a failure that is remembered. */
static void variant_reset(struct bl_cpu_variant *variant)
{
    bl_cpu_image_unload(&variant->image);
    bl_free(variant->globals);
    bl_free(variant->names);
    bl_free(variant->lines);
    variant->globals = NULL;
    variant->names = NULL;
    variant->lines = NULL;
    memset(&variant->code, 0, sizeof(variant->code));
}

void bl_cpu_kernel_cleanup(struct bl_device_kernel *kernel)
{
    for (int i = 0; i < 2; i++) {
        variant_reset(&kernel->variants[i]);
        bl_free(kernel->variants[i].failure);
        pthread_mutex_destroy(&kernel->variants[i].lock);
    }
}

/* ---- the text that is compiled ---------------------------------------------------------------- */

static const char line_note[] = "//bl.line ", func_note[] = "//bl.func ";

static struct bl_sv next_line(struct bl_sv *rest)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    struct bl_sv line = {rest->data, end ? (size_t)(end + 1 - rest->data) : rest->size};

    rest->data += line.size;
    rest->size -= line.size;
    return line;
}

/* With one function alone nothing is called by number, and nothing takes its own address to compare it. */
static bool numbers_matter(struct bl_sv slice)
{
    uint32_t funcs = 0;

    while (slice.size && funcs < 2)
        funcs += bl_sv_starts(next_line(&slice), func_note);
    return funcs > 1;
}

static uint32_t count_notes(struct bl_sv slice)
{
    uint32_t notes = 0;

    while (slice.size)
        notes += bl_sv_starts(next_line(&slice), line_note);
    return notes;
}

enum bl_status bl_cpu_canonical_slice(struct bl_sv slice, struct bl_buffer *text, struct bl_cpu_line **lines, uint32_t *line_count,
                                      struct bl_error *error)
{
    bool keep_numbers = numbers_matter(slice);
    uint32_t at = 1, count = 0;

    *lines = bl_calloc(count_notes(slice), sizeof(**lines));
    while (*lines && slice.size) {
        struct bl_sv line = next_line(&slice);
        if (bl_sv_starts(line, line_note)) {
            uint32_t number = (uint32_t)strtoul(line.data + strlen(line_note), NULL, 10);
            (*lines)[count++] = (struct bl_cpu_line){at, number};
        } else if (keep_numbers || !bl_sv_starts(line, func_note)) {
            bl_buffer_add(text, line.data, line.size);
            at++;
        }
    }
    *line_count = count;
    if (*lines && !text->failed)
        return BL_OK;
    bl_free(*lines);
    *lines = NULL;
    return bl_fail(error, BL_NO_MEMORY, "out of memory for a kernel's text");
}

/* ---- compiling -------------------------------------------------------------------------------- */

static unsigned optimize_level(void)
{
    const char *text = getenv("BAILEY_OPTIMIZE");

    if (!text || !*text)
        return 2;
    if (text[0] >= '0' && text[0] <= '3' && !text[1])
        return (unsigned)(text[0] - '0');
    bl_error_log("BAILEY_OPTIMIZE=%s: expected 0 to 3; 2 is used", text);
    return 2;
}

static bool fast_math(void)
{
    const char *text = getenv("BAILEY_FAST_MATH");
    return text && !strcmp(text, "1");
}

static enum bl_status resolve_globals(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant,
                                      const struct bl_cpu_kernel_info *info, struct bl_error *error)
{
    variant->globals = bl_calloc(info->global_count, sizeof(*variant->globals));
    variant->names = bl_calloc(info->global_count, sizeof(*variant->names));
    if (!variant->globals || !variant->names)
        return bl_fail(error, BL_NO_MEMORY, "%s: out of memory for its variables", kernel->name);
    for (uint32_t i = 0; i < info->global_count; i++) {
        const struct bl_cpu_variable *variable;
        enum bl_status status = bl_cpu_module_resolve(kernel->module, info->globals[i], &variable, error);
        if (status != BL_OK)
            return status;
        variant->globals[i] = (void *)(uintptr_t)variable->address;
        variant->names[i] = variable->name;
    }
    return BL_OK;
}

/* Maps what was compiled. The variant is as new when it fails. */
static enum bl_status install(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, const struct bl_cpu_answer *answer,
                              struct bl_error *error)
{
    struct bl_sv object = {(const char *)answer->object, answer->object_size};
    enum bl_status status = resolve_globals(kernel, variant, &answer->info, error);

    if (status == BL_OK)
        status = bl_cpu_image_load(object, bl_cpu_host_machine(), kernel->name, &variant->image, error);
    if (status != BL_OK)
        return status;
    variant->code.entry = (void (*)(struct bl_cpu_warp *))variant->image.entry;
    variant->code.info = answer->info;
    variant->code.info.globals = variant->names;
    variant->code.globals = variant->globals;
    variant->code.begin = variant->image.begin;
    variant->code.end = variant->image.end;
    variant->code.kernel = kernel;
    return BL_OK;
}

/* Unpacks and installs an answer of bailey-cc or of the cache. */
static enum bl_status use_answer(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, struct bl_sv bytes,
                                 struct bl_error *error)
{
    struct bl_cpu_answer *answer;
    struct bl_arena arena;
    enum bl_status status = BL_NO_MEMORY;

    bl_arena_init(&arena);
    answer = BL_NEW(&arena, struct bl_cpu_answer);
    if (answer)
        status = bl_cpu_unpack_answer(&arena, bytes, answer);
    if (status == BL_OK && answer->status != BL_OK) {
        if (error && error->status == BL_OK)
            *error = answer->error;
        status = bl_fail(error, answer->status, "%s: %s", kernel->name, bl_status_name(answer->status));
    } else if (status == BL_OK) {
        status = install(kernel, variant, answer, error);
    } else {
        bl_fail(error, status, "%s: the compiler's answer can't be read", kernel->name);
    }
    bl_arena_cleanup(&arena);
    return status;
}

/* Whether the kernel could be had from the cache. An entry that is of no use is removed. */
static bool from_cache(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, struct bl_cpu_cache_key key)
{
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status;
    char *bytes;
    size_t size;

    if (!bl_cpu_cache_read(key, &bytes, &size))
        return false;
    status = use_answer(kernel, variant, (struct bl_sv){bytes, size}, &error);
    bl_free(bytes);
    if (status == BL_OK)
        return true;
    bl_info("cache: entry of %s is of no use: %s", kernel->name, error.message);
    if (status != BL_NO_MEMORY)
        bl_cpu_cache_remove(key);
    variant_reset(variant);
    return false;
}

static enum bl_status from_compiler(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant,
                                    const struct bl_cpu_request *request, const struct bl_cpu_cache_key *key,
                                    struct bl_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    enum bl_status status = bl_cpu_client_compile(request, &bytes, &size, error);

    if (status != BL_OK)
        return status;
    status = use_answer(kernel, variant, (struct bl_sv){bytes, size}, error);
    if (status == BL_OK && key)
        bl_cpu_cache_write(*key, (struct bl_sv){bytes, size});
    bl_free(bytes);
    return status;
}

static enum bl_status slice_of(struct bl_device_kernel *kernel, struct bl_buffer *slice, struct bl_error *error)
{
    struct bl_device_module *module = kernel->module;
    enum bl_status status;

    pthread_mutex_lock(&module->lock);
    status = bl_ptx_slice(module->ptx, kernel->func, slice, error);
    pthread_mutex_unlock(&module->lock);
    return status;
}

/* What is compiled is the canonical text. When that fails the slice itself is, for a message with the right lines. */
static enum bl_status compile_slice(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, uint32_t cta_shape,
                                    struct bl_sv slice, struct bl_sv canonical, struct bl_error *error)
{
    struct bl_cpu_request request = {.ptx = canonical,
                                     .kernel = kernel->name,
                                     .source_name = kernel->module->name,
                                     .cpu = getenv("BAILEY_CPU"),
                                     .cta_shape = cta_shape,
                                     .fast_math = fast_math(),
                                     .optimize = optimize_level(),
                                     .emit = BL_CPU_EMIT_OBJECT};
    struct bl_cpu_cache_key key = bl_cpu_cache_make_key(&request);
    struct bl_error why = BL_ERROR_INIT;
    enum bl_status status;

    if (from_cache(kernel, variant, key))
        return BL_OK;
    status = from_compiler(kernel, variant, &request, &key, &why);
    if (status == BL_OK)
        return BL_OK;
    variant_reset(variant);
    if (status == BL_SYNTAX || status == BL_UNSUPPORTED) {
        request.ptx = slice;
        why = (struct bl_error)BL_ERROR_INIT;
        status = from_compiler(kernel, variant, &request, NULL, &why);
        if (status == BL_OK)
            status = bl_fail(&why, BL_COMPILER, "%s: compiles only now and then", kernel->name);
        variant_reset(variant);
    }
    if (error && error->status == BL_OK)
        *error = why;
    return status;
}

static enum bl_status compile(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, uint32_t cta_shape,
                              struct bl_error *error)
{
    struct bl_buffer slice = {0}, canonical = {0};
    struct bl_cpu_line *lines = NULL;
    uint32_t line_count = 0;
    enum bl_status status = slice_of(kernel, &slice, error);

    if (status == BL_OK)
        status = bl_cpu_canonical_slice((struct bl_sv){slice.data, slice.size}, &canonical, &lines, &line_count, error);
    if (status == BL_OK)
        status = compile_slice(kernel, variant, cta_shape, (struct bl_sv){slice.data, slice.size},
                               (struct bl_sv){canonical.data, canonical.size}, error);
    if (status == BL_OK) {
        variant->code.lines = variant->lines = lines;
        variant->code.line_count = line_count;
    } else {
        bl_free(lines);
    }
    bl_buffer_cleanup(&slice);
    bl_buffer_cleanup(&canonical);
    return status;
}

/* Whether the same compile would fail again. */
static bool is_lasting(enum bl_status status)
{
    return status == BL_SYNTAX || status == BL_UNSUPPORTED || status == BL_INVALID || status == BL_NOT_FOUND;
}

static void remember(struct bl_cpu_variant *variant, enum bl_status status, const struct bl_error *error)
{
    if (!is_lasting(status))
        return;
    variant->failure = bl_malloc(sizeof(*error)); /* without memory it is compiled again */
    if (variant->failure)
        *variant->failure = *error;
}

/* With the variant's lock. */
static enum bl_status make_ready(struct bl_device_kernel *kernel, struct bl_cpu_variant *variant, uint32_t cta_shape,
                                 struct bl_error *error)
{
    enum bl_status status;

    if (atomic_load(&variant->ready))
        return BL_OK;
    if (variant->failure) {
        *error = *variant->failure;
        return error->status;
    }
    status = compile(kernel, variant, cta_shape, error);
    bl_fail(error, status, "%s: %s", kernel->name, bl_status_name(status));
    if (status == BL_OK)
        atomic_store_explicit(&variant->ready, &variant->code, memory_order_release);
    else
        remember(variant, status, error);
    return status;
}

enum bl_status bl_cpu_kernel_code(struct bl_device_kernel *kernel, uint32_t cta_shape, const struct bl_cpu_code **code,
                                  struct bl_error *error)
{
    struct bl_cpu_variant *variant = &kernel->variants[cta_shape];
    struct bl_error why = BL_ERROR_INIT;
    enum bl_status status;

    *code = atomic_load_explicit(&variant->ready, memory_order_acquire);
    if (*code)
        return BL_OK;
    pthread_mutex_lock(&variant->lock);
    status = make_ready(kernel, variant, cta_shape, &why);
    pthread_mutex_unlock(&variant->lock);
    *code = atomic_load_explicit(&variant->ready, memory_order_acquire);
    if (status != BL_OK && error && error->status == BL_OK)
        *error = why;
    return status;
}

/* ---- what is known of a kernel ---------------------------------------------------------------- */

struct bl_cpu_device *bl_cpu_kernel_device(const struct bl_device_kernel *kernel)
{
    return kernel->module->device;
}

const char *bl_cpu_kernel_name(struct bl_device_kernel *kernel)
{
    return kernel->name;
}

/* Code of any kind that is there already, or NULL. */
static const struct bl_cpu_code *any_code(const struct bl_device_kernel *kernel)
{
    const struct bl_cpu_code *code = NULL;
    for (uint32_t shape = 0; shape < BL_CPU_CTA_SHAPES && !code; shape++)
        code = atomic_load_explicit(&kernel->variants[shape].ready, memory_order_acquire);
    return code;
}

/* Until a program sets it, static and dynamic shared memory have 48 KiB together. */
static uint32_t max_dynamic_shared(const struct bl_device_kernel *kernel)
{
    uint32_t set = atomic_load_explicit(&kernel->max_dynamic_shared, memory_order_relaxed);
    const struct bl_cpu_code *code = any_code(kernel);

    if (set != (uint32_t)NEVER_SET)
        return set;
    return USUAL_SHARED - BL_MIN(code ? code->info.static_shared : 0u, (uint32_t)USUAL_SHARED);
}

void bl_cpu_kernel_get_limits(const struct bl_device_kernel *kernel, struct bl_cpu_kernel_limits *limits)
{
    const struct bl_ptx_func *func = kernel->func;

    memset(limits, 0, sizeof(*limits));
    limits->param_bytes = bl_ptx_param_offset(func, func->params.count);
    memcpy(limits->required_block, func->reqntid, sizeof(limits->required_block));
    memcpy(limits->max_block, func->maxntid, sizeof(limits->max_block));
    memcpy(limits->cluster, func->reqnctapercluster, sizeof(limits->cluster));
    limits->max_dynamic_shared = max_dynamic_shared(kernel);
}

enum bl_status bl_cpu_kernel_param(struct bl_device_kernel *kernel, uint32_t i, uint32_t *offset, uint32_t *size)
{
    const struct bl_ptx_func *func = kernel->func;

    if (i >= func->params.count)
        return BL_NOT_FOUND;
    *offset = bl_ptx_param_offset(func, i);
    *size = (uint32_t)func->params.items[i]->size;
    return BL_OK;
}

/* Threads of a block by .reqntid or .maxntid; 0 where the directive is missing. */
static uint64_t threads_of(const uint32_t block[3])
{
    return (uint64_t)block[0] * BL_MAX(block[1], 1u) * BL_MAX(block[2], 1u);
}

/* .reqntid alone does not lower it: an H200 answers 1024 (tests/api). */
static uint32_t max_threads(const struct bl_device_kernel *kernel)
{
    uint64_t most = (uint64_t)kernel->module->device->base.props.max_threads_per_block, allowed = threads_of(kernel->func->maxntid);
    return (uint32_t)(allowed ? BL_MIN(most, allowed) : most);
}

/* Bytes of constant memory that the code refers to. */
static uint32_t const_bytes(struct bl_device_kernel *kernel, const struct bl_cpu_code *code)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < code->info.global_count; i++) {
        const struct bl_cpu_variable *variable;
        if (bl_cpu_module_resolve(kernel->module, code->info.globals[i], &variable, NULL) == BL_OK &&
            variable->symbol->space == BL_PTX_CONST)
            bytes += variable->size;
    }
    return (uint32_t)BL_MIN(bytes, (uint64_t)UINT32_MAX);
}

enum bl_status bl_cpu_kernel_attr(struct bl_device_kernel *kernel, struct bl_kernel_attr *attr, struct bl_error *error)
{
    const struct bl_device_props *props = &kernel->module->device->base.props;
    const struct bl_cpu_code *code = any_code(kernel);
    enum bl_status status = code ? BL_OK : bl_cpu_kernel_code(kernel, true, &code, error);

    memset(attr, 0, sizeof(*attr));
    if (status != BL_OK)
        return status;
    attr->max_threads = max_threads(kernel);
    attr->static_shared = code->info.static_shared;
    attr->const_bytes = const_bytes(kernel, code);
    attr->local_bytes = code->info.local_bytes;
    attr->registers = BL_MIN(BL_MAX(code->info.registers, 1u), (uint32_t)REGISTERS_MAX);
    attr->param_bytes = bl_ptx_param_offset(kernel->func, kernel->func->params.count);
    attr->ptx_version = kernel->module->ptx->sm; /* CUDA means the virtual architecture */
    attr->binary_version = (uint32_t)(props->compute_major * 10 + props->compute_minor);
    attr->max_dynamic_shared = max_dynamic_shared(kernel);
    memcpy(attr->required_block, kernel->func->reqntid, sizeof(attr->required_block));
    memcpy(attr->cluster, kernel->func->reqnctapercluster, sizeof(attr->cluster));
    attr->max_cluster = kernel->func->maxclusterrank;
    attr->explicit_cluster = kernel->func->explicit_cluster;
    attr->blocks_are_clusters = kernel->func->blocks_are_clusters;
    return BL_OK;
}

enum bl_status bl_cpu_kernel_set_max_dynamic_shared(struct bl_device_kernel *kernel, uint32_t bytes)
{
    if (bytes > kernel->module->device->base.props.shared_per_block_optin)
        return BL_INVALID;
    atomic_store_explicit(&kernel->max_dynamic_shared, bytes, memory_order_relaxed);
    return BL_OK;
}
