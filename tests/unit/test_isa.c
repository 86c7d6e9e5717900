/* Room ptx: the table of instructions that is made from isa.def, walked by its iterator: what check.c relies on holds for each row.
 */
#include "ptx/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void every_opcode_has_rows(void **state)
{
    uint32_t index = 0;
    for (uint32_t op = BL_PTX_OP_NONE + 1; op < BL_PTX_OPCODE_COUNT; op++) {
        const struct bl_ptx_row *row = bl_ptx_row_at(index);
        assert_int_equal(row->op, op);
        for (bool open = false; row && row->op == (enum bl_ptx_opcode)op; row = bl_ptx_row_at(++index)) {
            assert_false(open); /* the row for all other forms comes last */
            open = row->is_open;
        }
    }
    assert_int_equal(index, bl_ptx_row_count());
    assert_null(bl_ptx_row_at(index));
}

static void check_place(const struct bl_ptx_row *row, const struct bl_ptx_isa_place *place)
{
    assert_true(place->word_count > 0);
    assert_true(place->condition <= row->place_count);
    assert_false(place->is_type && place->optional);
    for (uint32_t w = 0; w < place->word_count; w++) {
        assert_in_range(place->words[w].word, 1, (place->is_type ? (int)BL_PTX_TYPE_COUNT : (int)BL_PTX_MOD_COUNT) - 1);
        for (uint32_t other = 0; other < w; other++)
            assert_int_not_equal(place->words[w].word, place->words[other].word);
    }
}

static void check_operand(const struct bl_ptx_row *row, const struct bl_ptx_isa_operand *operand)
{
    bool named = operand->type_place == BL_PTX_ISA_NO_PLACE || operand->type_place == BL_PTX_ISA_ANY_INT;
    assert_true(named || operand->type_place < row->type_count);
    assert_true(operand->condition <= row->place_count);
    assert_true(!operand->has_range || operand->low <= operand->high);
    if (operand->letter == 'd' || operand->letter == 'a' || operand->letter == 'r')
        assert_true(operand->type_place != BL_PTX_ISA_NO_PLACE || operand->type != BL_PTX_NONE);
}

static void rows_are_well_formed(void **state)
{
    for (uint32_t index = 0; index < bl_ptx_row_count(); index++) {
        const struct bl_ptx_row *row = bl_ptx_row_at(index);
        uint32_t types = 0;
        assert_true(row->form[0] && row->section[0]);
        assert_true(row->place_count <= 16 && row->operand_count <= 12);
        assert_true(row->is_open || (row->since_version >= 10 && row->since_sm >= 10));
        for (uint32_t k = 0; k < row->place_count; k++) {
            check_place(row, &row->places[k]);
            types += row->places[k].is_type;
        }
        assert_int_equal(types, row->type_count);
        for (uint32_t o = 0; o < row->operand_count; o++)
            check_operand(row, &row->operands[o]);
    }
}

static void an_instruction_points_at_its_row(void **state)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;
    struct bl_arena arena;
    const struct bl_ptx_row *row;

    bl_arena_init(&arena);
    assert_int_equal(bl_ptx_parse(&arena,
                                  bl_sv(".version 7.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n .reg .f32 f;\n"
                                        " fma.rn.ftz.f32 f, f, f, 0f3F800000;\n ret;\n}\n"),
                                  "test", 0, &module, &error),
                     BL_OK);
    row = module->funcs.items[0]->statements.items[1].instr->row;
    assert_int_equal(row->op, BL_PTX_OP_fma);
    assert_string_equal(row->form, "fma(.rn|.rz|.rm|.rp){.ftz}{.sat}.f32  d, a, b, c");
    assert_int_equal(row->since_sm, 20);
    bl_arena_cleanup(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_has_rows),
        cmocka_unit_test(rows_are_well_formed),
        cmocka_unit_test(an_instruction_points_at_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
