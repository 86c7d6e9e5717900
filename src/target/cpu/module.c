/* Modules of the CPU device: PTX text, its kernels and variables by name, the variables' memory and initial values. Called through
 * bl_device_ops, and by code.c. Bodies of functions stay text here: bailey-cc parses those that it compiles.
 *
 * The address of a function is its number in the module (bl_ptx_func.number); all other addresses are pointers of the host. */
#include "target/cpu/load.h"

#include <stdio.h>

enum { DEVICE_BLOCK, MANAGED_BLOCK };
static const uint64_t variable_align = 16; /* at least, as for the largest vector access */

/* Unloading waits here for launches in flight. Not in the module: the last launch may touch nothing of it once it has let go. */
static pthread_mutex_t unload_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unload_ready = PTHREAD_COND_INITIALIZER;
static _Atomic uint32_t unload_waiters;

static enum bl_status no_memory(const struct bl_device_module *module, struct bl_error *error)
{
    return bl_fail(error, BL_NO_MEMORY, "%s: out of memory", module->name ? module->name : "module");
}

/* ---- text ------------------------------------------------------------------------------------- */

static enum bl_status copy_text(struct bl_device_module *module, const struct bl_module_source *source, struct bl_error *error)
{
    module->name = bl_strdup(source->name ? source->name : "PTX");
    module->text = bl_malloc(source->ptx.size + 1);
    if (!module->name || !module->text)
        return no_memory(module, error);
    memcpy(module->text, source->ptx.data, source->ptx.size);
    module->text[source->ptx.size] = 0;
    return BL_OK;
}

/* Every body, one by one: what is correct but not supported is left to the launch of its kernel. */
static enum bl_status check_bodies(struct bl_device_module *module, struct bl_sv text, struct bl_error *error)
{
    struct bl_ptx_module *ptx;
    struct bl_arena arena;
    enum bl_status status;

    bl_arena_init(&arena);
    status = bl_ptx_parse(&arena, text, module->name, BL_PTX_LAZY, &ptx, error);
    for (uint32_t i = 0; status == BL_OK && i < ptx->funcs.count; i++) {
        struct bl_error why = BL_ERROR_INIT;
        if (!ptx->funcs.items[i]->has_body)
            continue;
        status = bl_ptx_parse_body(ptx, ptx->funcs.items[i], &why);
        if (status == BL_UNSUPPORTED)
            status = BL_OK;
        else if (status != BL_OK && error && error->status == BL_OK)
            *error = why;
    }
    bl_arena_cleanup(&arena);
    return status;
}

/* The tree of a check takes much memory and is dropped again. */
static enum bl_status check_all(struct bl_device_module *module, struct bl_sv text, struct bl_error *error)
{
    struct bl_error why = BL_ERROR_INIT;
    struct bl_ptx_module *ptx;
    struct bl_arena arena;
    enum bl_status status;

    bl_arena_init(&arena);
    status = bl_ptx_parse(&arena, text, module->name, 0, &ptx, &why);
    bl_arena_cleanup(&arena);
    if (status == BL_UNSUPPORTED)
        return check_bodies(module, text, error);
    if (status != BL_OK && error && error->status == BL_OK)
        *error = why;
    return status;
}

static enum bl_status parse(struct bl_device_module *module, const struct bl_module_source *source, struct bl_error *error)
{
    struct bl_sv text;
    enum bl_status status = copy_text(module, source, error);

    if (status != BL_OK)
        return status;
    text = (struct bl_sv){module->text, source->ptx.size};
    if (source->check_now)
        status = check_all(module, text, error);
    if (status == BL_OK)
        status = bl_ptx_parse(&module->arena, text, module->name, BL_PTX_LAZY, &module->ptx, error);
    return status;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

static bool is_kernel(const struct bl_ptx_func *func)
{
    return func->is_entry && func->has_body;
}

static enum bl_status make_kernels(struct bl_device_module *module, struct bl_error *error)
{
    const struct bl_ptx_module *ptx = module->ptx;
    uint32_t count = 0;

    for (uint32_t i = 0; i < ptx->funcs.count; i++)
        count += is_kernel(ptx->funcs.items[i]);
    module->kernels = bl_calloc(count, sizeof(*module->kernels));
    if (!module->kernels)
        return no_memory(module, error);
    for (uint32_t i = 0; i < ptx->funcs.count; i++) {
        struct bl_ptx_func *func = ptx->funcs.items[i];
        const char *name = is_kernel(func) ? bl_sv_copy(&module->arena, func->name) : "";
        if (!name)
            return no_memory(module, error);
        if (is_kernel(func))
            bl_cpu_kernel_init(&module->kernels[module->kernel_count++], module, func, name);
    }
    return BL_OK;
}

/* ---- variables -------------------------------------------------------------------------------- */

/* Not those of shared memory, which each CTA has its own of. */
static bool is_variable(const struct bl_ptx_symbol *symbol)
{
    return symbol->kind == BL_PTX_SYM_VAR && (symbol->space == BL_PTX_GLOBAL || symbol->space == BL_PTX_CONST);
}

static int block_of(const struct bl_ptx_symbol *symbol)
{
    return symbol->is_managed ? MANAGED_BLOCK : DEVICE_BLOCK;
}

/* Notes the variable; its place in its block is left in address. sizes: of the blocks so far. */
static enum bl_status place_variable(struct bl_device_module *module, struct bl_ptx_symbol *symbol, uint64_t sizes[2],
                                     struct bl_error *error)
{
    struct bl_cpu_variable *variable = &module->variables[module->variable_count];
    uint64_t align = BL_MAX((uint64_t)symbol->align, variable_align), *size = &sizes[block_of(symbol)];

