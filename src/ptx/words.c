/* The words of PTX: one table by hash of opcodes, modifiers, types and directives. For the parser. */
#include "ptx/parser.h"

#include <locale.h>
#include <pthread.h>

enum { SLOTS = 4096 };

static struct bl_ptx_word words[SLOTS]; /* by hash, with open addressing; written once, in fill */
static locale_t plain_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t slot_of(struct bl_sv text)
{
    uint32_t slot = bl_ptx_hash(text) % SLOTS;
    while (words[slot].text && !bl_ptx_same((struct bl_sv){words[slot].text, words[slot].size}, text))
        slot = (slot + 1) % SLOTS;
    return slot;
}

static struct bl_ptx_word *add(const char *text)
{
    struct bl_ptx_word *word = &words[slot_of(bl_sv(text))];
    word->text = text;
    word->size = (uint8_t)strlen(text);
    return word;
}

static void fill(void)
{
    static const char *const directives[BL_PTX_DIRECTIVE_COUNT] = {
#define DIRECTIVE(name) [BL_PTX_DIRECTIVE_##name] = #name,
#include "directives.def"
#undef DIRECTIVE
    };
    for (uint32_t n = 1; n < BL_PTX_OPCODE_COUNT; n++)
        add(bl_ptx_opcode_name((enum bl_ptx_opcode)n))->opcode = (uint16_t)n;
    for (uint32_t n = 1; n < BL_PTX_MOD_COUNT; n++)
        add(bl_ptx_mod_name((enum bl_ptx_mod)n))->mod = (uint16_t)n;
    for (uint32_t n = 1; n < BL_PTX_TYPE_COUNT; n++)
        add(bl_ptx_type_name((enum bl_ptx_type)n))->type = (uint8_t)n;
    for (uint32_t n = 1; n < BL_PTX_DIRECTIVE_COUNT; n++)
        add(directives[n])->directive = (uint8_t)n;
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

void bl_ptx_words_init(void)
{
    pthread_once(&once, fill);
}

const struct bl_ptx_word *bl_ptx_word(struct bl_sv text)
{
    const struct bl_ptx_word *word = &words[slot_of(text)];
    return word->text ? word : NULL;
}

bool bl_ptx_decimal(const char *text, double *number)
{
    char *end;
    *number = plain_locale ? strtod_l(text, &end, plain_locale) : strtod(text, &end);
    return *end == 0 && end != text;
}
