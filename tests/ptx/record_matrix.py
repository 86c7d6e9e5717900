#!/usr/bin/env python3
"""Records what a GPU's matrix instructions answer: mma, mma.sp, wmma (load, mma, store), ldmatrix, stmatrix, movmatrix. Needs a machine
with the driver (libcuda) and nothing else; the PTX and the operands are made here.

    record_matrix.py record FILE [FOLDER]   writes FILE; with FOLDER also all results of the first tiles, raw, form after form
    record_matrix.py quick FILE             compares with FILE, an earlier one: the first tiles of every form and class
    record_matrix.py whole FILE             the same for all tiles
    record_matrix.py forms                  prints the forms

A form is an instruction; a class (CLASSES) is a way to draw operands; a tile is one run of the form by one warp. A line of FILE: form,
class, a hash of the results of the first tiles, a hash of the results of all tiles, and the first words. What a driver refuses is
recorded as refused."""
import ctypes
import hashlib
import os
import random
import sys

from record_math import Driver

QUICK, WHOLE = 64, 12288  # tiles of each class; there are nine classes, so more than 10^5 tiles in all
CLASSES = ['bits', 'finite', 'near', 'cancel', 'subnormal', 'sparse', 'halfway', 'special', 'huge']
HEAD = '.version 8.7\n.target sm_90\n.address_size 64\n'
WIDTH = {'f16': 16, 'bf16': 16, 'tf32': 32, 'f32': 32, 'f64': 64, 'e4m3': 8, 'e5m2': 8, 's8': 8, 'u8': 8, 's4': 4, 'u4': 4, 'b1': 1,
         's32': 32, 'b32': 32}
FLOATS = {'f16': (5, 10), 'bf16': (8, 7), 'tf32': (8, 23), 'f32': (8, 23), 'f64': (11, 52), 'e4m3': (4, 3), 'e5m2': (5, 2)}


# ---- operands ---------------------------------------------------------------------------------

def spread(data, width):
    """Each byte repeated: one a byte of an element."""
    out = bytearray(len(data) * width)
    for n in range(width):
        out[n::width] = data
    return bytes(out)


def draw(chance, rng, count, width):
    """A mask: all ones with a chance of `chance` in 256, by element."""
    return int.from_bytes(spread(rng.randbytes(count).translate(bytes(255 if n < chance else 0 for n in range(256))), width), 'little')


