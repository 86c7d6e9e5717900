/* bl_lower: the module's variables with their initial bytes, its functions' declarations, then every body. */
#include "lower/internal.h"

/* ---- variables ------------------------------------------------------------------------------ */

static void add_reloc(struct bl_lower *l, struct bl_kir_symbol *symbol, const struct bl_ptx_init *init, uint32_t size,
                      int64_t addend)
{
    struct bl_kir_reloc *reloc = BL_PUSH(l->arena, &symbol->relocs);
    struct bl_lower_place *place = NULL;

    *reloc = (struct bl_kir_reloc){.offset = init->offset, .size = size, .addend = addend, .generic = init->generic};
    if (init->symbol->kind == BL_PTX_SYM_FUNC)
        reloc->func = bl_lower_func(init->symbol);
    else
        place = bl_lower_place(init->symbol);
    if (place && place->kind == BL_LOWER_SYMBOL)
        reloc->symbol = place->symbol;
    if (!reloc->func && !reloc->symbol)
        symbol->relocs.count--;
}

/* A pointer written byte by byte, 0xFF(x), 0xFF00(x), …: what compilers write for a packed struct. The number of
 * initialisers that belong to it, 0 where this is something else. */
static uint32_t masked_pointer(const struct bl_ptx_symbol *source, uint32_t at)
{
    const struct bl_ptx_init *first = &source->inits.items[at];
    uint32_t count = 0;

    while (at + count < source->inits.count && count < 8) {
        const struct bl_ptx_init *init = first + count;
        if (init->symbol != first->symbol || init->offset != first->offset + count || init->size != 1 ||
            init->mask != UINT64_C(0xff) << (8 * count))
            break;
        count++;
    }
    return count == 8 ? 8 : 0;
}

static enum bl_status initial_bytes(struct bl_lower *l, const struct bl_ptx_symbol *source, struct bl_kir_symbol *symbol)
{
    symbol->init = bl_arena_alloc(l->arena, source->size);
    for (uint32_t n = 0; n < source->inits.count; n++) {
        const struct bl_ptx_init *init = &source->inits.items[n];
        uint32_t masked = init->mask ? masked_pointer(source, n) : 0;

        if (init->offset > source->size || init->size > source->size - init->offset || init->size > sizeof(init->bits))
            return bl_fail(l->error, BL_INVALID, "initialiser of %.*s goes past its end", BL_SV(source->name));
        if (masked) {
            add_reloc(l, symbol, init, 8, (int64_t)init->bits);
            n += masked - 1;
        } else if (init->symbol && init->mask && init->mask != ~UINT64_C(0)) {
            return bl_fail(l->error, BL_UNSUPPORTED, "initialiser of %.*s: one part of an address", BL_SV(source->name));
        } else if (init->symbol) {
            add_reloc(l, symbol, init, init->size, (int64_t)init->bits);
        } else {
            memcpy(symbol->init + init->offset, &init->bits, init->size);
        }
    }
    return BL_OK;
}

/* A name that the kir module doesn't have yet: static variables of two functions may share one. */
static const char *unique_name(struct bl_lower *l, struct bl_sv name)
{
    const char *text = bl_sv_copy(l->arena, name);
    if (!bl_map_get(&l->module->symbol_names, name))
        return text;
    if (l->source)
        text = bl_arena_printf(l->arena, "%.*s.%.*s", BL_SV(l->source->name), BL_SV(name));
    for (uint32_t n = 2; bl_map_get(&l->module->symbol_names, bl_sv(text)); n++)
        text = bl_arena_printf(l->arena, "%.*s.%u", BL_SV(name), n);
    return text;
}

void bl_lower_variable(struct bl_lower *l, struct bl_ptx_symbol *source)
{
    struct bl_lower_place *place = BL_NEW(l->arena, struct bl_lower_place);
    bool opaque = source->type == BL_PTX_TEXREF || source->type == BL_PTX_SAMPLERREF || source->type == BL_PTX_SURFREF;
    enum bl_kir_space space = bl_lower_space(source->space);

    source->user = place;
    if (opaque || (space != BL_KIR_GLOBAL && space != BL_KIR_CONST && space != BL_KIR_SHARED))
        return; /* NOWHERE: whoever uses it is unsupported */
    place->kind = BL_LOWER_SYMBOL;
    place->symbol =
        bl_kir_symbol_new(l->module, unique_name(l, source->name), space, source->size, BL_MAX(source->align, (uint32_t)1));
    place->symbol->is_extern = source->linking == BL_PTX_EXTERN;
}

enum bl_status bl_lower_initialise(struct bl_lower *l, const struct bl_ptx_symbol *source)
{
    struct bl_lower_place *place = source->user;
    if (!source->has_init || place->kind != BL_LOWER_SYMBOL || place->symbol->space == BL_KIR_SHARED)
        return BL_OK;
    return initial_bytes(l, source, place->symbol);
}

/* ---- functions -------------------------------------------------------------------------------- */

