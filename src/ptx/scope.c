/* Names inside a function: registers, variables, labels, block by block; and how a name is looked up. For the parser.
 *
 * A register of a range (.reg %r<100>) gets its symbol where it is first mentioned: a kernel declares more than it uses, and
 * a text may declare any number. A label may be mentioned before it stands, in its block or in one inside: a mention makes the
 * symbol, and at the end of a block the labels that are still missing move to the block around it. */
#include "ptx/parser.h"

enum { PAGE = 256 };

/* ---- the table ------------------------------------------------------------------------------------ */

static void link_entry(struct bl_ptx_parser *p, uint32_t index)
{
    struct bl_ptx_entry *entry = &p->entries.items[index];
    uint32_t *bucket = &p->buckets[entry->hash & (p->bucket_count - 1)];
    entry->next = *bucket;
    *bucket = index + 1;
}

static void grow_buckets(struct bl_ptx_parser *p)
{
    p->bucket_count = p->bucket_count ? p->bucket_count * 2 : 256;
    p->buckets = BL_NEW_ARRAY(p->arena, uint32_t, p->bucket_count);
    for (uint32_t n = 0; n < p->entries.count; n++)
        link_entry(p, n);
}

static struct bl_ptx_entry *add_entry(struct bl_ptx_parser *p, struct bl_sv name, uint32_t hash)
{
    struct bl_ptx_entry *entry;

    if (p->entries.count >= p->bucket_count)
        grow_buckets(p);
    entry = BL_PUSH(p->arena, &p->entries);
    *entry = (struct bl_ptx_entry){.name = name, .hash = hash, .depth = p->block};
    link_entry(p, p->entries.count - 1);
    return entry;
}

enum kind { NAMES, RANGES, LABELS };

/* The first entry of a name in a bucket's list from `at` on. */
static struct bl_ptx_entry *find_from(const struct bl_ptx_parser *p, uint32_t at, struct bl_sv name, uint32_t hash, enum kind kind)
{
    while (at) {
        struct bl_ptx_entry *entry = &p->entries.items[at - 1];
        if (entry->hash == hash && bl_ptx_same(entry->name, name) && entry->is_label == (kind == LABELS) &&
            (entry->range != NULL) == (kind == RANGES))
            return entry;
        at = entry->next;
    }
    return NULL;
}

/* The innermost entry of a name. */
static struct bl_ptx_entry *find_entry(const struct bl_ptx_parser *p, struct bl_sv name, uint32_t hash, enum kind kind)
{
    return p->bucket_count ? find_from(p, p->buckets[hash & (p->bucket_count - 1)], name, hash, kind) : NULL;
}

/* ---- ranges ---------------------------------------------------------------------------------------- */

static struct bl_ptx_symbol *range_register(struct bl_ptx_parser *p, struct bl_ptx_range *range, uint32_t number, struct bl_sv name)
{
    struct bl_ptx_symbol **page, *symbol;

    if (!range->pages)
        range->pages = BL_NEW_ARRAY(p->arena, struct bl_ptx_symbol **, (range->count - 1) / PAGE + 1);
    if (!range->pages[number / PAGE])
        range->pages[number / PAGE] = BL_NEW_ARRAY(p->arena, struct bl_ptx_symbol *, BL_MIN(range->count, (uint32_t)PAGE));
    page = range->pages[number / PAGE];
    if (!page[number % PAGE]) {
        symbol = page[number % PAGE] = BL_NEW(p->arena, struct bl_ptx_symbol);
        *symbol = *range->pattern;
        symbol->name = name;
        symbol->index = p->func->reg_count++;
    }
    return page[number % PAGE];
}

static uint64_t number_of(struct bl_sv name, size_t digits)
{
    uint64_t number = 0;
    for (size_t at = name.size - digits; at < name.size; at++)
        number = number * 10 + (uint64_t)(name.data[at] - '0');
    return number;
}

/* The range that has the name, read as a prefix and `digits` digits; in a block at least that deep. */
static struct bl_ptx_range *find_range(const struct bl_ptx_parser *p, struct bl_sv name, size_t digits, uint32_t least_depth)
{
    struct bl_sv prefix = {name.data, name.size - digits};
    struct bl_ptx_entry *entry;
    uint64_t number;
    uint32_t hash;