def exponents(kind, role, partner, name):
    """(lowest exponent, bits of exponent that vary, highest bits of mantissa that vary) of a class; the bias is what 1.0 has."""
    e, m = FLOATS[kind]
    bias = (1 << e - 1) - 1
    wide = {'f16': 4, 'e5m2': 4, 'e4m3': 3}.get(partner, 6)  # C spreads as far as products do
    if name == 'finite':
        return (bias - (1 << wide - 1) * 2 if role == 'c' and e > 5 else 1 if e < 8 else bias // 2, min(wide + 1 if role == 'c' else e - 1, e - 1), m)
    if name in ('near', 'special'):
        return (bias - 4, 3, m) if role != 'c' else (bias - 6, 3, m)
    if name == 'cancel':
        return bias, 1, 2
    if name == 'subnormal':
        if role == 'c':
            return (0, 4, m) if e < 8 or partner in ('bf16', 'tf32', 'f64') else (bias - 40, 4, m)
        return (0, 2, m) if role == 'a' else (bias - 6, 3, m)
    if name == 'sparse':
        return (bias - 7, 4, m) if e > 4 else (1, 3, m)
    if name == 'halfway':
        return (bias - 6, 3, 1) if role != 'c' else (bias, 2, m)
    top = (1 << e) - 1
    return (top - 4, 2, m) if e < 8 or role == 'c' and partner in ('bf16', 'tf32', 'f64') else (bias + (top - bias) // 2 - 2, 2, m)


def specials(kind):
    e, m = FLOATS[kind]
    sign, top, one = 1 << e + m, ((1 << e) - 1) << m, ((1 << e - 1) - 1) << m
    values = [0, sign, top, sign | top, top | 1 << m - 1, sign | top | 1, top - 1, sign | top - 1, 1, sign | 1, 1 << m, (1 << m) - 1, one,
              sign | one, one + 1, top | (1 << m) - 1]
    return values


def floats(kind, role, partner, name, rng, count):
    """count elements, little-endian, in containers of WIDTH[kind] bits."""
    e, m = FLOATS[kind]
    width = WIDTH[kind] // 8
    bits = int.from_bytes(rng.randbytes(count * width), 'little')
    every = int.from_bytes((b'\1' + bytes(width - 1)) * count, 'little')
    if name == 'bits':
        return bits.to_bytes(count * width, 'little')
    low, vary, mantissa = exponents(kind, role, partner, name)
    keep = 1 << e + m | ((1 << vary) - 1) << m | (1 << m) - (1 << m - mantissa)
    bits = (bits & every * keep) + every * (low << m)
    if name == 'sparse':
        bits &= draw(64 if role != 'c' else 128, rng, count, width)
    if name == 'special':
        chosen = draw(6, rng, count, width)
        index, parts, data = rng.randbytes(count), specials(kind), bytearray(count * width)
        for n in range(width):
            data[n::width] = index.translate(bytes(parts[i % 16] >> 8 * n & 255 for i in range(256)))
        bits ^= (bits ^ int.from_bytes(data, 'little')) & chosen
    return bits.to_bytes(count * width, 'little')


def integers(kind, name, rng, count_bytes):
    data = rng.randbytes(count_bytes)
    if kind == 's32' and name in ('special', 'huge'):  # near the ends of the range
        bits = int.from_bytes(data, 'little')
        every = int.from_bytes(b'\1\0\0\0' * (count_bytes // 4), 'little')
        top = draw(128, rng, count_bytes // 4, 4)
        return ((bits & every * 0xfff) + (every * 0x7ffff000 & top) + (every * 0x80000000 & ~top)).to_bytes(count_bytes, 'little')
    if kind == 's32' and name != 'bits':
        every = int.from_bytes(b'\1\0\0\0' * (count_bytes // 4), 'little')
        return (int.from_bytes(data, 'little') & every * 0xfffff).to_bytes(count_bytes, 'little')
    if name == 'huge':
        return data.translate(bytes((0x80, 0x7f, 0xff, 0x88, 0x77, 0x7f, 0x80, 0xff)[n & 7] for n in range(256)))
    return data


class Pools:
    """Operands by kind, role and class; made once, in chunks, and taken from their start."""
    CHUNK = 1 << 17

    def __init__(self):
        self.made = {}

    def take(self, kind, role, partner, name, size):
        key = kind, role, partner if kind in FLOATS and role == 'c' else '', name
        pool = self.made.setdefault(key, bytearray())
        while len(pool) < size:
            rng = random.Random(' '.join(key) + f' {len(pool)}')
            if kind == 'meta':
                ok = (4, 8, 12, 9, 13, 14) if name != 'tf32' else (4, 14)
                pool += rng.randbytes(self.CHUNK).translate(bytes(ok[n % 16 % len(ok)] | ok[n // 16 % len(ok)] << 4 for n in range(256)))
            elif kind in FLOATS:
                pool += floats(kind, role, partner, name, rng, self.CHUNK * 8 // WIDTH[kind])
            else:
                pool += integers(kind, name, rng, self.CHUNK)
        return bytes(pool[:size])


# ---- forms ------------------------------------------------------------------------------------

class Form:
    """text: the instruction with {d} {a} {b} {c}, or lines around it; counts: 32-bit words a lane of d, a, b, c (f64: two each)."""
    def __init__(self, name, body, sizes, kinds, registers=''):
        self.name = name        # as the golden file has it
        self.body = body        # of the kernel
        self.sizes = sizes      # bytes a tile of d, a, b, c, metadata
        self.kinds = kinds      # of a, b, c
        self.registers = registers


def vector(prefix, count):
    return '{' + ', '.join(f'%{prefix}{n}' for n in range(count)) + '}'


def register_lines(prefix, kind, count):
    return f'.reg .{kind} {", ".join(f"%{prefix}{n}" for n in range(count))};\n'


def register_kind(kind):
    return kind if kind in ('f32', 'f64') else 'b32'


def load_lines(prefix, kind, count):
    size = 8 if kind == 'f64' else 4
    return (register_lines(prefix, kind, count) + f'mad.wide.u32 %w, %i, {size * count}, %p{prefix};\n' +
            ''.join(f'ld.global.{kind} %{prefix}{n}, [%w+{size * n}];\n' for n in range(count)))


def store_lines(prefix, kind, count):
    size = 8 if kind == 'f64' else 4
    return (f'mad.wide.u32 %w, %i, {size * count}, %pd;\n' +
            ''.join(f'st.global.{kind} [%w+{size * n}], %{prefix}{n};\n' for n in range(count)))


def register_form(text, kinds, counts, meta=None):
    """An instruction on registers: kinds and counts of d, a, b, c."""
    body = ''
    for prefix, kind, count in list(zip('dabc', map(register_kind, kinds), counts))[1:]:
        body += load_lines(prefix, kind, count)
    body += register_lines('d', register_kind(kinds[0]), counts[0])
    if meta is not None:
        body += load_lines('e', 'b32', 1)
    operands = [vector(p, n) for p, n in zip('dabc', counts)] + ([f'%e0, {meta}'] if meta is not None else [])
    body += f'{text} {", ".join(operands)};\n' + store_lines('d', register_kind(kinds[0]), counts[0])
    sizes = [32 * n * (8 if k == 'f64' else 4) for k, n in zip(kinds, counts)] + [128 if meta is not None else 0]
    return Form(text + (f' {meta}' if meta is not None else ''), body, sizes, kinds[1:])


def mma_forms():
    for la in 'row', 'col':
        for lb in 'row', 'col':
            for d, c in ('f16', 'f16'), ('f32', 'f16'), ('f32', 'f32'):
                yield register_form(f'mma.sync.aligned.m8n8k4.{la}.{lb}.{d}.f16.f16.{c}', (d, 'f16', 'f16', c),
                                    (4 if d == 'f16' else 8, 2, 2, 4 if c == 'f16' else 8))
    for shape, a, b in ('m16n8k8', 2, 1), ('m16n8k16', 4, 2):
        yield register_form(f'mma.sync.aligned.{shape}.row.col.f16.f16.f16.f16', ('f16',) * 4, (2, a, b, 2))
        for t in 'f16', 'bf16':
            yield register_form(f'mma.sync.aligned.{shape}.row.col.f32.{t}.{t}.f32', ('f32', t, t, 'f32'), (4, a, b, 4))
    for shape, a, b in ('m16n8k4', 2, 1), ('m16n8k8', 4, 2):
        yield register_form(f'mma.sync.aligned.{shape}.row.col.f32.tf32.tf32.f32', ('f32', 'tf32', 'tf32', 'f32'), (4, a, b, 4))
    for shape, a, b in ('m16n8k16', 2, 1), ('m16n8k32', 4, 2):
        for ta in 'e4m3', 'e5m2':
            for tb in 'e4m3', 'e5m2':
                for d in 'f16', 'f32':
                    yield register_form(f'mma.sync.aligned.{shape}.row.col.{d}.{ta}.{tb}.{d}', (d, ta, tb, d),
                                        (2 if d == 'f16' else 4, a, b, 2 if d == 'f16' else 4))
    for shape, d, a, b in ('m8n8k4', 2, 1, 1), ('m16n8k4', 4, 2, 1), ('m16n8k8', 4, 4, 2), ('m16n8k16', 4, 8, 4):
        yield register_form(f'mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64', ('f64',) * 4, (d, a, b, d))
    for types, shapes in ((('s8', 'u8'), (('m8n8k16', 2, 1, 1), ('m16n8k16', 4, 2, 1), ('m16n8k32', 4, 4, 2))),
                          (('s4', 'u4'), (('m8n8k32', 2, 1, 1), ('m16n8k32', 4, 2, 1), ('m16n8k64', 4, 4, 2)))):
        for ta in types:
            for tb in types:
                for shape, d, a, b in shapes:
                    for sat in '', '.satfinite':
                        yield register_form(f'mma.sync.aligned.{shape}.row.col{sat}.s32.{ta}.{tb}.s32', ('s32', ta, tb, 's32'), (d, a, b, d))
    for shape, d, a, b in ('m8n8k128', 2, 1, 1), ('m16n8k128', 4, 2, 1), ('m16n8k256', 4, 4, 2):
        for op in 'xor', 'and':
            yield register_form(f'mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc', ('s32', 'b1', 'b1', 's32'), (d, a, b, d))


def sparse_forms():
    plain, ordered = 'mma.sp.sync.aligned', 'mma.sp::ordered_metadata.sync.aligned'
    for shape, a, selectors in ('m16n8k16', 2, 4), ('m16n8k32', 4, 2):
        for s in range(selectors):
            for d, t in ('f16', 'f16'), ('f32', 'f16'), ('f32', 'bf16'):
                yield register_form(f'{plain}.{shape}.row.col.{d}.{t}.{t}.{d}', (d, t, t, d), (2 if d == 'f16' else 4, a, a, 2 if d == 'f16' else 4), s)
        yield register_form(f'{ordered}.{shape}.row.col.f32.f16.f16.f32', ('f32', 'f16', 'f16', 'f32'), (4, a, a, 4), 0)
    for shape, a, selectors in ('m16n8k8', 2, 4), ('m16n8k16', 4, 2):
        for s in range(selectors):
            yield register_form(f'{plain}.{shape}.row.col.f32.tf32.tf32.f32', ('f32', 'tf32', 'tf32', 'f32'), (4, a, a, 4), s)
        yield register_form(f'{ordered}.{shape}.row.col.f32.tf32.tf32.f32', ('f32', 'tf32', 'tf32', 'f32'), (4, a, a, 4), 1)
    for types, shapes in (('s8', 'u8'), (('m16n8k32', 2, 2), ('m16n8k64', 4, 1))), (('s4', 'u4'), (('m16n8k64', 2, 2), ('m16n8k128', 4, 1))):
        for shape, a, selectors in shapes:
            for s in range(selectors):
                for ta, tb in (types[0],) * 2, types, types[::-1], (types[1],) * 2:
                    for sat in ('', '.satfinite') if s == 0 else ('',):
                        yield register_form(f'{plain}.{shape}.row.col{sat}.s32.{ta}.{tb}.s32', ('s32', ta, tb, 's32'), (4, a, a, 4), s)
            yield register_form(f'{ordered}.{shape}.row.col.s32.{types[0]}.{types[0]}.s32', ('s32', types[0], types[0], 's32'), (4, a, a, 4), 0)
    for ta in 'e4m3', 'e5m2':
        for tb in 'e4m3', 'e5m2':
            yield register_form(f'{plain}.m16n8k64.row.col.f32.{ta}.{tb}.f32', ('f32', ta, tb, 'f32'), (4, 4, 4, 4), 0)


SHAPES = {'m16n16k16': (16, 16, 16), 'm8n32k16': (8, 32, 16), 'm32n8k16': (32, 8, 16), 'm16n16k8': (16, 16, 8), 'm8n8k4': (8, 8, 4),
          'm8n8k32': (8, 8, 32), 'm8n8k128': (8, 8, 128)}


def fragment_words(part, shape, kind):
    """Registers of a wmma fragment."""
    m, n, k = SHAPES[shape]
    if part == 'c':
        return {'f16': 4, 'f64': 2}.get(kind, m * n // 32)
    elements = (m if part == 'a' else n) * k
    return 8 if kind == 'f16' else 1 if kind == 'f64' else max(1, elements * WIDTH[kind] // 32 // 32)


def tile_bytes(part, shape, kind):
    m, n, k = SHAPES[shape]
    return {'a': m * k, 'b': k * n, 'c': m * n}[part] * WIDTH[kind] // 8


def fragment_load(part, layout, shape, kind, pad=0):
    """wmma.load into registers %a0…; pad elements are added to the stride."""
    m, n, k = SHAPES[shape]
    rows, columns = {'a': (m, k), 'b': (k, n), 'c': (m, n)}[part]
    stride = (columns if layout == 'row' else rows) + pad
    count = fragment_words(part, shape, kind)
    register = register_kind(kind)
    text = f'wmma.load.{part}.sync.aligned.{layout}.{shape}.global.{kind}'
    return text, (register_lines(part, register, count) + f'mad.wide.u32 %w, %t, {tile_bytes(part, shape, kind)}, %p{part};\n' +
                  f'{text} {vector(part, count)}, [%w], {stride};\n')


def wmma_mma(shape, la, lb, op, d, a, b, c, between=''):
    body = ''.join(fragment_load(part, layout, shape, kind)[1] for part, layout, kind in (('a', la, a), ('b', lb, b), ('c', 'row', c)))
    count = fragment_words('c', shape, d)
    text = f'wmma.{op}.sync.aligned.{la}.{lb}.{shape}{between}.{d}' + ('' if a == 'f16' else f'.{a}.{b}') + f'.{c}'
    body += register_lines('d', register_kind(d), count)
    body += f'{text} {vector("d", count)}, {vector("a", fragment_words("a", shape, a))}, {vector("b", fragment_words("b", shape, b))}, '
    body += f'{vector("c", fragment_words("c", shape, c))};\nmad.wide.u32 %w, %t, {tile_bytes("c", shape, d)}, %pd;\n'
    body += f'wmma.store.d.sync.aligned.row.{shape}.global.{d} [%w], {vector("d", count)}, {SHAPES[shape][1]};\n'
    sizes = [tile_bytes('c', shape, d), tile_bytes('a', shape, a), tile_bytes('b', shape, b), tile_bytes('c', shape, c), 0]
    return Form(text, body, sizes, (a, b, c))


def wmma_forms():
    layouts = [(la, lb) for la in ('row', 'col') for lb in ('row', 'col')]
    for shape in 'm16n16k16', 'm8n32k16', 'm32n8k16':
        for la, lb in layouts:
            yield wmma_mma(shape, la, lb, 'mma', 'f32', 'f16', 'f16', 'f32')
            yield wmma_mma(shape, la, lb, 'mma', 'f32', 'bf16', 'bf16', 'f32')
            yield wmma_mma(shape, la, lb, 'mma', 's32', 's8', 's8', 's32')
        for d, c in ('f16', 'f16'), ('f16', 'f32'), ('f32', 'f16'):
            yield wmma_mma(shape, 'row', 'col', 'mma', d, 'f16', 'f16', c)
        yield wmma_mma(shape, 'row', 'col', 'mma', 'f16', 'f16', 'f16', 'f16', '.satfinite')
        yield wmma_mma(shape, 'row', 'col', 'mma', 'f32', 'f16', 'f16', 'f32', '.satfinite')
        yield wmma_mma(shape, 'row', 'col', 'mma', 's32', 'u8', 'u8', 's32')
        yield wmma_mma(shape, 'row', 'col', 'mma', 's32', 's8', 's8', 's32', '.satfinite')
    for la, lb in layouts:
        yield wmma_mma('m16n16k8', la, lb, 'mma', 'f32', 'tf32', 'tf32', 'f32')
        yield wmma_mma('m8n8k4', la, lb, 'mma', 'f64', 'f64', 'f64', 'f64')
    for mode in '.rn', '.rz', '.rm', '.rp':
        yield wmma_mma('m8n8k4', 'row', 'col', 'mma', 'f64', 'f64', 'f64', 'f64', mode)
    for kind in 's4', 'u4':
        for sat in '', '.satfinite':
            yield wmma_mma('m8n8k32', 'row', 'col', 'mma', 's32', kind, kind, 's32', sat)
    for op in 'mma.xor.popc', 'mma.and.popc':
        yield wmma_mma('m8n8k128', 'row', 'col', op, 's32', 'b1', 'b1', 's32')
    yield from fragment_forms()


def fragment_forms():
    """What lies where in a fragment."""
    big = 'm16n16k16', 'm8n32k16', 'm32n8k16'
    table = [(part, shape, kind, layouts) for shape in big for part, kind, layouts in
             [(p, t, ('row', 'col')) for p in 'ab' for t in ('f16', 'bf16', 's8')] + [('c', t, ('row', 'col')) for t in ('f16', 'f32', 's32')]]
    table += [(p, 'm16n16k8', 'tf32', ('row', 'col')) for p in 'ab'] + [('c', 'm16n16k8', 'f32', ('row', 'col'))]
    table += [(p, 'm8n8k4', 'f64', ('row', 'col')) for p in 'abc']
    table += [(p, 'm8n8k32', 's4', ('row' if p == 'a' else 'col',)) for p in 'ab'] + [('c', 'm8n8k32', 's32', ('row', 'col'))]
    table += [(p, 'm8n8k128', 'b1', ('row' if p == 'a' else 'col',)) for p in 'ab'] + [('c', 'm8n8k128', 's32', ('row', 'col'))]
    for part, shape, kind, layouts in table:
        for layout in layouts:
            count = fragment_words(part, shape, kind)
            text, body = fragment_load(part, layout, shape, kind)
            body += store_lines(part, register_kind(kind), count)
            sizes = [32 * count * (8 if kind == 'f64' else 4), 0, 0, 0, 0]
            sizes['dabc'.index(part)] = tile_bytes(part, shape, kind)
            yield Form(text, body, sizes, [kind if p == part else None for p in 'abc'])
            if part != 'c':
                continue
            text = f'wmma.store.d.sync.aligned.{layout}.{shape}.global.{kind}'
            stride = SHAPES[shape][layout == 'row']
            body = load_lines('c', register_kind(kind), count) + f'mad.wide.u32 %w, %t, {tile_bytes("c", shape, kind)}, %pd;\n'
            body += f'{text} [%w], {vector("c", count)}, {stride};\n'
            yield Form(text, body, [tile_bytes('c', shape, kind), 0, 0, sizes[0], 0], [None, None, kind])


def move_forms():
    """ldmatrix, stmatrix: 128 words of A in shared memory, rows by an order of the lanes; movmatrix."""
    rows = ('.reg .b32 %s, %l, %n;\n.shared .align 16 .b8 tile[2048];\nand.b32 %l, %q, 31;\nshr.u32 %n, %q, 5;\nmov.b32 %s, tile;\n'
            'mad.lo.u32 %s, %n, 512, %s;\nmad.lo.u32 %l, %l, 5, 3;\nand.b32 %l, %l, 31;\nmad.lo.u32 %l, %l, 16, %s;\nand.b32 %n, %q, 31;\nmad.lo.u32 %s, %n, 16, %s;\n')
    for count in 1, 2, 4:
        for trans in '', '.trans':
            text = f'ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16'
            body = rows + load_lines('a', 'b32', 4) + 'st.shared.v4.b32 [%s], {%a0, %a1, %a2, %a3};\nbar.warp.sync -1;\n'
            body += register_lines('d', 'b32', count) + f'{text} {vector("d", count)}, [%l];\n' + store_lines('d', 'b32', count)
            yield Form(text, body, [128 * count, 512, 0, 0, 0], ('b32', None, None))
            text = f'stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16'
            body = rows + load_lines('a', 'b32', 4) + 'st.shared.v4.b32 [%s], {%a0, %a0, %a0, %a0};\nbar.warp.sync -1;\n'
            body += f'{text} [%l], {vector("a", count)};\nbar.warp.sync -1;\n' + register_lines('d', 'b32', 4)
            body += 'ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%s];\n' + store_lines('d', 'b32', 4)
            yield Form(text, body, [512, 512, 0, 0, 0], ('b32', None, None))
    text = 'movmatrix.sync.aligned.m8n8.trans.b16'
    yield Form(text, load_lines('a', 'b32', 1) + register_lines('d', 'b32', 1) + f'{text} %d0, %a0;\n' + store_lines('d', 'b32', 1),
               [128, 128, 0, 0, 0], ('b32', None, None))


def forms():
    yield from move_forms()
    yield from mma_forms()
    yield from sparse_forms()
    yield from wmma_forms()


def kernel(name, form):
    """A warp a tile, four a CTA."""
    parameters = ', '.join(f'.param .u64 {p}' for p in 'dabce')
    return (f'.visible .entry {name}({parameters}) {{\n.reg .b32 %i, %t, %q;\n.reg .b64 %w, {", ".join("%p" + p for p in "dabce")};\n' +
            ''.join(f'ld.param.u64 %p{p}, [{p}];\n' for p in 'dabce') +
            'mov.u32 %q, %tid.x;\nmov.u32 %i, %ctaid.x;\nmad.lo.u32 %i, %i, 128, %q;\nshr.u32 %t, %i, 5;\n' + form.body + 'ret;\n}\n')


# ---- recording and comparing --------------------------------------------------------------------

class Bench:
    def __init__(self, whole):
        self.driver, self.pools, self.tiles = Driver(), Pools(), WHOLE if whole else QUICK
        self.buffers = [self.allocate(2048 * self.tiles) for _ in 'dabce']

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.driver.call('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def load(self, form):
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(8192)
        options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 8192)
        text = HEAD + kernel('k', form)
        status = self.driver.cuda.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, options, values)
        return module if status == 0 else None, log.value.decode(errors='replace')

    def takes(self, module):
        """Whether the kernel can be loaded: ours says so no earlier than at a launch, or where its attributes are asked for."""
        function, value = ctypes.c_void_p(), ctypes.c_int()
        self.driver.call('cuModuleGetFunction', ctypes.byref(function), module, b'k')
        return self.driver.cuda.cuFuncGetAttribute(ctypes.byref(value), 4, function) == 0  # the number of registers

    def results(self, form, module, name):
        """All bytes that the form gives for the tiles of a class."""
        driver, partner = self.driver, form.kinds[0] or ''
        for n, role in enumerate('abc'):
            if form.sizes[1 + n]:
                data = self.pools.take(form.kinds[n], role, partner, name, form.sizes[1 + n] * self.tiles)
                driver.call('cuMemcpyHtoD_v2', ctypes.c_uint64(self.buffers[1 + n]), data, ctypes.c_size_t(len(data)))
        if form.sizes[4]:
            data = self.pools.take('meta', 'e', '', 'tf32' if partner == 'tf32' else 'pairs', 128 * self.tiles)
            driver.call('cuMemcpyHtoD_v2', ctypes.c_uint64(self.buffers[4]), data, ctypes.c_size_t(128 * self.tiles))
        driver.run(module, 'k', self.tiles // 4, 128, *self.buffers)
        return driver.read(self.buffers[0], form.sizes[0] * self.tiles)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def lines(bench, raw=None):
    for form in forms():
        module, log = bench.load(form)
        if module is None or not bench.takes(module):
            print(form.name, log.strip().splitlines()[:2], file=sys.stderr)
            yield f'{form.name}: refused'
            continue
        classes = CLASSES if any(k in FLOATS for k in form.kinds) else ['bits', 'near', 'huge']
        for name in classes if len([k for k in form.kinds if k]) > 1 else ['bits']:
            data = bench.results(form, module, name)
            if raw:
                raw.write(data[:form.sizes[0] * (16 if form.name.startswith('wmma') else QUICK)])
            first = ' '.join(data[n:n + 4][::-1].hex() for n in range(0, 32, 4))
            yield f'{form.name} {name}: {digest(data[:form.sizes[0] * QUICK])} {digest(data)} {first}'
        bench.driver.call('cuModuleUnload', module)


def compare(recorded, whole):
    with open(recorded) as file:
        wanted = dict(line.rstrip().split(': ') for line in file if not line.startswith('#'))
    wrong = count = 0
    for line in lines(Bench(whole)):
        key, ours = line.split(': ')
        count += 1
        theirs = wanted.get(key, 'nothing').split(' ')
        ours = ours.split(' ')
        if len(theirs) < 3 or len(ours) < 3:
            same = theirs == ours
        else:
            same = ours[0] == theirs[0] and (not whole or ours[1] == theirs[1])
        if not same:
            wrong += 1
            print(f'{key}: {" ".join(ours)}, recorded {" ".join(theirs)}')
    print(f'{count} forms and classes, {wrong} differ')
    return wrong


def main():
    if sys.argv[1:] == ['forms']:
        print(*(f'{form.name} {form.sizes} {form.kinds}' for form in forms()), sep='\n')
    elif sys.argv[1] == 'ptx':
        print(HEAD + ''.join(kernel(f'k{n}', form).replace('tile', f'tile{n}') for n, form in enumerate(forms())))
    elif sys.argv[1] == 'record':
        raw = open(os.path.join(sys.argv[3], 'matrix.raw'), 'wb') if sys.argv[3:] else None
        with open(sys.argv[2], 'w') as out:
            out.write('# record_matrix.py on a GPU: form class: hash of the first tiles, hash of all, first words\n')
            for line in lines(Bench(True), raw):
                out.write(line + '\n')
                out.flush()
    else:
        raise SystemExit(compare(sys.argv[2], sys.argv[1] == 'whole') != 0)


if __name__ == '__main__':
    main()
