#!/usr/bin/env python3
"""Records, as hashes, what a real NVIDIA GPU answers for every input of the approximate functions; compares a device with that.
Needs a machine with the driver (libcuda) and nothing else; record_math.py, beside this file, has what talks to it.

    record_approx.py record FILE         all inputs of all forms, to FILE (approx-h200.txt is one of an H200)
    record_approx.py quick FILE          1/64 of the inputs of each form, spread evenly, against FILE
    record_approx.py whole FILE [FORM…]  all inputs (of these forms) against FILE, with the share of blocks that agree
    record_approx.py speed               nanoseconds of the device for a result of each form, the best of several runs
    record_approx.py --ptx               prints the PTX

The hash of a set of inputs is the sum of mix(x, f(x)) over them, mod 2^32; mix is a bijection of f(x) for each x. For the f64 forms x is
the operand's upper half, the lower half is made of it; for div x is the dividend, the divisor is made of it. FILE has for each form two
lines of hexadecimal hashes, eight digits each: "form spread": set k is the inputs i * 2654435761 mod 2^32 for i in [k * 2^20, (k + 1) *
2^20), k < 64; "form blocks": set k is the inputs [k * 2^20, (k + 1) * 2^20), all 4096. Forms of 16 bits have only "blocks", of 256."""
import struct
import sys
import time

from record_math import Driver, HEAD

FORMS = [f'{f}.approx.{ftz}f32' for f in ('rcp', 'rsqrt', 'sqrt', 'ex2', 'lg2', 'sin', 'cos') for ftz in ('ftz.', '')] + [
    'tanh.approx.f32', 'rcp.approx.ftz.f64', 'rsqrt.approx.ftz.f64', 'div.approx.ftz.f32', 'div.approx.f32', 'div.full.ftz.f32',
    'div.full.f32', 'ex2.approx.f16', 'tanh.approx.f16', 'ex2.approx.ftz.bf16', 'tanh.approx.bf16', 'ex2.approx.f16x2', 'tanh.approx.f16x2',
    'ex2.approx.ftz.bf16x2', 'tanh.approx.bf16x2', 'rsqrt.approx.f64']
SPREAD, SPREAD_SETS = 2654435761, 64


def is_small(form):
    return form.endswith('f16')


def evaluate(form):
    """PTX: %y (b32) from %x (b32)."""
    if form.startswith('div'):
        return f'mul.lo.u32 %t, %x, 747796405;\nxor.b32 %t, %t, 668265261;\nmov.b32 %f, %x;\nmov.b32 %g, %t;\n{form} %f, %f, %g;\nmov.b32 %y, %f;\n'
    if form.endswith('f64'):
        return (f'mul.lo.u32 %t, %x, 747796405;\nmov.b64 %d, {{%t, %x}};\n{form} %d, %d;\nmov.b64 {{%t, %y}}, %d;\n'
                'xor.b32 %y, %y, %t;\n')
    if form.endswith('x2'):
        return f'{form} %y, %x;\n'
    if is_small(form):
        return f'cvt.u16.u32 %h, %x;\n{form} %h, %h;\ncvt.u32.u16 %y, %h;\n'
    return f'mov.b32 %f, %x;\n{form} %f, %f;\nmov.b32 %y, %f;\n'


def ptx(forms):
    """hashN: CTA c takes `each` * 256 inputs from index (first + c) * each * 256 on and adds to o[c >> shift]."""
    text = HEAD
    for n, form in enumerate(forms):
        text += f'''.visible .entry hash{n}(.param .u64 o, .param .u64 first, .param .u64 each, .param .u64 multiplier, .param .u64 shift) {{
.reg .b32 %i, %x, %y, %t, %h0, %sum, %n, %m, %s;
.reg .b64 %o, %w, %d;
.reg .b16 %h;
.reg .f32 %f, %g;
.reg .pred %p;
ld.param.u64 %o, [o];
ld.param.u32 %n, [each];
ld.param.u32 %m, [multiplier];
ld.param.u32 %s, [shift];
ld.param.u32 %i, [first];
mov.u32 %t, %ctaid.x;
add.u32 %i, %i, %t;
shr.u32 %t, %t, %s;
mul.wide.u32 %w, %t, 4;
add.u64 %o, %o, %w;
mul.lo.u32 %i, %i, %n;
shl.b32 %i, %i, 8;
mov.u32 %t, %tid.x;
add.u32 %i, %i, %t;
mov.u32 %sum, 0;
again:
mul.lo.u32 %x, %i, %m;
{evaluate(form)}mad.lo.u32 %h0, %x, 2654435769, %y;
shr.u32 %t, %h0, 16;
xor.b32 %h0, %h0, %t;
mul.lo.u32 %h0, %h0, 2146121005;
shr.u32 %t, %h0, 15;
xor.b32 %h0, %h0, %t;
mul.lo.u32 %h0, %h0, 2221713035;
shr.u32 %t, %h0, 16;
xor.b32 %h0, %h0, %t;
add.u32 %sum, %sum, %h0;
add.u32 %i, %i, 256;
sub.u32 %n, %n, 1;
setp.ne.u32 %p, %n, 0;
@%p bra again;
red.global.add.u32 [%o], %sum;
ret;
}}
'''
    return text


