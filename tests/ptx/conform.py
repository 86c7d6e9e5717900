#!/usr/bin/env python3
"""Conformance made from isa.def: for each row of the instructions that compute, and each choice of its modifiers and types, a small
kernel applies the instruction to 4096 inputs chosen for its operands. Needs a machine with a CUDA driver (libcuda) and nothing else.

    conform.py record FILE [FOLDER]   runs all that the device takes, writes its answers to FILE (conform-h200.txt is an H200's);
                                      with FOLDER also all results, compressed, to explain differences
    conform.py model FILE             writes what conform_model.py answers, for what an H200 can't run (conform-model.txt)
    conform.py compare FILE FILE…     runs all that stands in the files here and compares; prints each case that differs
    conform.py explain FOLDER NAME…   runs the cases that these expressions match and prints where they differ from record's FOLDER
    conform.py coverage OUT.md        writes the page of the rows (docs/ptx-coverage.md), from the golden files
    conform.py ptx CASE…              prints the kernels

A line of FILE: case, eight hashes (CRC-32 of the results of each 512 inputs), the results of the first 16 inputs; all hexadecimal,
little end first. Or: case "refused". A case is the instruction's name, and in [] what else its text depends on."""
import ast
import itertools
import multiprocessing
import os
import random
import re
import struct
import sys
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, '..', '..', 'src', 'ptx')
sys.path[:0] = [HERE, SOURCE]
import gen_isa  # noqa: E402
from record_math import Driver  # noqa: E402

INPUTS, BLOCKS, RAW = 4096, 8, 16
CASES = 32  # in one kernel, which is one module
SECTIONS = ['Integer arithmetic', 'Extended-precision integer arithmetic', 'Floating point', 'Half precision floating point',
            'Mixed precision floating point', 'Comparison and selection', 'Logic and shift', 'Moves and conversions', 'Video']

# ---- inputs ------------------------------------------------------------------------------------------

FLOATS = {'f16': (5, 10), 'bf16': (8, 7), 'f32': (8, 23), 'f64': (11, 52)}  # bits of exponent and fraction
PAIRS = {'f16x2': ('f16', 16), 'bf16x2': ('bf16', 16), 'f32x2': ('f32', 32), 'u16x2': ('i16', 16), 's16x2': ('i16', 16),
         'bytes': ('i8', 8)}
INT64_MAX = (1 << 63) - 1
LIKE = {'f64s': 'f64', 'f32l': 'f32'}  # f64 with one NaN among the operands at most; f32 with results about the smallest normal
COUNTS = list(range(67)) + [127, 128, 254, 255, 256, 257, 0x7fffffff, 0x80000000, 0xffffffe0, 0xffffffff]


