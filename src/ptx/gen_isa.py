#!/usr/bin/env python3
"""Reads isa.def and writes what is made from it. At build time: the C table that isa.h describes. Also used by the sweep against
ptxas in tests/ptx, and for the page docs/coverage-ptx.md, together with the table of what is lowered.

    gen_isa.py table isa.def mods.def ptx.h opcodes.def OUT.c
    gen_isa.py coverage isa.def mods.def ptx.h table.def OUT.md
"""
import random
import re
import sys


class Word:
    def __init__(self, name, version, sm):
        self.name, self.version, self.sm = name, version, sm


class Place:
    """One choice of modifiers, or of types."""

    def __init__(self, words, optional, is_type, condition=None, name=None):
        self.words, self.optional, self.is_type = words, optional, is_type
        self.name = name  # of the set that it is, or None
        self.condition = condition  # a word: filled if and only if that word's place is

    def text(self, short=False):
        if short and self.name:
            return '{.%s}' % self.name.upper() if self.optional else '.' + self.name.upper()
        inner = '|'.join('.' + w.name for w in self.words)
        if self.optional:
            return '{' + inner + '}'
        return inner if len(self.words) == 1 else '(' + inner + ')'


class Operand:
    """One operand of a signature: see the head of isa.def."""
    PATTERN = re.compile(r'(?P<letter>[darpqimftlxcs])(?P<type>\d|int|[a-z]+\d+(x\d)?)?(\((?P<range>[^)]*)\))?(?P<marks>.*)$')

    def __init__(self, text):
        self.source = text
        m = self.PATTERN.match(text)
        if not m:
            raise ValueError('operand ' + text)
        self.letter, self.type, self.range = m['letter'], m['type'], m['range']
        marks = m['marks']
        self.condition = None
        if '&' in marks:
            marks, self.condition = marks.split('&')
        self.vector = None
        v = re.search(r'\*(\d+|v|\+)', marks)
        if v:
            self.vector = v[1]
            marks = marks.replace(v[0], '')
        self.pair = '|p' in marks
        self.pair_always = '|p!' in marks
        marks = marks.replace('|p!', '').replace('|p', '')
        self.double, self.wider, self.sink = '^' in marks, '>' in marks, '_' in marks
        self.optional, self.negation, self.selector = '?' in marks, '-' in marks, '.' in marks
        if marks.strip('^>_?-.'):
            raise ValueError('operand ' + text)


class Row:
    def __init__(self, op, places, operands, version, sm, section, pattern):
        self.op, self.places, self.operands = op, places, operands
        self.version, self.sm, self.section, self.pattern = version, sm, section, pattern

    def types(self):
        return [p for p in self.places if p.is_type]

    def form(self, short=False):
        names = {'d': 'd', 'p': 'p', 'q': 'q', 'm': '[a]', 'i': 'imm', 'l': 'label', 's': '_', 'f': 'a', 't': '[t]', 'x': 'd, a',
                 'c': '(ret), target, (args)'}
        out, letter = [], 'a'
        for o in self.operands:
            if o.letter in 'ar':
                name, letter = letter, chr(ord(letter) + 1)
            else:
                name = names[o.letter]
            if o.vector:
                name = '{' + name + ', ...}'
            if o.pair:
                name += '|p' if o.pair_always else '{|p}'
            if o.optional or o.condition:
                name = '{' + name + '}'
            out.append(name)
        return self.op + ''.join(p.text(short) for p in self.places) + ('  ' + ', '.join(out) if out else '')