    variable->symbol = symbol;
    variable->name = bl_sv_copy(&module->arena, symbol->name);
    variable->size = symbol->size;
    if (!variable->name)
        return no_memory(module, error);
    symbol->user = variable;
    module->variable_count++;
    if (symbol->linking == BL_PTX_EXTERN)
        return BL_OK;
    if (align & (align - 1) || *size > UINT64_MAX / 4 || symbol->size > UINT64_MAX / 4)
        return bl_fail(error, BL_NO_MEMORY, "%s: variable %s: %llu bytes are more than there are", module->name, variable->name,
                       (unsigned long long)symbol->size);
    variable->address = BL_ALIGN_UP(*size, align);
    *size = variable->address + BL_MAX(symbol->size, (uint64_t)1);
    return BL_OK;
}

static enum bl_status take_blocks(struct bl_device_module *module, const uint64_t sizes[2], uint64_t align, struct bl_error *error)
{
    static const enum bl_alloc_kind kinds[2] = {BL_ALLOC_DEVICE, BL_ALLOC_MANAGED};

    for (int block = 0; block < 2; block++) {
        enum bl_status status = BL_OK;
        if (sizes[block])
            status = bl_cpu_memory_take(module->device->memory, kinds[block], sizes[block], align, &module->blocks[block], error);
        if (status != BL_OK)
            return status;
    }
    return BL_OK;
}

/* What an initialiser's element comes to; masks pick one byte of an address (PTX ISA, "Initializers"). */
static enum bl_status initial_value(const struct bl_device_module *module, const struct bl_cpu_variable *variable,
                                    const struct bl_ptx_init *init, uint64_t *value, struct bl_error *error)
{
    const struct bl_ptx_symbol *symbol = init->symbol;

    *value = init->bits;
    if (symbol && symbol->kind == BL_PTX_SYM_FUNC) {
        const struct bl_ptx_func *func = symbol->func->is_alias ? symbol->func->aliasee : symbol->func;
        *value += func->number;
    } else if (symbol) {
        const struct bl_cpu_variable *other = is_variable(symbol) ? symbol->user : NULL;
        if (!other || !other->address)
            return bl_fail(error, BL_NOT_FOUND, "%s: the initial value of %s needs the address of %.*s, which has none",
                           module->name, variable->name, BL_SV(symbol->name));
        *value += other->address;
    }
    if (init->mask)
        *value = (*value & init->mask) >> __builtin_ctzll(init->mask);
    return BL_OK;
}

static enum bl_status initialise(const struct bl_device_module *module, const struct bl_cpu_variable *variable,
                                 struct bl_error *error)
{
    const struct bl_ptx_symbol *symbol = variable->symbol;

    for (uint32_t i = 0; i < symbol->inits.count && variable->address; i++) {
        const struct bl_ptx_init *init = &symbol->inits.items[i];
        uint64_t value;
        enum bl_status status = initial_value(module, variable, init, &value, error);
        if (status != BL_OK)
            return status;
        if (init->size > sizeof(value) || init->offset > symbol->size || init->size > symbol->size - init->offset)
            return bl_fail(error, BL_SYNTAX, "%s: the initial value of %s ends outside of it", module->name, variable->name);
        memcpy((char *)(uintptr_t)variable->address + init->offset, &value, init->size); /* little endian, as the device */
    }
    return BL_OK;
}

static enum bl_status place_variables(struct bl_device_module *module, uint64_t sizes[2], uint64_t *align, struct bl_error *error)
{
    const struct bl_ptx_module *ptx = module->ptx;
    enum bl_status status = BL_OK;

    for (uint32_t i = 0; i < ptx->variables.count && status == BL_OK; i++) {
        struct bl_ptx_symbol *symbol = ptx->variables.items[i];
        if (!is_variable(symbol))
            continue;
        *align = BL_MAX(*align, (uint64_t)symbol->align);
        status = place_variable(module, symbol, sizes, error);
    }
    return status;
}

static enum bl_status make_variables(struct bl_device_module *module, struct bl_error *error)
{
    uint64_t sizes[2] = {0}, align = variable_align;
    enum bl_status status;

