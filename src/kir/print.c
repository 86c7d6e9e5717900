/* kir as text. What it writes, parse.c reads back to the same form; docs/kir.md has the grammar. */
#include "kir/text.h"

static void print_quoted(struct bl_buffer *out, const char *text)
{
    bl_buffer_add(out, "\"", 1);
    for (; text && *text; text++) {
        if (*text == '"' || *text == '\\')
            bl_buffer_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
            bl_buffer_printf(out, "\\x%02x", (unsigned char)*text);
        else
            bl_buffer_add(out, text, 1);
    }
    bl_buffer_add(out, "\"", 1);
}

static void print_name(struct bl_buffer *out, const char *name)
{
    if (bl_kir_is_plain_name(name))
        bl_buffer_add(out, name, strlen(name));
    else
        print_quoted(out, name);
}

/* %name.id: the name helps the reader, the id says which. */
static void print_numbered(struct bl_buffer *out, char sigil, const char *name, uint32_t id)
{
    if (name && *name == '%')
        name++;
    if (bl_kir_is_plain_name(name))
        bl_buffer_printf(out, "%c%s.%u", sigil, name, id);
    else
        bl_buffer_printf(out, "%c%u", sigil, id);
}

static void print_value(struct bl_buffer *out, const struct bl_kir_value *value)
{
    if (value)
        print_numbered(out, '%', value->name, value->id);
    else
        bl_buffer_add(out, "?", 1);
}

static void print_block_name(struct bl_buffer *out, const struct bl_kir_block *block)
{
    if (block)
        print_numbered(out, '@', block->name, block->id);
    else
        bl_buffer_add(out, "?", 1);
}

static void print_symbol_name(struct bl_buffer *out, const struct bl_kir_module *module, const struct bl_kir_symbol *symbol)
{
    if (!symbol) {
        bl_buffer_add(out, "?", 1);
        return;
    }
    print_name(out, symbol->name);
    if (!module || bl_map_get(&module->symbol_names, bl_sv(symbol->name)) == symbol)
        return;
    for (uint32_t i = 0; i < module->symbols.count; i++)
        if (module->symbols.items[i] == symbol)
            bl_buffer_printf(out, "#%u", i);
}

static void print_func_name(struct bl_buffer *out, const struct bl_kir_module *module, const struct bl_kir_func *func)
{
    if (!func) {
        bl_buffer_add(out, "?", 1);
        return;
    }
    print_name(out, func->name);
    if (!module || bl_map_get(&module->func_names, bl_sv(func->name)) == func)
        return;
    for (uint32_t i = 0; i < module->funcs.count; i++)
        if (module->funcs.items[i] == func)
            bl_buffer_printf(out, "#%u", i);
}

static void print_types(struct bl_buffer *out, uint32_t count, const enum bl_kir_type *types)
{
    bl_buffer_add(out, "(", 1);
    for (uint32_t i = 0; i < count; i++)
        bl_buffer_printf(out, "%s%s", i ? ", " : "", bl_kir_type_name(types[i]));
    bl_buffer_add(out, ")", 1);
}

static void print_proto(struct bl_buffer *out, const struct bl_kir_proto *proto)
{
    bl_buffer_printf(out, " proto ");
    if (proto->name)
        print_name(out, proto->name);
    print_types(out, proto->param_count, proto->params);
    bl_buffer_printf(out, " -> ");
    print_types(out, proto->result_count, proto->results);
}

static void print_words(struct bl_buffer *out, const struct bl_kir_instr *instr)
{
    uint32_t shown = bl_kir_op_shown(instr->op), usual = bl_kir_op_has_vec(instr->op) ? 1 : 0;

    for (uint32_t f = 0; f < BL_KIR_FIELD_COUNT; f++) {
        const struct bl_kir_field *field = &bl_kir_fields[f];
        uint8_t value = ((const uint8_t *)instr->attr)[field->offset];
        if (f == BL_KIR_FIELD_TYPE && instr->attr->vec != usual)
            bl_buffer_printf(out, ".v%u", instr->attr->vec);
        if (value == 0 && !(shown & (uint32_t)1 << f))
            continue;
        if (value >= field->first && value - field->first < field->count)
            bl_buffer_printf(out, ".%s", field->words[value - field->first]);
        else
            bl_buffer_printf(out, ".?%u", value);
    }
}

/* A constant as a reader would write it: a signed number for the integers, else the bits. */
static void print_const(struct bl_buffer *out, const struct bl_kir_instr *instr)
{
    enum bl_kir_type type = instr->result_count ? instr->results[0]->type : BL_KIR_VOID;
    uint32_t bits = bl_kir_type_bits(type);
    uint64_t imm = instr->attr->imm;

    if (instr->attr->imm_hi)
        bl_buffer_printf(out, " 0x%llx%016llx", (unsigned long long)instr->attr->imm_hi, (unsigned long long)imm);
    else if (type == BL_KIR_PRED && imm <= 1)
        bl_buffer_printf(out, imm ? " true" : " false");
    else if (bl_kir_type_is_int(type) && bits <= 64 && (bits == 64 || imm >> bits == 0))
        bl_buffer_printf(out, " %lld", (long long)((int64_t)(imm << (64 - bits)) >> (64 - bits)));
    else
        bl_buffer_printf(out, " 0x%llx", (unsigned long long)imm);
}