def speed_ptx(forms):
    """timeN: four results a round, summed; their operands begin below 4 and grow a little."""
    text = HEAD
    for n, form in enumerate(forms):
        text += f'''.visible .entry time{n}(.param .u64 o, .param .u64 rounds) {{
.reg .b32 %n, %t;
.reg .b64 %o, %w;
.reg .f32 %y, %sum, %f<4>;
.reg .pred %p;
ld.param.u64 %o, [o];
ld.param.u32 %n, [rounds];
mov.u32 %t, %tid.x;
cvt.rn.f32.u32 %f0, %t;
fma.rn.f32 %f0, %f0, 0f3C23D70A, 0f3C23D70A;
add.f32 %f1, %f0, 0f3F000000;
add.f32 %f2, %f0, 0f3E800000;
add.f32 %f3, %f0, 0f3F200000;
mov.f32 %sum, 0f00000000;
again:
'''
        for k in range(4):
            text += f'{form} %y, {f"%f{(k + 1) % 4}, " if form.startswith("div") else ""}%f{k};\nadd.f32 %sum, %sum, %y;\nadd.f32 %f{k}, %f{k}, 0f3A83126F;\n'
        text += ('''sub.u32 %n, %n, 1;
setp.ne.u32 %p, %n, 0;
@%p bra again;
mul.wide.u32 %w, %t, 4;
add.u64 %o, %o, %w;
st.global.f32 [%o], %sum;
ret;
}
''')
    return text


def speed():
    forms = [form for form in FORMS if form.endswith('f32')]
    driver, blocks, threads, rounds = Driver(), 64, 256, 1000
    module, out = driver.load(speed_ptx(forms)), driver.memory(bytes(4 * threads))
    for n, form in enumerate(forms):
        times = []
        for _ in range(8):
            start = time.perf_counter()
            driver.run(module, f'time{n}', blocks, threads, out, rounds)
            times.append(time.perf_counter() - start)
        print(f'{form:24} {min(times) / (blocks * threads * rounds * 4) * 1e9:.3f}')


class Hasher:
    def __init__(self, forms):
        self.driver, self.forms = Driver(), forms
        self.module = self.driver.load(ptx(forms))

    def sets(self, form, first, count, multiplier):
        """Hashes of `count` sets from the given one on; a set is 2^20 inputs, of 16-bit forms 256."""
        shift, each = (0, 1) if is_small(form) else (4, 256)
        out = self.driver.memory(bytes(4 * count))
        self.driver.run(self.module, f'hash{self.forms.index(form)}', count << shift, 256, out, first << shift, each, multiplier, shift)
        return list(struct.unpack(f'<{count}I', self.driver.read(out, 4 * count)))

    def lines(self, form):
        if is_small(form):
            yield 'blocks', 256, 1
        else:
            yield 'spread', SPREAD_SETS, SPREAD
            yield 'blocks', 4096, 1


def record(path):
    hasher = Hasher(FORMS)
    with open(path, 'w') as out:
        for form in FORMS:
            for kind, count, multiplier in hasher.lines(form):
                print(form, kind, ''.join(f'{h:08x}' for h in hasher.sets(form, 0, count, multiplier)), file=out)


def compare(path, forms, quick):
    """The number of sets that differ."""
    with open(path) as file:
        wanted = {tuple(line.split()[:2]): line.split()[2] for line in file}
    hasher, differences = Hasher(forms), 0
    for form in forms:
        agree = total = 0
        for kind, count, multiplier in hasher.lines(form):
            if kind == 'blocks' and quick and not is_small(form):
                continue
            got = hasher.sets(form, 0, count, multiplier)
            want = [int(wanted[form, kind][k * 8:k * 8 + 8], 16) for k in range(count)]
            differ = [k for k in range(count) if got[k] != want[k]]
            agree, total = agree + count - len(differ), total + count
            if differ:
                print(f'{form} {kind}: sets that differ: {" ".join(f"{k:x}" for k in differ[:16])}{" …" if len(differ) > 16 else ""}')
        print(f'{form}: {agree} of {total} sets agree', flush=True)
        differences += total - agree
    return differences


def main():
    if sys.argv[1] == '--ptx':
        print(ptx(FORMS))
    elif sys.argv[1] == 'speed':
        speed()
    elif sys.argv[1] == 'record':
        record(sys.argv[2])
    else:
        raise SystemExit(compare(sys.argv[2], sys.argv[3:] or FORMS, sys.argv[1] == 'quick') != 0)


if __name__ == '__main__':
    main()