    module->variables = bl_calloc(module->ptx->variables.count, sizeof(*module->variables));
    if (!module->variables)
        return no_memory(module, error);
    status = place_variables(module, sizes, &align, error);
    if (status == BL_OK)
        status = take_blocks(module, sizes, align, error);
    for (uint32_t i = 0; i < module->variable_count && status == BL_OK; i++)
        if (module->variables[i].symbol->linking != BL_PTX_EXTERN)
            module->variables[i].address += module->blocks[block_of(module->variables[i].symbol)];
    for (uint32_t i = 0; i < module->variable_count && status == BL_OK; i++)
        status = initialise(module, &module->variables[i], error);
    return status;
}

static struct bl_cpu_variable *find_variable(const struct bl_device_module *module, struct bl_sv name)
{
    struct bl_ptx_symbol *symbol = bl_ptx_find_variable(module->ptx, name);
    return symbol && is_variable(symbol) ? symbol->user : NULL;
}

enum bl_status bl_cpu_module_resolve(struct bl_device_module *module, const char *name, const struct bl_cpu_variable **variable,
                                     struct bl_error *error)
{
    pthread_mutex_lock(&module->lock);
    *variable = find_variable(module, bl_sv(name));
    pthread_mutex_unlock(&module->lock);
    if (!*variable)
        return bl_fail(error, BL_UNSUPPORTED,
                       "%s: variable %s is declared inside a function; only those of module scope are supported", module->name,
                       name);
    if (!(*variable)->address)
        return bl_fail(error, BL_NOT_FOUND, "%s: variable %s is extern, and nothing defines it", module->name, name);
    return BL_OK;
}

/* ---- the module ------------------------------------------------------------------------------- */

static void cleanup(struct bl_device_module *module)
{
    for (uint32_t i = 0; i < module->kernel_count; i++)
        bl_cpu_kernel_cleanup(&module->kernels[i]);
    for (int block = 0; block < 2; block++)
        if (module->blocks[block])
            bl_cpu_memory_give_back(module->device->memory, module->blocks[block]);
    bl_free(module->kernels);
    bl_free(module->variables);
    bl_free(module->text);
    bl_free(module->name);
    bl_arena_cleanup(&module->arena);
    pthread_mutex_destroy(&module->lock);
    bl_free(module);
}

enum bl_status bl_cpu_module_load(struct bl_device *device, const struct bl_module_source *source, struct bl_device_module **result,
                                  struct bl_error *error)
{
    struct bl_device_module *module = bl_calloc(1, sizeof(*module));
    enum bl_status status;

    if (!module)
        return bl_fail(error, BL_NO_MEMORY, "%s: out of memory", source->name ? source->name : "module");
    module->device = (struct bl_cpu_device *)device;
    pthread_mutex_init(&module->lock, NULL);
    bl_arena_init(&module->arena);
    status = parse(module, source, error);
    if (status == BL_OK)
        status = make_kernels(module, error);
    if (status == BL_OK)
        status = make_variables(module, error);
    if (status != BL_OK) {
        cleanup(module);
        return status;
    }
    *result = module;
    return BL_OK;
}

void bl_cpu_module_unload(struct bl_device_module *module)
{
    pthread_mutex_lock(&unload_lock);
    atomic_fetch_add(&unload_waiters, 1);
    while (atomic_load(&module->in_flight) > 0)
        pthread_cond_wait(&unload_ready, &unload_lock);
    atomic_fetch_sub(&unload_waiters, 1);
    pthread_mutex_unlock(&unload_lock);
    cleanup(module);
}

void bl_cpu_kernel_hold(struct bl_device_kernel *kernel)
{
    atomic_fetch_add(&kernel->module->in_flight, 1);
}

void bl_cpu_kernel_drop(struct bl_device_kernel *kernel)
{
    if (atomic_fetch_sub(&kernel->module->in_flight, 1) != 1 || atomic_load(&unload_waiters) == 0)
        return;
    pthread_mutex_lock(&unload_lock);
    pthread_cond_broadcast(&unload_ready);
    pthread_mutex_unlock(&unload_lock);
}

const char *bl_cpu_module_kernel_name(struct bl_device_module *module, uint32_t i)
{
    return i < module->kernel_count ? module->kernels[i].name : NULL;
}

enum bl_status bl_cpu_module_kernel(struct bl_device_module *module, const char *name, struct bl_device_kernel **kernel)
{
    const struct bl_ptx_func *func = bl_ptx_find_func(module->ptx, bl_sv(name));

    if (!func || !func->user)
        return BL_NOT_FOUND;
    *kernel = func->user;
    return BL_OK;
}

enum bl_status bl_cpu_module_variable(struct bl_device_module *module, const char *name, uint64_t *address, uint64_t *size,
                                      bool *managed)
{
    const struct bl_cpu_variable *variable = find_variable(module, bl_sv(name));

    if (!variable || !variable->address)
        return BL_NOT_FOUND;
    *address = variable->address;
    *size = variable->size;
    *managed = variable->symbol->is_managed;
    return BL_OK;
}