static void print_offset(struct bl_buffer *out, uint64_t imm)
{
    if ((int64_t)imm < 0)
        bl_buffer_printf(out, " - %llu", (unsigned long long)(0 - imm));
    else if (imm)
        bl_buffer_printf(out, " + %llu", (unsigned long long)imm);
}

/* What stands before the operands. True when it wrote attr.imm. */
static bool print_head(struct bl_buffer *out, const struct bl_kir_instr *instr)
{
    const struct bl_kir_attr *attr = instr->attr;
    const struct bl_kir_module *module = instr->block ? instr->block->func->module : NULL;

    switch (instr->op) {
    case BL_KIR_OP_const:
        print_const(out, instr);
        return true;
    case BL_KIR_OP_frame:
    case BL_KIR_OP_param:
        bl_buffer_printf(out, " %llu", (unsigned long long)attr->imm);
        return true;
    case BL_KIR_OP_addrof:
        bl_buffer_add(out, " ", 1);
        print_symbol_name(out, module, attr->symbol);
        print_offset(out, attr->imm);
        return true;
    case BL_KIR_OP_funcaddr:
    case BL_KIR_OP_call:
        bl_buffer_add(out, " ", 1);
        print_func_name(out, module, attr->func);
        return false;
    case BL_KIR_OP_sreg:
        bl_buffer_printf(out, " %s", bl_kir_sreg_name(attr->sreg));
        return false;
    case BL_KIR_OP_getvar:
    case BL_KIR_OP_setvar:
        bl_buffer_add(out, " ", 1);
        if (attr->var)
            print_numbered(out, '$', attr->var->name, attr->var->id);
        else
            bl_buffer_add(out, "?", 1);
        return false;
    case BL_KIR_OP_unsupported:
        bl_buffer_add(out, " ", 1);
        print_quoted(out, attr->text);
        return false;
    default:
        return false;
    }
}

static bool has_head(enum bl_kir_op op)
{
    return op == BL_KIR_OP_call || op == BL_KIR_OP_setvar || op == BL_KIR_OP_unsupported;
}

static void print_operands(struct bl_buffer *out, const struct bl_kir_instr *instr)
{
    bool address = bl_kir_op_has_address(instr->op);
    bool edges = instr->op == BL_KIR_OP_phi && instr->block && instr->block->preds.count == instr->operand_count;

    for (uint32_t i = 0; i < instr->operand_count; i++) {
        bl_buffer_printf(out, i || has_head(instr->op) ? ", " : " ");
        if (edges) {
            print_block_name(out, instr->block->preds.items[i]);
            bl_buffer_add(out, " ", 1);
        }
        if (address && i == 0)
            bl_buffer_add(out, "[", 1);
        print_value(out, instr->operands[i]);
        if (address && i == 0) {
            print_offset(out, instr->attr->imm);
            bl_buffer_add(out, "]", 1);
        }
    }
    for (uint32_t t = 0; t < instr->target_count; t++) {
        bl_buffer_printf(out, t || instr->operand_count ? ", " : " ");
        print_block_name(out, instr->targets[t]);
    }
}

void bl_kir_print_instr(struct bl_buffer *out, const struct bl_kir_instr *instr)
{
    const struct bl_kir_attr *attr = instr->attr;
    bool said_imm;

    for (uint32_t i = 0; i < instr->result_count; i++) {
        if (i)
            bl_buffer_add(out, ", ", 2);
        print_value(out, instr->results[i]);
        bl_buffer_printf(out, ":%s", bl_kir_type_name(instr->results[i]->type));
    }
    bl_buffer_printf(out, "%s%s", instr->result_count ? " = " : "", bl_kir_ops[instr->op].name);
    print_words(out, instr);
    said_imm = print_head(out, instr);
    print_operands(out, instr);
    if (attr->proto)
        print_proto(out, attr->proto);
    if (!said_imm && !(bl_kir_op_has_address(instr->op) && instr->operand_count) &&
        (attr->imm || bl_kir_op_shown(instr->op) & BL_KIR_HAS_IMM))
        bl_buffer_printf(out, " imm 0x%llx", (unsigned long long)attr->imm);
    if (attr->align)
        bl_buffer_printf(out, " align %u", attr->align);
    if (instr->line)
        bl_buffer_printf(out, " !%u", instr->line);
}

static void print_three(struct bl_buffer *out, const char *word, const uint32_t n[3])
{
    if (n[0] || n[1] || n[2])
        bl_buffer_printf(out, "  %s %u %u %u\n", word, n[0], n[1], n[2]);
}

static void print_number(struct bl_buffer *out, const char *word, uint32_t n)
{
    if (n)
        bl_buffer_printf(out, "  %s %u\n", word, n);
}