/* Scalars are values; an array parameter is an i64, an array result a first, hidden i64 parameter (kir.h). */
void bl_lower_proto(struct bl_lower *l, const struct bl_ptx_func *source, struct bl_kir_proto *proto)
{
    proto->params = BL_NEW_ARRAY(l->arena, enum bl_kir_type, source->returns.count + source->params.count);
    proto->results = BL_NEW_ARRAY(l->arena, enum bl_kir_type, source->returns.count);
    proto->param_count = proto->result_count = 0;
    for (uint32_t r = 0; r < source->returns.count; r++) {
        const struct bl_ptx_symbol *symbol = source->returns.items[r];
        if (bl_lower_is_array(symbol))
            proto->params[proto->param_count++] = BL_KIR_I64;
        else
            proto->results[proto->result_count++] = bl_lower_type(symbol->type);
    }
    for (uint32_t p = 0; p < source->params.count; p++) {
        const struct bl_ptx_symbol *symbol = source->params.items[p];
        proto->params[proto->param_count++] = bl_lower_is_array(symbol) ? BL_KIR_I64 : bl_lower_type(symbol->type);
    }
}

static void declare_kernel(struct bl_lower *l, struct bl_ptx_func *source, struct bl_kir_func *func)
{
    for (uint32_t p = 0; p < source->params.count; p++) {
        const struct bl_ptx_symbol *symbol = source->params.items[p];
        *BL_PUSH(l->arena, &func->kernel_params) = (struct bl_kir_param){.name = bl_sv_copy(l->arena, symbol->name),
                                                                         .offset = bl_ptx_param_offset(source, p),
                                                                         .size = (uint32_t)symbol->size,
                                                                         .align = symbol->align};
    }
    func->param_bytes = bl_ptx_param_offset(source, source->params.count);
    for (int d = 0; d < 3; d++) {
        func->max_threads[d] = source->maxntid[d];
        func->required_threads[d] = source->reqntid[d];
    }
    func->min_ctas = source->minnctapersm;
    func->max_registers = source->maxnreg;
}

static void declare_function(struct bl_lower *l, struct bl_ptx_func *source)
{
    struct bl_kir_func *func;

    source->user = NULL;
    if (source->is_alias)
        return; /* bl_lower_func goes to what it stands for */
    func = bl_kir_func_new(l->module, bl_sv_copy(l->arena, source->name), source->is_entry);
    source->user = func;
    func->number = source->number;
    func->line = source->loc.line;
    func->noreturn = source->noreturn;
    func->is_declaration = !source->has_body;
    if (source->is_entry)
        declare_kernel(l, source, func);
    else
        bl_lower_proto(l, source, &func->proto);
    if (source->is_entry)
        return;
    for (uint32_t p = 0; p < func->proto.param_count; p++)
        if (func->params.count <= p)
            bl_kir_param_new(func, func->proto.params[p], NULL);
}

static enum bl_status lower_module(struct bl_lower *l)
{
    enum bl_status status = BL_OK;

    l->module = bl_kir_module_new(l->arena, l->ptx->source_name ? l->ptx->source_name : "ptx");
    for (uint32_t f = 0; f < l->ptx->funcs.count && status == BL_OK; f++) {
        struct bl_ptx_func *source = l->ptx->funcs.items[f];
        declare_function(l, source);
        if (source->has_body && !source->body_parsed)
            status = bl_ptx_parse_body(l->ptx, source, l->error);
    }
    if (status == BL_OK)
        bl_lower_find_clusters(l);
    for (uint32_t f = 0; f < l->ptx->funcs.count && status == BL_OK; f++)
        bl_lower_forget(l->ptx->funcs.items[f]);
    for (uint32_t v = 0; v < l->ptx->variables.count && status == BL_OK; v++)
        bl_lower_variable(l, l->ptx->variables.items[v]);
    for (uint32_t v = 0; v < l->ptx->variables.count && status == BL_OK; v++)
        status = bl_lower_initialise(l, l->ptx->variables.items[v]);
    for (uint32_t f = 0; f < l->ptx->funcs.count && status == BL_OK; f++)
        if (l->ptx->funcs.items[f]->has_body)
            status = bl_lower_body(l, l->ptx->funcs.items[f]);
    return status;
}

enum bl_status bl_lower(struct bl_arena *arena, struct bl_ptx_module *ptx, struct bl_kir_module **module, struct bl_error *error)
{
    jmp_buf out, *before = arena->no_memory;
    struct bl_lower *volatile lower = NULL;
    enum bl_status status;

    *module = NULL;
    if (setjmp(out)) {
        arena->no_memory = before;
        return bl_fail(error, BL_NO_MEMORY, "out of memory while lowering %s", ptx->source_name ? ptx->source_name : "PTX");
    }
    arena->no_memory = &out;
    lower = BL_NEW(arena, struct bl_lower);
    lower->arena = arena;
    lower->ptx = ptx;
    lower->error = error;
    status = lower_module(lower);
    arena->no_memory = before;
    if (status == BL_OK)
        *module = lower->module;
    return status;
}