def integers(bits):
    top = 1 << bits
    values = [0, 1, 2, 3, 5, 7, 8, 10, 100, 0x7f, 0x80, 0x81, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0x1000001,
              0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef]
    values += [-v for v in values] + [top // 2, top // 2 - 1, top // 2 + 1, top - 2, top // 4, top // 16]
    return sorted({v % top for v in values})


def to_bits(kind, number):
    """The nearest bits of a Python number; for special values only."""
    if kind == 'bf16':
        return struct.unpack('<I', struct.pack('<f', number))[0] >> 16
    letter = {'f16': 'eH', 'f32': 'fI', 'f64': 'dQ'}[kind]
    return struct.unpack('<' + letter[1], struct.pack('<' + letter[0], number))[0]


def reals(kind):
    exponent, fraction = FLOATS[kind]
    one, infinity, sign = ((1 << exponent - 1) - 1) << fraction, ((1 << exponent) - 1) << fraction, 1 << exponent + fraction
    normal = 1 << fraction
    values = [0, 1, 2, 3, normal >> 1, normal - 1, normal, normal + 1, 2 * normal, one, one + 1, one - 1, one + normal, one - normal,
              one | normal >> 1, infinity - 1, infinity - normal, infinity - normal // 2, infinity, infinity | normal >> 1,
              infinity | normal >> 1 | 0x15, infinity | 1, infinity | normal >> 2 | 3, sign - 1]
    for number in (0.5, 1.5, 2.5, 3.0, 0.1, 100.0, 127.5, 128.0, 255.5, 256.0, 448.0, 464.0, 480.0, 32767.5, 32768.0, 57344.0, 61440.0, 65519.0, 6.0,
                   7.5, 28.0, 2147483520.0, 2147483648.0, 4294967040.0, 4294967296.0, 9223372036854775808.0, 18446744073709551616.0,
                   65504.0, 65520.0, 3.389e38, 3.4e38, 1e-40, 6e-8, 3e-8, 2e-3, 1.0 / 3):
        if kind != 'f16' or number < 65505:
            values.append(to_bits(kind, number))
    return sorted({v | s for v in values for s in (0, sign)})


def to_number(kind, bits):
    if kind == 'bf16':
        return struct.unpack('<f', struct.pack('<I', bits << 16))[0]
    letter = {'f16': 'He', 'f32': 'If'}[kind]
    return struct.unpack('<' + letter[1], struct.pack('<' + letter[0], bits))[0]


def beside_normal(kind, bits, chance):
    """A factor or divisor of bits, or one a step or two beside it, that gives about the smallest normal number; or None."""
    exponent, fraction = FLOATS[kind]
    number, least = to_number(kind, bits), 2.0 ** (2 - (1 << exponent - 1))
    wanted = chance.choice([least / number, number / least]) if 1e-36 < abs(number) < 1e36 else 0
    if not least < abs(wanted) < (60000 if kind == 'f16' else 1e38):
        return None
    return to_bits(kind, wanted) + chance.randrange(-2, 3)


def special(kind):
    if kind in LIKE:
        return reals(LIKE[kind])
    if kind == 'nan':
        return [v for v in reals('f64') if v & INT64_MAX > 0x7ff << 52]
    if kind == 'count':
        return COUNTS
    if kind == 'pred':
        return [0, 1]
    if kind == 'small':
        return [n % (1 << 32) for n in range(-34, 35)]
    return reals(kind) if kind in FLOATS else integers(int(kind[1:]))


def draw(kind, chance, before):
    """One value by chance; before: another operand of the same kind, or None."""
    if kind == 'count':
        return chance.choice(COUNTS) if chance.random() < 0.7 else chance.getrandbits(32)
    if kind == 'pred':
        return chance.getrandbits(1)
    if kind == 'small':
        return chance.randrange(-40, 41) % (1 << 32)
    if kind not in FLOATS and kind not in LIKE and kind != 'nan':
        bits = int(kind[1:])
        if before is not None and chance.random() < 0.1:
            return (before + chance.randrange(-1, 2)) % (1 << bits)
        value = chance.getrandbits(bits)
        if chance.random() < 0.4:
            value >>= chance.randrange(bits)
            value = -value % (1 << bits) if chance.random() < 0.5 else value
        return value
    if kind == 'nan':
        return chance.choice([0x7ff, 0xfff]) << 52 | chance.getrandbits(52) | 1
    least = 0.7 if kind == 'f32l' else 0
    kind = LIKE.get(kind, kind)
    exponent, fraction = FLOATS[kind]
    width, bias = 1 + exponent + fraction, (1 << exponent - 1) - 1
    how = chance.random()
    if before is not None and how < least:
        value = beside_normal(kind, before, chance)
        if value is not None:
            return value
    if before is not None and how < 0.15:  # cancellation, and products near a border
        return (before + chance.randrange(-3, 4) ^ chance.getrandbits(1) << width - 1) % (1 << width)
    if how < 0.35:
        return chance.getrandbits(width)
    power = chance.randrange(max(0, bias - 30), min(2 * bias, bias + 34)) if how < 0.85 else chance.choice(
        [0, 0, 1, 2, fraction, 2 * bias, 2 * bias - 1])
    value = chance.getrandbits(fraction)
    if chance.random() < 0.5:  # a halfway case for a shorter fraction, or beside one
        keep = chance.randrange(1, fraction + 1)
        value = (value >> keep << keep | 1 << keep - 1) + chance.choice([0, 0, 0, -1, 1])
        value %= 1 << fraction
    return chance.getrandbits(1) << width - 1 | power << fraction | value


def one_nan(values):
    """At most one NaN: which of several goes on is a matter of its own."""
    nans = [n for n, v in enumerate(values) if v & INT64_MAX > 0x7ff << 52]
    return tuple(0x3ff << 52 if n in nans[:-1] else v for n, v in enumerate(values))


def columns(kinds):
    """INPUTS values for each operand: special values in all pairs as far as they go, the rest by chance."""
    pairs = [k for k in kinds if k in PAIRS]
    if pairs:
        parts, width = PAIRS[pairs[0]]
        lanes = {16: 2, 32: 2, 8: 4}[width]
        scalar = [PAIRS[k][0] if k in PAIRS else k for k in kinds]
        several = [columns_of(tuple(scalar), lane) for lane in range(lanes)]
        return [[sum(v << width * n for n, v in enumerate(values)) for values in zip(*(s[c] for s in several))] if kind in PAIRS
                else several[0][c] for c, kind in enumerate(kinds)]
    return columns_of(tuple(kinds), 0)


def columns_of(kinds, seed):
    chance = random.Random(repr((kinds, seed)))
    specials = [special(k) for k in kinds]
    if len(kinds) > 1:
        first = list(itertools.product(*specials[:2]))
        chance.shuffle(first)
        first = first[:INPUTS // 2]
        tuples = [t + tuple(chance.choice(s) if chance.random() < 0.6 else draw(k, chance, t[0] if k == kinds[0] else None)
                            for k, s in zip(kinds[2:], specials[2:])) for t in first]
    else:
        tuples = [(s,) for s in (specials[0] if kinds[0] not in ('i8',) else range(256))]
    while len(tuples) < INPUTS:
        t = []
        for k, s in zip(kinds, specials):
            t.append(chance.choice(s) if chance.random() < 0.1 else draw(k, chance, t[0] if t and k == kinds[0] else None))
        tuples.append(tuple(t))
    chance.shuffle(tuples)
    if 'f64s' in kinds:
        tuples = [one_nan(t) for t in tuples]
    return [list(c) for c in zip(*tuples)]


# ---- cases -------------------------------------------------------------------------------------------

class Case:
    """name; row: its number in isa.def; inputs: (register, kind, bytes); code; outputs: (register, bytes); registers: (type, name)."""

    def __init__(self, row, name, version, sms):
        self.row, self.name, self.version, self.sms = row, name, version, sms
        self.inputs, self.outputs, self.registers, self.code, self.variables = [], [], [], [], ''

    def register(self, bits, name):
        self.registers.append(('.pred' if bits == 1 else '.b%d' % bits, name))
        return name

    def input(self, kind, bits, name, wider=0):
        self.inputs.append((self.register(wider or bits, name), kind, bits // 8 if not wider else wider // 8))
        return name

    def predicate_input(self, name):
        self.input('pred', 16, name + 'w')
        self.register(1, name)
        self.code.append('setp.ne.b16 %s, %sw, 0;' % (name, name))
        return name

    def output(self, bits, name):
        self.outputs.append((self.register(bits, name), max(bits, 8) // 8))
        return name

    def predicate_output(self, name):
        """Call after the instruction's code: stores it as a byte."""
        self.outputs.append((self.register(16, name + 'w'), 1))
        self.code.append('selp.b16 %sw, 1, 0, %s;' % (name, name))

    def size(self):
        return sum(b for _, b in self.outputs)

    def target(self):
        exact = [s for s in self.sms if re.search('[af ]', s)]
        if exact:
            return 'sm_' + exact[0].split()[0].replace('f', 'a')
        return 'sm_%d' % max([90] + [int(s) for s in self.sms])

    def is_modelled(self):
        """What an H200 can't run: conform_model.py answers."""
        return self.target() != 'sm_90'


WIDTHS = {'e4m3x4': 32, 'e5m2x4': 32, 'e2m3x4': 32, 'e3m2x4': 32, 'e2m1x4': 16, 'e4m3x2': 16, 'e5m2x2': 16, 'e2m3x2': 16, 'e3m2x2': 16,
          'e2m1x2': 8, 'ue8m0x2': 16, 'bf16': 16, 'tf32': 32, 'f32x2': 64, 'pred': 1}


def bits_of(name):
    if name in WIDTHS:
        return WIDTHS[name]
    m = re.fullmatch(r'[a-z]+(\d+)(x2)?', name)
    return int(m[1]) * (2 if m[2] else 1)


def kind_of(name):
    """The kind of input for an operand of this type."""
    if name in FLOATS or name in PAIRS:
        return name
    return {'tf32': 'f32'}.get(name, 'i%d' % bits_of(name))


# Operands with a meaning of their own: by opcode, from the first source on.
KINDS = {'shl': [None, 'count'], 'shr': [None, 'count'], 'shf': [None, None, 'count'], 'bfe': [None, 'count', 'count'],
         'bfi': [None, None, 'count', 'count'], 'szext': [None, 'count'], 'bmsk': ['count', 'count'], 'fns': [None, 'count', 'small'],
         'vshl': [None, 'count'], 'vshr': [None, 'count'], 'dp4a': ['bytes', 'bytes'], 'dp2a': ['s16x2', 'bytes'],
         'div': [None, None], 'prmt': [None, None, 'i32']}
SIMD = re.compile(r'v[a-z]+[24]$')


def choices(row):
    """All choices of words that a row allows: (words, version, sms)."""
    options = [list(p.words) + ([None] if p.optional and not p.condition else []) for p in row.places]
    for chosen in itertools.product(*options):
        words = [None if w is None else w.name for w in chosen]
        version = max([row.version] + [w.version for w in chosen if w])
        sms = [row.sm] + [w.sm for w in chosen if w]
        if all(p.condition is None or words[row.places.index(next(q for q in row.places if any(w.name == p.condition for w in q.words)))]
               for p in row.places):
            yield words, version, sms


APART = {'NaNs': 'nan', 'least': 'f32l'}  # inputs of a case of their own


def plain_case(isa, number, row, words, version, sms, variant, apart=None):
    """One instruction by the operands of its row. apart: with the inputs that APART names."""
    present = [w for w in words if w]
    types = [w for w in present if w in isa.types]
    name = '.'.join([row.op] + present)
    case = Case(number, name, version, sms)
    kinds = KINDS.get(row.op, [])
    if row.op in ('vshl', 'vshr', 'vadd', 'vsub', 'vmin', 'vmax', 'vabsdiff', 'vset', 'vmad'):
        kinds = kinds[:2] or [None, None]
    if SIMD.match(row.op):
        kinds = ['s16x2', 's16x2'] if row.op[-1] == '2' else ['bytes', 'bytes']
    if row.op in ('add', 'sub', 'mul', 'fma', 'mad') and 'f64' in types:
        kinds = ['f64s'] * 3
    if apart:
        kinds = [APART[apart]] * 3
        case.name += '[%s]' % apart
    if row.op in ('min', 'max') and len(row.operands) == 4:
        case.name += '[of three]'
    operands, sources, predicates = [], 0, []
    before = []  # code of CC.CF
    if 'c' in row.op[-1:] and row.op in ('addc', 'subc', 'madc'):
        case.input('i32', 32, '%k')
        case.register(32, '%z')
        before.append(('sub.cc.u32 %z, 0x80000000, %k;' if row.op == 'subc' else 'add.cc.u32 %z, %k, %k;'))
    for o in row.operands:
        type_name = types[int(o.type)] if o.type and o.type.isdigit() else (o.type or 'b32')
        bits = bits_of(type_name) * (2 if o.double else 1)
        if o.condition and not any(w in present for w in condition_words(row, o)):
            continue
        if o.letter == 'd':
            count = int(next((w[1:] for w in present if re.fullmatch(r'v\d', w)), 1)) if o.vector else 1
            if count > 1:
                operands.append('{' + ', '.join(case.output(bits, '%%d%d' % n) for n in range(count)) + '}')
                continue
            if bits == 8 and o.wider or o.wider and variant % 4 == 3 and "bf16" not in types and not re.search('f', type_name):
                bits = (32, 16, 64)[variant % 3] if bits == 8 else min(2 * bits, 64)
            operands.append(case.output(bits, '%d') + ('|' + case.register(1, '%p') if o.pair else ''))
            predicates += ['%p'] if o.pair else []
        elif o.letter == 'p':
            pair = o.pair and (o.pair_always or variant % 8 != 5)
            operands.append(case.register(1, '%p') + ('|' + case.register(1, '%q') if pair else ''))
            predicates += ['%p', '%q'] if pair else ['%p']
        elif o.letter == 'q':
            operands.append(case.predicate_input('%%c%d' % len(operands)))
        elif o.letter == 'i':
            operands.append('0x%x' % variant)
        else:
            kind = kinds[sources] if sources < len(kinds) and kinds[sources] else None
            if kind is None:
                kind = 'i%d' % bits if o.double else kind_of(type_name)
            sources += 1
            count = int(next((w[1:] for w in present if re.fullmatch(r'v\d', w)), 1)) if o.vector == 'v' else int(o.vector or 1)
            if count > 1:
                operands.append('{' + ', '.join(case.input(kind, bits, '%%a%d_%d' % (sources, n)) for n in range(count)) + '}')
                continue
            if kind in ('count', 'small'):
                bits = 32
            wider = 0
            if bits == 8 and o.wider:
                wider = (32, 16, 64)[variant // 3 % 3]
            elif o.wider and variant % 5 == 4 and "bf16" not in types and not re.search('f', type_name):
                wider = min(2 * bits, 64)
            if wider:
                kind = 'i%d' % wider
            operands.append(case.input(kind, bits, '%%a%d' % sources, wider))
    if row.op in ('mov',) and any(o.letter == 'x' for o in row.operands):
        bits = bits_of(types[0])
        case.inputs, case.registers = [], []
        if bits == 128:
            case.input('i64', 64, '%a1'), case.input('i64', 64, '%a2'), case.register(128, '%x'), case.register(128, '%y')
            case.code += ['mov.b128 %x, {%a1, %a2};', 'mov.b128 %y, %x;',
                          'mov.b128 {%s, %s}, %%y;' % (case.output(64, '%d1'), case.output(64, '%d2'))]
            return case
        operands = [case.output(bits, '%d'), case.input('i%d' % bits, bits, '%a')]
    case.code += before + ['%s %s;' % (name, ', '.join(operands))]
    if 'cc' in present or row.op in ('add', 'sub', 'mad') and 'cc' in present:
        case.code.append('%s.u32 %s, 0, 0;' % ('subc' if row.op in ('sub', 'subc') else 'addc', case.output(32, '%carry')))
    for p in predicates:
        case.predicate_output(p)
    return case


def condition_words(row, operand):
    place = next(p for p in row.places if any(w.name == operand.condition for w in p.words))
    return [w.name for w in place.words]


def select(case, texts, tag):
    """The same case with selectors on its operands: texts, one an operand, '' for none."""
    instruction = case.code[-1]
    head, operands = instruction.rstrip(';').split(' ', 1)
    parts = operands.split(', ')
    parts = [p + t for p, t in itertools.zip_longest(parts, texts, fillvalue='')]
    case.code[-1] = '%s %s;' % (head, ', '.join(parts))
    case.name += '[%s]' % tag
    return case


def video_variants(isa, number, row, chance):
    """Selectors and masks, by chance, a few for each row."""
    every = list(choices(row))
    simd = SIMD.match(row.op)
    lanes = int(row.op[-1]) if simd else 1
    masked = row.operands[0].selector
    for n in range(24 if not simd else 16):
        words, version, sms = chance.choice(every)
        if simd:
            letter, digits, top = ('h', 2, 4) if lanes == 2 else ('b', 4, 8)
            subset = [k for k in reversed(range(digits)) if chance.random() < 0.5] or [chance.randrange(digits)]
            texts = ['.' + letter + ''.join(map(str, subset)) if n % 4 else '']
            texts += ['.' + letter + ''.join(str(chance.randrange(top)) for _ in range(digits)) if chance.random() < 0.8 else ''
                      for _ in range(2)]
        else:
            one = lambda: '.' + chance.choice(['b0', 'b1', 'b2', 'b3', 'h0', 'h1']) if chance.random() < 0.8 else ''
            texts = [one() if masked else '', one(), one()]
        if not simd and masked and not texts[0]:
            texts[0] = '.h0'
        if not any(texts):
            continue
        yield select(plain_case(isa, number, row, words, version, sms, 0), texts, ','.join(t.strip('.') for t in texts))
    if row.op == 'vmad':  # signs of its operands
        for texts in (['', '-', ''], ['', '', '-'], ['', '', '', '-']):
            for words, version, sms in [chance.choice([e for e in every if 'po' not in e[0]]) for _ in range(4)]:
                case = plain_case(isa, number, row, words, version, sms, 0)
                head, operands = case.code[-1].rstrip(';').split(' ', 1)
                parts = [t + p for p, t in itertools.zip_longest(operands.split(', '), texts, fillvalue='')]
                case.code[-1] = '%s %s;' % (head, ', '.join(parts))
                case.name += '[%s]' % ','.join(texts)
                yield case


def move_cases(number):
    for whole, parts, kind in ((16, 2, 8), (32, 2, 16), (32, 4, 8), (64, 2, 32), (64, 4, 16), (128, 2, 64), (128, 4, 32)):
        for pack in True, False:
            case = Case(number, 'mov.b%d[%s of %d]' % (whole, 'pack' if pack else 'unpack', parts), 83 if whole == 128 else 10, ['70'])
            if kind == 8:
                case.name += '8'
            if pack:
                names = [case.input('i%d' % kind, kind, '%%a%d' % n) for n in range(parts)]
                out = case.register(whole, '%x')
                case.code.append('mov.b%d %s, {%s};' % (whole, out, ', '.join(names)))
                if whole == 128:
                    case.code.append('mov.b128 {%s, %s}, %%x;' % (case.output(64, '%d1'), case.output(64, '%d2')))
                else:
                    case.outputs.append((out, whole // 8))
            else:
                if whole == 128:
                    case.code.append('mov.b128 %s, {%s, %s};' % (case.register(128, '%x'), case.input('i64', 64, '%a1'), case.input('i64', 64, '%a2')))
                else:
                    case.input('i%d' % whole, whole, '%x')
                case.code.append('mov.b%d {%s}, %%x;' % (whole, ', '.join(case.output(kind, '%%d%d' % n) for n in range(parts))))
            yield case


SPACES = {'const': ('.const .align 8 .b8 cv[64];', 'cv'), 'global': ('.global .align 8 .b8 gv[64];', 'gv'), 'local': ('', 'lv'),
          'shared': ('', 'sv'), 'shared::cta': ('', 'sv'), 'shared::cluster': ('', 'sv'), 'param': ('', 'o'), 'param::entry': ('', 'o')}


def address_cases(number, row, words, version, sms):
    """cvta: there and back again is the same address, and the generic one is in its space; isspacep: of an address of each space."""
    present = [w for w in words if w]
    spaces = [present[-1]] if row.op == 'isspacep' else [w for w in present if w in SPACES]
    for of in SPACES if row.op == 'isspacep' else spaces:
        if row.op == 'cvta' and present[-1] == 'u32':
            continue
        name = '.'.join([row.op] + present) + ('[of %s]' % of if row.op == 'isspacep' else '')
        case = Case(number, name, max(version, 83), sms)
        case.variables = ''.join(dict.fromkeys(v for v, _ in SPACES.values()))
        for r in '%x', '%y', '%g':
            case.register(64, r)
        case.register(1, '%p'), case.register(1, '%q')
        variable = SPACES[of][1]
        case.code += ['mov.u64 %%x, %s;' % variable, 'cvta.%s.u64 %%g, %%x;' % of]
        if row.op == 'isspacep':
            case.code.append('%s %%p, %%g;' % '.'.join([row.op] + present))
        else:
            case.code += ['cvta.to.%s.u64 %%y, %%g;' % of, 'setp.eq.u64 %q, %x, %y;', 'isspacep.%s %%p, %%g;' % of]
        case.predicate_output('%p')
        if row.op == 'cvta':
            case.predicate_output('%q')
        yield case


def cases_of_row(isa, number, row, chance):
    if row.op in ('cvta', 'isspacep'):
        for words, version, sms in choices(row):
            yield from address_cases(number, row, words, version, sms)
        return
    if row.op == 'lop3':
        for words, version, sms in choices(row):
            for n in range(64):
                case = plain_case(isa, number, row, words, version, sms, n * 37 % 256)
                case.name += '[%d]' % (n * 37 % 256)
                yield case
        return
    for n, (words, version, sms) in enumerate(choices(row)):
        yield plain_case(isa, number, row, words, version, sms, n)
        if row.op in ('add', 'sub', 'mul', 'fma', 'mad') and 'f64' in words:
            yield plain_case(isa, number, row, words, version, sms, n, 'NaNs')
    if row.section == 'Video':
        yield from video_variants(isa, number, row, chance)
    if row.op == 'mov' and row.operands[0].letter == 'x':
        yield from move_cases(number)


def read_isa():
    return gen_isa.Isa(*(os.path.join(SOURCE, name) for name in ('isa.def', 'mods.def', 'ptx.h')))


def row_name(row):
    return row.form(True)


def excepted():
    """Rows without a golden, and why: lines 'opcode or section: reason' of conform-except.txt."""
    with open(os.path.join(HERE, 'conform-except.txt')) as file:
        return dict(line.rstrip('\n').split(': ', 1) for line in file if ': ' in line and line[0] != '#')


def all_cases(isa):
    """By name, in order. Two rows may have the same instruction; the first has the case and both have it as theirs."""
    cases, rows = {}, {}
    leave = excepted()
    for number, row in enumerate(isa.rows):
        if row.section not in SECTIONS or row.op in leave or row_name(row) in leave:
            continue
        for case in cases_of_row(isa, number, row, random.Random(row_name(row))):
            if cases.setdefault(case.name, case).code == case.code:
                rows.setdefault(number, []).append(case.name)
    return cases, rows


# ---- kernels -----------------------------------------------------------------------------------------

class Inputs:
    """The columns of all cases in one buffer: offset(kinds, position, bytes)."""

    def __init__(self):
        self.made, self.where, self.data = {}, {}, bytearray()

    def offset(self, kinds, position, size):
        key = (kinds, position, size)
        if key not in self.where:
            mask = (1 << 8 * size) - 1
            self.where[key] = len(self.data)
            self.data += struct.pack('<%d%s' % (INPUTS, {1: 'B', 2: 'H', 4: 'I', 8: 'Q'}[size]),
                                     *(v & mask for v in self.values(kinds)[position]))
        return self.where[key]

    def values(self, kinds):
        if kinds not in self.made:
            self.made[kinds] = columns(kinds)
        return self.made[kinds]


def kernel(cases, inputs):
    """One module; its result buffer has the arrays of results one after the other."""
    text = ['.version 9.0', '.target ' + cases[0].target(), '.address_size 64',
            *dict.fromkeys(v + ';' for c in cases for v in c.variables.split(';') if v),
            '.visible .entry k(.param .u64 o, .param .u64 i) {', '.reg .b64 %o, %i<9>, %o<9>;', '.reg .b32 %t, %n;',
            '.shared .align 8 .b8 sv[64];', '.local .align 8 .b8 lv[64];' if cases[0].variables else '',
            'mov.u32 %t, %tid.x;', 'mov.u32 %n, %ctaid.x;', 'mad.lo.u32 %t, %n, 128, %t;', 'ld.param.u64 %o, [o];', 'ld.param.u64 %i1, [i];']
    text += ['mad.wide.u32 %%%s%d, %%t, %d, %s;' % (p, n, n, '%o' if p == 'o' else '%i1') for p in 'oi' for n in (8, 4, 2, 1)]
    at = 0
    for case in cases:
        text.append('{')
        text += ['.reg %s %s;' % r for r in case.registers]
        kinds = tuple(k for _, k, _ in case.inputs)
        text += ['ld.global.b%d %s, [%%i%d+%d];' % (8 * size, name, size, inputs.offset(kinds, n, size))
                 for n, (name, _, size) in enumerate(case.inputs)]
        text += case.code
        for name, size in case.outputs:
            text.append('st.global.b%d [%%o%d+%d], %s;' % (8 * size, size, at, name))
            at += size * INPUTS
        text.append('}')
    return '\n'.join(text + ['ret;', '}', ''])


class Runner:
    def __init__(self, inputs):
        self.driver, self.inputs = Driver(), inputs
        self.device_inputs = self.driver.memory(bytes(inputs.data))
        self.room = self.driver.memory(bytes(CASES * 40 * INPUTS))

    def run(self, cases):
        """{name: results, or a str that says why there are none}; what is refused together is tried in halves."""
        size = sum(c.size() for c in cases) * INPUTS
        try:
            module = self.driver.load(kernel(cases, self.inputs))
            self.driver.run(module, 'k', INPUTS // 128, 128, self.room, self.device_inputs)
        except SystemExit as why:
            if len(cases) == 1:
                return {cases[0].name: ' '.join(str(why).split())}
            return {**self.run(cases[:len(cases) // 2]), **self.run(cases[len(cases) // 2:])}
        data, at, answer = self.driver.read(self.room, size), 0, {}
        self.driver.call('cuModuleUnload', module)
        for case in cases:
            answer[case.name] = data[at:at + case.size() * INPUTS]
            at += case.size() * INPUTS
        return answer


def digest(case, data):
    """What a golden line says of the results."""
    blocks, raw, at = [b''] * BLOCKS, b'', 0
    for _, size in case.outputs:
        step = size * INPUTS // BLOCKS
        blocks = [b + data[at + n * step:at + (n + 1) * step] for n, b in enumerate(blocks)]
        raw += data[at:at + RAW * size]
        at += size * INPUTS
    return ' '.join('%08x' % zlib.crc32(b) for b in blocks) + ' ' + raw.hex()


def work(job):
    cases, inputs, folder, number = job
    runner, lines, kept = Runner(inputs), {}, []
    for n in range(0, len(cases), CASES):
        for name, data in runner.run(cases[n:n + CASES]).items():
            case = next(c for c in cases[n:n + CASES] if c.name == name)
            lines[name] = 'refused ' + data if isinstance(data, str) else digest(case, data)
            if folder and not isinstance(data, str):
                kept.append(data)
    if folder:
        with open(os.path.join(folder, 'results%d.z' % number), 'wb') as out:
            out.write(zlib.compress(repr([c.name for c in cases if not lines[c.name].startswith('refused')]).encode() + b'\n' + b''.join(kept), 6))
    return lines


def groups(cases):
    """Cases of one target stand together, and those with variables."""
    found = {}
    for case in cases:
        found.setdefault((case.target(), case.variables), []).append(case)
    return found.values()


def run_all(cases, workers, folder=None):
    inputs = Inputs()
    for case in cases:
        kinds = tuple(k for _, k, _ in case.inputs)
        for n, (_, _, size) in enumerate(case.inputs):
            inputs.offset(kinds, n, size)
    jobs = []
    for group in groups(cases):
        share = -(-len(group) // workers)
        share = -(-share // CASES) * CASES
        jobs += [(group[n:n + share], inputs, folder, len(jobs) + n // share) for n in range(0, len(group), share)]
    with multiprocessing.Pool(workers) as pool:
        answers = pool.map(work, jobs, 1)
    return {name: line for answer in answers for name, line in answer.items()}


# ---- commands ----------------------------------------------------------------------------------------

def record(path, folder=None):
    cases, _ = all_cases(read_isa())
    here = [c for c in cases.values() if not c.is_modelled()]
    lines = run_all(here, min(8, os.cpu_count()), folder)
    refused = [n for n, line in lines.items() if line.startswith('refused')]
    for name in refused[:200]:
        print(name, lines[name][:300])
    with open(path, 'w') as out:
        out.writelines('%s %s\n' % (c.name.replace(' ', '_'), 'refused' if c.name in refused else lines[c.name]) for c in here)
    print('%d cases, %d of them refused' % (len(here), len(refused)))


def model(path):
    import conform_model
    cases, inputs = [c for c in all_cases(read_isa())[0].values() if c.is_modelled()], Inputs()
    with open(path, 'w') as out:
        for case in cases:
            kinds = tuple(k for _, k, _ in case.inputs)
            values = [[v & (1 << 8 * s) - 1 for v in column] for column, (_, _, s) in zip(inputs.values(kinds), case.inputs)]
            (_, size), = case.outputs
            data = b''.join(conform_model.answer(case.name, x).to_bytes(size, 'little') for x in zip(*values))
            out.write('%s %s\n' % (case.name.replace(' ', '_'), digest(case, data)))
    print('%d cases' % len(cases))


def read_golden(path):
    with open(path) as file:
        return {name.replace('_', ' '): rest for name, rest in (line.rstrip('\n').split(' ', 1) for line in file)}


def show(case, inputs, golden, ours):
    """The first result of the raw ones that differs, or the block that does."""
    kinds = tuple(k for _, k, _ in case.inputs)
    wanted, got = golden.split(' '), ours.split(' ')
    at = 0
    for _, size in case.outputs:
        for n in range(RAW):
            place = slice(2 * (at + n * size), 2 * (at + (n + 1) * size))
            a, b = wanted[BLOCKS][place], got[BLOCKS][place]
            if a != b:
                values = ', '.join('%x' % (inputs.values(kinds)[k][n] & (1 << 8 * s) - 1) for k, (_, _, s) in enumerate(case.inputs))
                flip = lambda h: bytes.fromhex(h)[::-1].hex()
                return '(%s) = %s, expected %s' % (values, flip(b), flip(a))
        at += RAW * size
    return 'blocks ' + ' '.join(str(n) for n in range(BLOCKS) if wanted[n] != got[n]) + ' differ'


def compare(paths):
    isa = read_isa()
    cases, rows = all_cases(isa)
    golden = {}
    for path in paths:
        golden.update(read_golden(path))
    there = [c for c in cases.values() if golden.get(c.name, 'refused') != 'refused']
    lines = run_all(there, min(8, os.cpu_count()))
    inputs, wrong, todo = Inputs(), {}, known()
    for case in there:
        ours = lines[case.name]
        if ours == golden[case.name]:
            continue
        wrong[case.name] = ours[:200] if ours.startswith('refused') else show(case, inputs, golden[case.name], ours)
    surprises = [n for n in wrong if n not in todo] + [n + ' has no difference any more' for n in todo if n not in wrong]
    for name in surprises[:2000]:
        print(name, wrong.get(name, ''))
    without = [name for name in cases if name not in golden]
    for name in without[:50]:
        print('no golden:', name)
    bad_rows = {number for number, names in rows.items() if any(n in wrong for n in names)}
    ruled = [n for n, names in rows.items() if any(golden.get(x, 'refused') != 'refused' for x in names)]
    leave = excepted()
    uncovered = [row_name(r) for n, r in enumerate(isa.rows) if n not in ruled and not why_not(r, leave)]
    for name in uncovered:
        print('row without golden or reason:', name)
    print('%d rows in the table, %d with goldens, %d exact, %d excepted with a reason; %d cases, %d exact, %d refused by the recording device'
          % (len(isa.rows), len(ruled), len([n for n in ruled if n not in bad_rows]), len(isa.rows) - len(ruled) - len(uncovered), len(there),
             len(there) - len(wrong), len([c for c in cases if golden.get(c) == 'refused'])))
    return 1 if surprises or without or uncovered else 0


def read_results(folder, wanted):
    """{name: results} of record's FOLDER."""
    found, cases = {}, all_cases(read_isa())[0]
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), 'rb') as source:
            names, data = zlib.decompress(source.read()).split(b'\n', 1)
        at = 0
        for name in ast.literal_eval(names.decode()):
            size = cases[name].size() * INPUTS
            if name in wanted:
                found[name] = data[at:at + size]
            at += size
    return found


def explain(folder, patterns):
    """For each case, how many of the results differ, and the first few."""
    cases = [c for n, c in all_cases(read_isa())[0].items() if any(re.search(p, n) for p in patterns)]
    results, inputs = read_results(folder, {c.name for c in cases}), Inputs()
    for case in cases:
        for n, (_, _, size) in enumerate(case.inputs):
            inputs.offset(tuple(k for _, k, _ in case.inputs), n, size)
    runner = Runner(inputs)
    for n in range(0, len(cases), CASES):
        ours = runner.run(cases[n:n + CASES])
        for case in cases[n:n + CASES]:
            if case.name in results and ours[case.name] != results[case.name]:
                explain_case(case, inputs, results[case.name], ours[case.name])


def explain_case(case, inputs, wanted, got):
    if isinstance(got, str):
        print(case.name, 'refused', got[:200])
        return
    kinds, at = tuple(k for _, k, _ in case.inputs), 0
    for _, size in case.outputs:
        part = lambda data, n: data[at + n * size:at + (n + 1) * size]
        differ = [n for n in range(INPUTS) if part(wanted, n) != part(got, n)]
        print(case.name, len(differ), 'differ')
        for n in differ[:6]:
            values = ', '.join('%0*x' % (2 * s, inputs.values(kinds)[k][n] & (1 << 8 * s) - 1) for k, (_, _, s) in enumerate(case.inputs))
            print('   (%s) = %s, expected %s' % (values, part(got, n)[::-1].hex(), part(wanted, n)[::-1].hex()))
        at += size * INPUTS


def known():
    """Cases that differ today, and why: lines 'case: reason' of conform-todo.txt. A case that no longer does must leave it."""
    with open(os.path.join(HERE, 'conform-todo.txt')) as file:
        return dict(line.rstrip('\n').split(': ', 1) for line in file if line[0] != '#')


def why_not(row, leave):
    """Why a row has no golden, or None."""
    return leave.get(row_name(row)) or leave.get(row.op) or leave.get(row.section)


def coverage(path):
    """The page: for each row its cases, what they are compared with and which of them are not exact."""
    isa = read_isa()
    cases, rows = all_cases(isa)
    h200, modelled, todo, leave = read_golden(HERE + '/conform-h200.txt'), read_golden(HERE + '/conform-model.txt'), known(), excepted()
    lines, sections = [], dict.fromkeys(r.section for r in isa.rows)
    exact = golden = 0
    for section in sections:
        here = [(n, r) for n, r in enumerate(isa.rows) if r.section == section]
        if section in leave:
            lines.append('## %s\n\n%d rows. %s.\n' % (section, len(here), leave[section].capitalize()))
            continue
        lines.append('## %s\n\n| row | cases | compared with | exact |\n|---|---|---|---|' % section)
        for number, row in here:
            names = [n for n in rows.get(number, []) if h200.get(n, 'refused') != 'refused' or n in modelled]
            bad = [n for n in names if n in todo]
            origin = ' and '.join(w for w, f in (('an H200', h200), ('a model', modelled)) if any(n in f for n in names))
            how = 'yes' if not bad else '%d: %s' % (len(names) - len(bad), '; '.join(dict.fromkeys(todo[n] for n in bad)))
            golden, exact = golden + bool(names), exact + (bool(names) and not bad)
            lines.append('| `%s` | %d | %s | %s |' % (row_name(row).replace('|', '\\|'), len(names), origin or '-',
                                                      how if names else why_not(row, leave)))
        lines.append('')
    with open(path, 'w') as out:
        out.write('# PTX: what is compared bit for bit\n\nMade by `python3 tests/ptx/conform.py coverage docs/ptx-coverage.md`; do not edit. '
                  'The test `ptx-conform` holds it true.\n\n%d rows in the table, %d with goldens, %d of these exact in every case. '
                  '%d cases of %d inputs each: a case is an instruction with one choice of modifiers and types. "An H200": recorded from one '
                  '(tests/ptx/conform-h200.txt). "A model": computed in exact fractions (tests/ptx/conform_model.py), because an H200 lacks '
                  'the instruction.\n\n' % (len(isa.rows), golden, exact, len(h200) + len(modelled), INPUTS) + '\n'.join(lines))


def main(argv):
    command, *arguments = argv[1:] or ['']
    if command == 'record':
        return record(*arguments)
    if command == 'compare':
        return compare(arguments)
    if command == 'coverage':
        return coverage(*arguments)
    if command == 'model':
        return model(*arguments)
    if command == 'explain':
        return explain(arguments[0], arguments[1:])
    if command == 'count':
        cases, rows = all_cases(read_isa())
        print(len(cases), len(rows))
        return 0
    if command == 'ptx':
        cases, _ = all_cases(read_isa())
        print(kernel([cases[n.replace('_', ' ')] for n in arguments], Inputs()))
        return 0
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