    if (digits > 9 || (digits > 1 && name.data[prefix.size] == '0'))
        return NULL;
    number = number_of(name, digits);
    hash = bl_ptx_hash(prefix);
    entry = find_entry(p, prefix, hash, RANGES);
    while (entry && number >= entry->range->count) /* one further out may reach so far */
        entry = find_from(p, entry->next, prefix, hash, RANGES);
    return entry && entry->depth >= least_depth ? entry->range : NULL;
}

static size_t count_digits(struct bl_sv name)
{
    size_t digits = 0;
    while (digits + 1 < name.size && name.data[name.size - 1 - digits] >= '0' && name.data[name.size - 1 - digits] <= '9')
        digits++;
    return digits;
}

static struct bl_ptx_symbol *find_register(struct bl_ptx_parser *p, struct bl_sv name, uint32_t least_depth)
{
    size_t most = count_digits(name), least = p->digit_prefix ? 1 : most;

    for (size_t digits = most; digits > 0 && digits >= least; digits--) {
        struct bl_ptx_range *range = find_range(p, name, digits, least_depth);
        if (range)
            return range_register(p, range, (uint32_t)number_of(name, digits), name);
    }
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------ */

struct bl_ptx_symbol *bl_ptx_find_local(struct bl_ptx_parser *p, struct bl_sv name)
{
    struct bl_ptx_entry *entry = find_entry(p, name, bl_ptx_hash(name), NAMES);
    struct bl_ptx_symbol *symbol = find_register(p, name, entry ? entry->depth + 1 : 0);
    return symbol ? symbol : entry ? entry->symbol : NULL;
}

/* What this block declares by that name already. */
static const struct bl_ptx_symbol *find_here(struct bl_ptx_parser *p, struct bl_sv name, uint32_t hash)
{
    struct bl_ptx_entry *entry = find_entry(p, name, hash, NAMES);
    size_t digits = count_digits(name);

    if (entry && entry->depth == p->block)
        return entry->symbol;
    for (size_t n = BL_MIN(digits, (size_t)9); n > 0; n--) {
        struct bl_ptx_range *range = find_range(p, name, n, p->block);
        if (range)
            return range->pattern;
    }
    return NULL;
}

void bl_ptx_declare(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    uint32_t hash = bl_ptx_hash(symbol->name);
    const struct bl_ptx_symbol *before = find_here(p, symbol->name, hash);

    if (p->panic)
        return;
    if (before) {
        bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "'%.*s' is declared twice, first in line %u", BL_SV(symbol->name),
                     before->loc.line);
        return;
    }
    add_entry(p, symbol->name, hash)->symbol = symbol;
}

void bl_ptx_declare_range(struct bl_ptx_parser *p, struct bl_ptx_symbol *pattern, uint32_t count)
{
    uint32_t hash = bl_ptx_hash(pattern->name);
    struct bl_ptx_entry *entry = find_entry(p, pattern->name, hash, RANGES);
    char last = pattern->name.size ? pattern->name.data[pattern->name.size - 1] : 0;
    struct bl_ptx_range *range;

    if (p->panic)
        return;
    if (entry && entry->depth == p->block) {
        bl_ptx_wrong(p, pattern->loc, BL_SYNTAX, "'%.*s' is declared twice, first in line %u", BL_SV(pattern->name),
                     entry->range->pattern->loc.line);
        return;
    }
    p->digit_prefix |= last >= '0' && last <= '9';
    range = BL_NEW(p->arena, struct bl_ptx_range);
    range->pattern = pattern;
    range->count = count;
    add_entry(p, pattern->name, hash)->range = range;
}

struct bl_ptx_symbol *bl_ptx_module_symbol(const struct bl_ptx_parser *p, struct bl_sv name)
{
    struct bl_ptx_symbol *symbol;
    if (name.size == 0 || (name.data[0] == '%' && !p->module->percent_names))
        return NULL;
    symbol = bl_map_get(&p->module->names, name);
    /* PTX wants a name before its use. A body that is parsed later must not see more. */
    if (symbol && p->func && p->func->body.size && symbol->name.data >= p->func->body.data)
        return NULL;
    return symbol;
}

void bl_ptx_mention(struct bl_ptx_parser *p, struct bl_sv word)
{
    struct bl_ptx_symbol *symbol = bl_ptx_module_symbol(p, word);
    if (!symbol)
        return;
    if (symbol->kind == BL_PTX_SYM_FUNC && !p->is_call)
        symbol->func->address_taken = true;
    if (symbol->mark == p->module->body_count)
        return;
    symbol->mark = p->module->body_count;
    *BL_PUSH(p->arena, &p->func->uses) = symbol;
}