class Isa:
    def __init__(self, isa, mods, header):
        self.mods = dict((t, i) for i, t in re.findall(r'MOD\((\w+), "([^"]+)"\)', open(mods).read()))
        enum = re.search(r'enum bl_ptx_type \{(.*?)BL_PTX_TYPE_COUNT', open(header).read(), re.S)[1]
        self.types = [n.lower() for n in re.findall(r'BL_PTX_([A-Z0-9]+),', enum) if n != 'NONE']
        self.sets, self.rows, self.open, section = {}, [], [], ''
        text = re.sub(r'/\*.*?\*/', '', open(isa).read(), flags=re.S)
        for kind, args in re.findall(r'\b(SET|SECTION|ROW|OPEN)\(((?:"[^"]*"|[^()"])*)\)', text):
            args = [a.strip().strip('"') for a in re.findall(r'"[^"]*"|[^,"\s]+', args)]
            if kind == 'SET':
                self.sets[args[0]] = args[1]
            elif kind == 'SECTION':
                section = args[0]
            elif kind == 'OPEN':
                self.open.append((args[0], section))
            else:
                self.rows.append(self.row(section, args))

    def place(self, text):
        text, _, condition = text.partition('&')
        optional = text.endswith('?') or bool(condition)
        text = text.rstrip('?')
        words = []
        for alternative in text.split('|'):
            if alternative.startswith('$'):
                words += self.place(self.sets[alternative[1:]]).words
                continue
            name, _, since = alternative.partition('@')
            version, _, sm = since.partition('/')
            words.append(Word(name, int(version or 0), sm or '0'))
        is_type = words[0].name in self.types
        for w in words:
            if (w.name in self.types) != is_type:
                raise ValueError('types and modifiers in one place: ' + text)
            if not is_type and w.name not in self.mods:
                raise ValueError('unknown modifier ' + w.name)
        return Place(words, optional, is_type, condition or None, text[1:] if re.fullmatch(r'\$\w+', text) else None)

    def row(self, section, args):
        if len(args) != 5:
            raise ValueError('row needs five arguments: %s' % args)
        places = [self.place(w) for w in args[1].split()]
        operands = [Operand(o) for o in args[2].split(',') if o]
        row = Row(args[0], places, operands, int(args[3]), args[4], section, args[1])
        for o in operands:
            if o.type and o.type.isdigit() and int(o.type) >= len(row.types()):
                raise ValueError('%s: no type place %s' % (args, o.type))
            if o.type and not o.type.isdigit() and o.type not in self.types + ['int']:
                raise ValueError('%s: no type %s' % (args, o.type))
            if o.condition and not any(w.name == o.condition for p in places for w in p.words):
                raise ValueError('%s: no word %s' % (args, o.condition))
        if len(places) > 16 or len(operands) > 12:
            raise ValueError('%s: too long' % args)
        return row

    # ---- the C table ----------------------------------------------------------------------------

    def word_id(self, name):
        return 'BL_PTX_' + name.upper() if name in self.types else 'BL_PTX_MOD_' + self.mods[name]

    def table(self, out, opcodes):
        known = re.findall(r'OPCODE\((\w+)\)', re.sub(r'/\*.*?\*/', '', open(opcodes).read(), flags=re.S))
        emit = lambda s: out.write(s + '\n')
        emit('/* Made from isa.def by gen_isa.py. */')
        emit('#include "ptx/isa.h"\n')
        rows = sorted(self.rows, key=lambda r: known.index(r.op))
        for n, row in enumerate(rows):
            for k, p in enumerate(row.places):
                words = ', '.join('{%s, %d, %s}' % (self.word_id(w.name), w.version, w.sm) for w in p.words)
                emit('static const struct bl_ptx_isa_word w%d_%d[] = {%s};' % (n, k, words))
            if row.places:
                places = ', '.join('{w%d_%d, %d, %d, %d, %d}' % (n, k, len(p.words), p.is_type, p.optional,
                                                                 self.condition(row, p)) for k, p in enumerate(row.places))
                emit('static const struct bl_ptx_isa_place p%d[] = {%s};' % (n, places))
            if row.operands:
                emit('static const struct bl_ptx_isa_operand o%d[] = {%s};' % (n, ', '.join(self.operand(row, o) for o in row.operands)))
        open_sections = dict(self.open)
        emit('const struct bl_ptx_row bl_ptx_isa_rows[] = {')
        index, at = {}, 0
        everything = [(r.op, n, r) for n, r in enumerate(rows)] + [(op, -1, None) for op, _ in self.open]
        everything.sort(key=lambda e: (known.index(e[0]), e[1] < 0, e[1]))
        for op, n, row in everything:
            index.setdefault(op, [at, 0])[1] += 1
            at += 1
            if row is None:
                emit('    {.op = BL_PTX_OP_%s, .section = "%s", .form = "%s…", .is_open = true},' % (op, open_sections[op], op))
                continue
            rules = self.rules(row.sm)
            least = min(int(re.match(r'\d+', r)[0]) for r in row.sm.split())
            fields = ['.op = BL_PTX_OP_' + op, '.section = "%s"' % row.section, '.form = "%s"' % row.form(),
                      '.since_version = %d' % row.version, '.since_sm = %d' % least]
            if rules:
                fields.append('.rules = {%s}, .rule_count = %d' % (', '.join("{%d, '%s'}" % r for r in rules), len(rules)))
            if row.places:
                fields.append('.places = p%d, .place_count = %d, .type_count = %d' % (n, len(row.places), len(row.types())))
            if row.operands:
                fields.append('.operands = o%d, .operand_count = %d' % (n, len(row.operands)))
            emit('    {' + ', '.join(fields) + '},')
        emit('};\n')
        emit('const uint32_t bl_ptx_isa_row_count = %d;\n' % at)
        emit('const struct bl_ptx_isa_range bl_ptx_isa_ranges[BL_PTX_OPCODE_COUNT] = {')
        for op, (first, count) in index.items():
            emit('    [BL_PTX_OP_%s] = {%d, %d},' % (op, first, count))
        emit('};')
        missing = [o for o in known if o not in index]
        if missing:
            raise ValueError('opcodes without a row: ' + ' '.join(missing))

    @staticmethod
    def rules(sm):
        """Exact architectures; none for a plain 'sm or newer'."""
        parts = [re.fullmatch(r'(\d+)([af]?)', p) for p in sm.split()]
        if len(parts) == 1 and not parts[0][2]:
            return []
        return [(int(p[1]), p[2] or ' ') for p in parts]

    @staticmethod
    def condition(row, o):
        """The number of the place, from 1, that o's condition names; 0 without one."""
        if not o.condition:
            return 0
        return 1 + next(k for k, p in enumerate(row.places) if any(w.name == o.condition for w in p.words))

    def operand(self, row, o):
        fields = [".letter = '%s'" % o.letter]
        if o.type is None:
            fields.append('.type_place = BL_PTX_ISA_NO_PLACE')
        elif o.type.isdigit():
            fields.append('.type_place = ' + o.type)
        elif o.type == 'int':
            fields.append('.type_place = BL_PTX_ISA_ANY_INT')
        else:
            fields.append('.type_place = BL_PTX_ISA_NO_PLACE, .type = BL_PTX_' + o.type.upper())
        if o.vector:
            fields.append('.width = ' + {'v': 'BL_PTX_ISA_MOD_WIDTH', '+': 'BL_PTX_ISA_ANY_WIDTH'}.get(o.vector, o.vector))
        for name in ('double', 'wider', 'sink', 'pair', 'pair_always', 'negation', 'selector', 'optional'):
            if getattr(o, name):
                fields.append('.%s = true' % ('is_' + name if name == 'double' else name))
        if o.range and o.letter == 'm':
            fields.append('.space = BL_PTX_' + o.range.upper())
        elif o.range:
            low, _, high = o.range.partition(':')
            fields.append('.has_range = true, .low = %s, .high = %s' % (low, high or 'INT32_MAX'))
        fields.append('.condition = %d' % self.condition(row, o))
        return '{' + ', '.join(fields) + '}'

    # ---- the coverage page ----------------------------------------------------------------------

    @staticmethod
    def lowered(path):
        """By opcode, from lower's table.def: 'yes', or what is not."""
        text = re.sub(r'/\*.*?\*/', '', open(path).read(), flags=re.S)
        answer = {op: 'yes, does nothing here' for op in re.findall(r'NOTHING\((\w+)\)', text)}
        for op, exception in re.findall(r'\bROW\((\w+),[^,]*,[^,]*,[^,]*, (NULL|"[^"]*")\)', text):
            answer[op] = 'yes' if exception == 'NULL' else 'yes, but for ' + exception.strip('"')
        return answer

    def coverage(self, out, table):
        lowered, emit = self.lowered(table), lambda s='': out.write(s + '\n')
        sections = []
        for section in [r.section for r in self.rows] + [s for _, s in self.open]:
            if section not in sections:
                sections.append(section)
        opcodes = {r.op for r in self.rows} | {op for op, _ in self.open}
        emit('# PTX: what is known and what runs')
        emit()
        emit('Made by `ninja coverage-ptx` from `src/ptx/isa.def` and `src/lower/table.def`; do not edit.')
        emit()
        emit('%d opcodes, %d forms in the table; %d opcodes are lowered. An opcode marked *open* has forms that the table does not '
             'list: they are accepted, and fail at the launch of the kernel that holds them. "Since" is the PTX version and the '
             'lowest target; a word after @ needs more.' % (len(opcodes), len(self.rows), len(opcodes & set(lowered))))
        for section in sections:
            emit('\n## ' + section + '\n')
            emit('| form | since | lowered |')
            emit('|---|---|---|')
            for op in dict.fromkeys([r.op for r in self.rows if r.section == section] + [o for o, s in self.open if s == section]):
                how = lowered.get(op, 'no')
                for row in self.rows:
                    if row.op == op and row.section == section:
                        form = row.form(True).replace('|', '\\|')
                        emit('| `%s` | %d.%d, sm_%s | %s |' % (form, *divmod(row.version, 10), row.sm.replace(' ', ', sm_'), how))
                        how = '″'
                if (op, section) in self.open:
                    emit('| `%s…` *open* | | %s |' % (op, how))
        emit('\n## Choices with a name\n')
        for name, words in self.sets.items():
            emit('* `.%s`: %s' % (name.upper(), ' '.join('`.%s`' % w.lstrip('$') if w[0] != '$' else '`.%s`' % w[1:].upper()
                                                        for w in words.split('|'))))

    # ---- examples -------------------------------------------------------------------------------

    REGISTERS = {'pred': '%p', 'f32': '%f', 'f64': '%g', 'b128': '%q', 'int': '%d', 'texref': '%d', 'samplerref': '%d',
                 'surfref': '%d', 'b8': '%b', 'e2m1x2': '%b'}
    PREAMBLE = ('.reg .b8 %b<9>; .reg .b16 %h<40>; .reg .b32 %r<99>; .reg .b64 %d<40>; .reg .b128 %q<9>; .reg .pred %p<9>;\n'
                '.reg .f32 %f<99>; .reg .f64 %g<40>; .shared .align 16 .b8 sm[1024];\n')

    def register(self, type_name, operand, n):
        double = operand.double
        base = self.REGISTERS.get(type_name)
        if base in ('%b',) and operand.wider:
            base = '%h'
        if base is None:
            bits = {'e4m3': 8, 'e5m2': 8, 'e4m3x4': 32, 'e5m2x4': 32, 'e2m3x4': 32, 'e3m2x4': 32, 'e4m3x2': 16, 'e5m2x2': 16, 'e2m3x2': 16, 'e3m2x2': 16, 'ue8m0x2': 16, 'bf16': 16, 'bf16x2': 32, 'tf32': 32,
                    'f32x2': 64, 'e2m1x4': 16, 'f16x2': 32, 'u16x2': 32, 's16x2': 32}.get(type_name)
            if bits is None:
                m = re.fullmatch(r'[a-z]+(\d+)(x\d)?', type_name)
                bits = int(m[1]) if not m[2] else 32
            bits *= 2 if double else 1
            base = {8: '%h' if operand.wider else '%b', 16: '%h', 32: '%r', 64: '%d', 1: '%r', 4: '%r'}[bits]
        return base + str(n)

    def operand_text(self, row, o, types, chosen, n):
        type_name = types[int(o.type)] if o.type and o.type.isdigit() else (o.type or 'b32')
        one = lambda k: self.register('pred' if o.letter in 'pq' else type_name, o, k)
        if o.letter == 'm':
            return '[%s%d]' % ('%r' if row.op == 'tcgen05' else '%d', n)
        if o.letter == 'i':
            return o.range.partition(':')[0] if o.range else '1'
        if o.letter == 't':
            dim = int(next((w[0] for w in chosen if re.fullmatch(r'[1-5]d', w)), 2))
            if row.op == 'cp':
                return '[%d1, {' + ', '.join('%%r%d' % (k + 1) for k in range(dim)) + '}]'
            geometry = next(w for w in chosen if re.fullmatch(r'a?[123]d|a?cube|a?2dms', w))
            width = {'1d': 1, '2d': 2, '3d': 4, 'a1d': 2, 'a2d': 4, 'cube': 4, 'acube': 4, '2dms': 4, 'a2dms': 4}[geometry]
            f = '%f' if types[-1] == 'f32' and row.op in ('tex', 'tld4') else '%r'
            first = '%r' if geometry.startswith('a') else f
            kinds = [first] + [f] * (width - 1)
            return '[%d1, {' + ', '.join(r + str(k + 20) for k, r in enumerate(kinds)) + '}]'
        if o.letter == 's':
            return '_'
        if o.letter == 'l':
            return 'table' if row.op == 'brx' else 'L1'
        if o.letter == 'c':
            return '(%r1), fn, (%r2)'
        if o.letter == 'f' or o.letter == 'a' and o.range:
            return self.register(type_name, o, n)
        if o.letter == 'x':
            t = types[0]
            return '%s, %s' % (self.register(t, o, 1), self.register(t, o, 2))
        text = one(n)
        width = 1
        if o.vector == 'v':
            width = next((int(w[1:]) for w in chosen if re.fullmatch(r'v\d', w)), 1)
        elif o.vector:
            width = self.any_width(row, row.operands.index(o), chosen, types) if o.vector == '+' else int(o.vector)
        if width > 1 or (o.vector or '+') not in 'v+' or row.op in ('wmma', 'tcgen05'):
            text = '{' + ', '.join(one(n + k) for k in range(width)) + '}'
        if o.pair_always:
            text += '|%p' + str(n)
        return text

    @staticmethod
    def any_width(row, n, chosen, types):
        """What width a vector of any width has in an example."""
        if row.op == 'tcgen05':
            shape = next(w for w in chosen if re.fullmatch(r'\d+x\d+b(x2)?', w))
            return int(next(w[1:] for w in chosen if re.fullmatch(r'x\d+', w))) * {'16x128b': 2, '16x256b': 4}.get(shape, 1)
        if row.op == 'wgmma':
            n = int(re.search(r'n(\d+)', next(w for w in chosen if w.startswith('m64n')))[1])
            return n // 4 if types[0] == 'f16' else n // 2
        shape = next((w for w in chosen if re.fullmatch(r'm\d+n\d+k\d+', w)), None)
        if row.op == 'wmma':
            part = 'dabc'[n] if 'mma' in chosen else next(w for w in chosen if w in ('a', 'b', 'c', 'd'))
            t = types[0] if part in 'abcd' and 'mma' not in chosen else types[-1] if part == 'c' else types[0]
            if part in 'ab':
                t = 'f16' if 'mma' in chosen and len(types) == 2 else types[1] if 'mma' in chosen else t
                if shape in ('m8n8k4', 'm8n8k32', 'm8n8k128'):
                    return 1
                if t in ('s8', 'u8', 'bf16', 'tf32'):
                    eights = {'m16n16k16': 2, 'm16n16k8': 4}.get(shape) or (1 if (part == 'a') == (shape == 'm8n32k16') else 4)
                    return eights * (2 if t == 'bf16' else 1)
                return 8
            return 2 if shape in ('m8n8k4', 'm8n8k32', 'm8n8k128') else 4 if t == 'f16' else 8
        geometry = next((w for w in chosen if re.fullmatch(r'a?[123]d|a?cube|a?2dms', w)), '1d')
        return {'1d': 1, '2d': 2, '3d': 4, 'a1d': 1, 'a2d': 2, 'cube': 4, 'acube': 4}.get(geometry, 1)

    def example(self, row, rng):
        """(instruction, version, sm list): a random choice of words and operands that the row allows, no vector over 128 bits
        but where the row is made for them."""
        for attempt in range(100):
            words, chosen, types, version, sms = self.choose(row, rng)
            width = next((int(w[1:]) for w in chosen if re.fullmatch(r'v[248]', w)), 1)
            bits = 0 if width == 1 else 32 if re.search('x[24]$', types[0]) else int(re.search(r'\d+$', types[0])[0])
            if bits * width <= 128 or (bits * width == 256 and row.version == 88):
                break
        operands = []
        for n, o in enumerate(row.operands):
            if o.optional and rng.random() < 0.5:
                continue
            if o.condition and not any(w.name in words for w in row.places[self.condition(row, o) - 1].words):
                continue
            operands.append(self.operand_text(row, o, types, chosen, n + 1 if not o.vector else 1 + 8 * n % 24))
        return '.'.join([row.op] + words) + ' ' + ', '.join(operands) + ';', version, sms

    def choose(self, row, rng):
        """Words, those of them that are modifiers, those that are types, the version and the sms that they need."""
        words, chosen, types, version, sms = [], [], [], row.version, [row.sm]
        filled = set()
        for k, p in enumerate(row.places):
            if p.condition:
                if self.condition(row, p) - 1 not in filled:
                    continue
            elif p.optional and rng.random() < 0.5:
                continue
            free = [w for w in p.words if w.name not in chosen or p.is_type]
            if not free:
                continue
            w = rng.choice(free)
            filled.add(k)
            words.append(w.name)
            (types if p.is_type else chosen).append(w.name)
            version = max(version, w.version)
            sms.append(w.sm)
        return words, chosen, types, version, sms


def main(argv):
    if len(argv) != 7 or argv[1] not in ('table', 'coverage'):
        sys.exit(__doc__)
    isa = Isa(argv[2], argv[3], argv[4])
    with open(argv[6], 'w') as out:
        (isa.table if argv[1] == 'table' else isa.coverage)(out, argv[5])


if __name__ == '__main__':
    main(sys.argv)