static void print_properties(struct bl_buffer *out, const struct bl_kir_func *func)
{
    for (uint32_t i = 0; i < func->kernel_params.count; i++) {
        const struct bl_kir_param *param = &func->kernel_params.items[i];
        bl_buffer_printf(out, "  kernel_param ");
        print_name(out, param->name ? param->name : "");
        bl_buffer_printf(out, " offset %u size %u align %u\n", param->offset, param->size, param->align);
    }
    print_number(out, "number", func->number);
    print_number(out, "line", func->line);
    print_number(out, "param_bytes", func->param_bytes);
    print_number(out, "frame_size", func->frame_size);
    print_number(out, "frame_align", func->frame_align);
    print_three(out, "max_threads", func->max_threads);
    print_three(out, "required_threads", func->required_threads);
    print_number(out, "min_ctas", func->min_ctas);
    print_number(out, "max_registers", func->max_registers);
    for (uint32_t i = 0; i < func->vars.count; i++) {
        bl_buffer_printf(out, "  var ");
        print_numbered(out, '$', func->vars.items[i]->name, func->vars.items[i]->id);
        bl_buffer_printf(out, ":%s\n", bl_kir_type_name(func->vars.items[i]->type));
    }
}

static void print_signature(struct bl_buffer *out, const struct bl_kir_func *func)
{
    if (func->params.count == 0 || func->params.count != func->proto.param_count) {
        if (func->is_kernel && func->proto.param_count == 0 && func->proto.result_count == 0)
            return;
        print_types(out, func->proto.param_count, func->proto.params);
    } else {
        bl_buffer_add(out, "(", 1);
        for (uint32_t i = 0; i < func->params.count; i++) {
            if (i)
                bl_buffer_add(out, ", ", 2);
            print_value(out, func->params.items[i]);
            bl_buffer_printf(out, ":%s", bl_kir_type_name(func->params.items[i]->type));
        }
        bl_buffer_add(out, ")", 1);
    }
    bl_buffer_printf(out, " -> ");
    print_types(out, func->proto.result_count, func->proto.results);
}

void bl_kir_print_func(struct bl_buffer *out, const struct bl_kir_func *func)
{
    bl_buffer_printf(out, "%s%s ", func->is_declaration ? "declare " : "", func->is_kernel ? "kernel" : "func");
    print_name(out, func->name);
    print_signature(out, func);
    bl_buffer_printf(out, "%s {\n", func->noreturn ? " noreturn" : "");
    print_properties(out, func);
    for (uint32_t b = 0; b < func->blocks.count; b++) {
        print_block_name(out, func->blocks.items[b]);
        bl_buffer_add(out, ":\n", 2);
        for (const struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            bl_buffer_add(out, "  ", 2);
            bl_kir_print_instr(out, i);
            bl_buffer_add(out, "\n", 1);
        }
    }
    bl_buffer_add(out, "}\n", 2);
}

static void print_init(struct bl_buffer *out, const struct bl_kir_symbol *symbol)
{
    for (uint64_t at = 0; at < symbol->size; at += 32) {
        bl_buffer_printf(out, "\n  init \"");
        for (uint64_t i = at; i < at + 32 && i < symbol->size; i++)
            bl_buffer_printf(out, "%02x", symbol->init[i]);
        bl_buffer_add(out, "\"", 1);
    }
}

static void print_symbol(struct bl_buffer *out, const struct bl_kir_module *module, const struct bl_kir_symbol *symbol)
{
    bl_buffer_printf(out, "symbol ");
    print_name(out, symbol->name);
    bl_buffer_printf(out, " %s size %llu align %u", bl_kir_fields[BL_KIR_FIELD_SPACE].words[BL_MIN(symbol->space, BL_KIR_PARAM)],
                     (unsigned long long)symbol->size, symbol->align);
    if (symbol->is_extern)
        bl_buffer_printf(out, " extern");
    if (symbol->offset)
        bl_buffer_printf(out, " at %llu", (unsigned long long)symbol->offset);
    if (symbol->init)
        print_init(out, symbol);
    for (uint32_t i = 0; i < symbol->relocs.count; i++) {
        const struct bl_kir_reloc *reloc = &symbol->relocs.items[i];
        bl_buffer_printf(out, "\n  reloc %u size %u %s", reloc->offset, reloc->size, reloc->func ? "func " : "symbol ");
        if (reloc->func)
            print_func_name(out, module, reloc->func);
        else
            print_symbol_name(out, module, reloc->symbol);
        print_offset(out, (uint64_t)reloc->addend);
        bl_buffer_printf(out, reloc->generic ? " generic" : "");
    }
    bl_buffer_add(out, "\n", 1);
}

void bl_kir_print(struct bl_buffer *out, const struct bl_kir_module *module)
{
    bl_buffer_printf(out, "module ");
    print_quoted(out, module->name);
    bl_buffer_add(out, "\n", 1);
    for (uint32_t i = 0; i < module->symbols.count; i++)
        print_symbol(out, module, module->symbols.items[i]);
    for (uint32_t i = 0; i < module->funcs.count; i++) {
        bl_buffer_add(out, "\n", 1);
        bl_kir_print_func(out, module->funcs.items[i]);
    }
}