/* ---- special registers --------------------------------------------------------------------------------- */

static const struct special {
    const char *name;
    uint8_t type, vec;
    uint8_t numbers; /* %pm0 … : so many of them; 0: no number */
} specials[] = {
    {"%tid", BL_PTX_U32, 4, 0},
    {"%ntid", BL_PTX_U32, 4, 0},
    {"%ctaid", BL_PTX_U32, 4, 0},
    {"%nctaid", BL_PTX_U32, 4, 0},
    {"%laneid", BL_PTX_U32, 1, 0},
    {"%warpid", BL_PTX_U32, 1, 0},
    {"%nwarpid", BL_PTX_U32, 1, 0},
    {"%smid", BL_PTX_U32, 1, 0},
    {"%nsmid", BL_PTX_U32, 1, 0},
    {"%gridid", BL_PTX_U64, 1, 0},
    {"%is_explicit_cluster", BL_PTX_PRED, 1, 0},
    {"%clusterid", BL_PTX_U32, 4, 0},
    {"%nclusterid", BL_PTX_U32, 4, 0},
    {"%cluster_ctaid", BL_PTX_U32, 4, 0},
    {"%cluster_nctaid", BL_PTX_U32, 4, 0},
    {"%cluster_ctarank", BL_PTX_U32, 1, 0},
    {"%cluster_nctarank", BL_PTX_U32, 1, 0},
    {"%lanemask_eq", BL_PTX_U32, 1, 0},
    {"%lanemask_le", BL_PTX_U32, 1, 0},
    {"%lanemask_lt", BL_PTX_U32, 1, 0},
    {"%lanemask_ge", BL_PTX_U32, 1, 0},
    {"%lanemask_gt", BL_PTX_U32, 1, 0},
    {"%clock", BL_PTX_U32, 1, 0},
    {"%clock_hi", BL_PTX_U32, 1, 0},
    {"%clock64", BL_PTX_U64, 1, 0},
    {"%globaltimer", BL_PTX_U64, 1, 0},
    {"%globaltimer_lo", BL_PTX_U32, 1, 0},
    {"%globaltimer_hi", BL_PTX_U32, 1, 0},
    {"%reserved_smem_offset_begin", BL_PTX_B32, 1, 0},
    {"%reserved_smem_offset_end", BL_PTX_B32, 1, 0},
    {"%reserved_smem_offset_cap", BL_PTX_B32, 1, 0},
    {"%reserved_smem_offset_", BL_PTX_B32, 1, 2},
    {"%total_smem_size", BL_PTX_U32, 1, 0},
    {"%aggr_smem_size", BL_PTX_U32, 1, 0},
    {"%dynamic_smem_size", BL_PTX_U32, 1, 0},
    {"%current_graph_exec", BL_PTX_U64, 1, 0},
    {"%pm", BL_PTX_U32, 1, 8},
    {"%envreg", BL_PTX_B32, 1, 32},
};

static bool is_special(struct bl_sv name, const struct special *special)
{
    size_t size = strlen(special->name);
    uint32_t number = 0;

    if (special->numbers == 0)
        return bl_sv_is(name, special->name);
    if (!bl_sv_starts(name, special->name) || name.size == size || name.size > size + 2 ||
        (name.size == size + 2 && name.data[size] == '0'))
        return false;
    for (size_t at = size; at < name.size; at++) {
        if (name.data[at] < '0' || name.data[at] > '9')
            return false;
        number = number * 10 + (uint32_t)(name.data[at] - '0');
    }
    return number < special->numbers;
}

static struct bl_ptx_symbol *find_special(struct bl_ptx_parser *p, struct bl_sv name)
{
    struct bl_ptx_symbol *symbol = bl_map_get(&p->module->special_registers, name);
    const struct special *found = NULL;
    bool is_wide_pm = name.size == 7 && bl_sv_starts(name, "%pm") && memcmp(name.data + 4, "_64", 3) == 0;
    struct bl_sv plain = {name.data, is_wide_pm ? 4 : name.size};

    if (symbol || name.size == 0 || name.data[0] != '%')
        return symbol;
    for (size_t n = 0; n < BL_LEN(specials) && !found; n++)
        if (is_special(plain, &specials[n]))
            found = &specials[n];
    if (!found)
        return NULL;
    symbol = BL_NEW(p->arena, struct bl_ptx_symbol);
    *symbol = (struct bl_ptx_symbol){.kind = BL_PTX_SYM_SREG,
                                     .name = name,
                                     .loc = p->token.loc,
                                     .space = BL_PTX_REG,
                                     .type = is_wide_pm ? BL_PTX_U64 : (enum bl_ptx_type)found->type,
                                     .vec = found->vec,
                                     .elements = 1,
                                     .index = p->module->special_registers.count};
    bl_map_set(p->arena, &p->module->special_registers, name, symbol);
    return symbol;
}

struct bl_ptx_symbol *bl_ptx_resolve(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc)
{
    struct bl_ptx_symbol *symbol = bl_ptx_find_local(p, name);
    if (!symbol)
        symbol = bl_ptx_module_symbol(p, name);
    if (!symbol)
        symbol = find_special(p, name);
    if (!symbol)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a declared name, found '%.*s', which is not", (int)BL_MIN(name.size, (size_t)100),
                     name.data);
    return symbol;
}

/* ---- labels --------------------------------------------------------------------------------------------- */

static struct bl_ptx_label *label_here(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc)
{
    uint32_t hash = bl_ptx_hash(name);
    struct bl_ptx_entry *entry = find_entry(p, name, hash, LABELS);
    struct bl_ptx_label *label;

    if (entry && entry->depth == p->block)
        return (struct bl_ptx_label *)entry->symbol;
    label = BL_NEW(p->arena, struct bl_ptx_label);
    label->symbol = (struct bl_ptx_symbol){.kind = BL_PTX_SYM_LABEL, .name = name, .loc = loc};
    entry = add_entry(p, name, hash);
    entry->symbol = &label->symbol;
    entry->is_label = true;
    return label;
}

struct bl_ptx_symbol *bl_ptx_define_label(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc)
{
    struct bl_ptx_label *label = label_here(p, name, loc);

    if (label->defined)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "label '%.*s' stands twice, first in line %u", BL_SV(name), label->symbol.loc.line);
    label->defined = true;
    label->symbol.loc = loc;
    label->symbol.index = p->func->label_count++;
    return &label->symbol;
}

void bl_ptx_refer_label(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc, struct bl_ptx_symbol **place)
{
    *place = &label_here(p, name, loc)->symbol;
    if (p->block > 1)
        *BL_PUSH(p->arena, &p->patches) = place;
}

void bl_ptx_patch_labels(struct bl_ptx_parser *p)
{
    for (uint32_t n = 0; n < p->patches.count; n++) {
        struct bl_ptx_label *label = (struct bl_ptx_label *)*p->patches.items[n];
        while (label->forward)
            label = label->forward;
        *p->patches.items[n] = &label->symbol;
    }
    p->patches.count = 0;
}

/* ---- blocks ------------------------------------------------------------------------------------------------ */

void bl_ptx_scope_begin(struct bl_ptx_parser *p)
{
    p->block++;
}

/* A label that its block does not have: it becomes the outer block's, or the one of that name there. */
static void leave_label(struct bl_ptx_parser *p, struct bl_ptx_label *label)
{
    uint32_t hash = bl_ptx_hash(label->symbol.name);
    struct bl_ptx_entry *entry = find_entry(p, label->symbol.name, hash, LABELS);

    if (p->block == 0) {
        bl_ptx_wrong(p, label->symbol.loc, BL_SYNTAX, "expected a label of this function, found '%.*s', which is none",
                     BL_SV(label->symbol.name));
    } else if (entry && entry->depth == p->block) {
        label->forward = (struct bl_ptx_label *)entry->symbol;
    } else {
        entry = add_entry(p, label->symbol.name, hash);
        entry->symbol = &label->symbol;
        entry->is_label = true;
    }
}

void bl_ptx_scope_end(struct bl_ptx_parser *p)
{
    uint32_t from = p->entries.count, kept;

    /* taken out of the table, newest first; then the missing labels go into the one around it */
    for (; from > 0 && p->entries.items[from - 1].depth == p->block; from--) {
        struct bl_ptx_entry *entry = &p->entries.items[from - 1];
        p->buckets[entry->hash & (p->bucket_count - 1)] = entry->next;
    }
    kept = p->entries.count;
    p->entries.count = from;
    p->block--;
    for (uint32_t n = from; n < kept; n++) {
        /* leave_label may add an entry where this one was, never past it */
        struct bl_ptx_entry entry = p->entries.items[n];
        if (entry.is_label && !((struct bl_ptx_label *)entry.symbol)->defined)
            leave_label(p, (struct bl_ptx_label *)entry.symbol);
    }
}
