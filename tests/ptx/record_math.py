#!/usr/bin/env python3
"""Records what a real NVIDIA GPU answers where documents leave it open: bits of NaN results, flushing at the border of the normal
range, conversions of what does not fit, and the approximate functions. Needs a machine with the driver (libcuda) and nothing else;
the PTX is made here.

    record_math.py FOLDER            writes FOLDER/facts.txt, FOLDER/samples.bin and FOLDER/*.diff.gz
    record_math.py FOLDER FILE       writes FOLDER/facts.txt and compares it with FILE, an earlier one (tests: ours with a GPU's)
    record_math.py --ptx [bulk]      prints the PTX

A line of facts.txt: instruction(operand bits, ...) = result bits. samples.bin: for each function of SAMPLED, 2^18 results (u32) at
operand bits i * 2654435761 mod 2^32. *.diff.gz: second differences (i8) of the results of consecutive operand bits, as RUNS says; the
first two results stand in facts.txt."""
import ctypes
import gzip
import itertools
import os
import struct
import sys

REGISTERS = {'f32': ('.f32', 'b32'), 'f64': ('.f64', 'b64'), 'f16': ('.b16', 'b16'), 'bf16': ('.b16', 'b16'), 'f16x2': ('.b32', 'b32'),
             's8': ('.b32', 'b32'), 'u8': ('.b32', 'b32'), 's16': ('.b16', 'b16'), 'u16': ('.b16', 'b16'), 's32': ('.b32', 'b32'),
             'u32': ('.b32', 'b32'), 's64': ('.b64', 'b64'), 'u64': ('.b64', 'b64'), 'tf32': ('.b32', 'b32')}
SAMPLED = ['rcp.approx.ftz.f32', 'rcp.approx.f32', 'rsqrt.approx.ftz.f32', 'rsqrt.approx.f32', 'sqrt.approx.ftz.f32', 'sqrt.approx.f32',
           'ex2.approx.ftz.f32', 'ex2.approx.f32', 'lg2.approx.ftz.f32', 'lg2.approx.f32', 'sin.approx.ftz.f32', 'cos.approx.ftz.f32',
           'sin.approx.f32', 'tanh.approx.f32']
RUNS = [('rcp', 'rcp.approx.ftz.f32', 0x3f800000, 1 << 23), ('rsqrt', 'rsqrt.approx.ftz.f32', 0x3f800000, 1 << 24),
        ('ex2', 'ex2.approx.ftz.f32', 0x3f800000, 1 << 23), ('lg2', 'lg2.approx.ftz.f32', 0x3f800000, 1 << 23),
        ('sin', 'sin.approx.ftz.f32', 0x3f000000, 1 << 24), ('tanh', 'tanh.approx.f32', 0x3e800000, 1 << 24)]
ONE, INF, SIGN = 0x3f800000, 0x7f800000, 0x80000000
INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64']


def facts():
    """(instruction, result type, operand type, operands)"""
    nans = [0x7fc12345, 0xffc12345, 0x7f812345, 0xff812345]
    for x in nans:
        for op in 'add.f32', 'mul.f32', 'div.rn.f32', 'min.f32', 'max.f32', 'min.NaN.f32', 'sub.f32':
            yield op, 'f32', 'f32', (x, ONE)
            yield op, 'f32', 'f32', (ONE, x)
            yield op, 'f32', 'f32', (x, nans[1])
        for op in ('neg.f32', 'abs.f32', 'neg.ftz.f32', 'abs.ftz.f32', 'sqrt.rn.f32', 'rcp.rn.f32', 'cvt.rni.f32.f32', 'cvt.ftz.f32.f32',
                   'cvt.rzi.f32.f32', 'cvt.sat.f32.f32', *SAMPLED):
            yield op, 'f32', 'f32', (x,)
        for op in 'copysign.f32', 'max.NaN.xorsign.abs.f32', 'min.xorsign.abs.f32':
            yield op, 'f32', 'f32', (ONE, x)
            yield op, 'f32', 'f32', (x, ONE | SIGN)
            yield op, 'f32', 'f32', (x, nans[1])
        yield 'fma.rn.f32', 'f32', 'f32', (x, ONE, ONE)
        yield 'cvt.f64.f32', 'f64', 'f32', (x,)
        for to, mode in itertools.product(('f16', 'bf16'), ('rn', 'rz', 'rn.relu')):
            yield f'cvt.{mode}.{to}.f32', to, 'f32', (x,)
        yield 'cvt.rna.tf32.f32', 'tf32', 'f32', (x,)
    for x in 0, SIGN, INF, INF | SIGN, 1, SIGN | 1, 0x00800000, 0x7f7fffff, 0x7e800000, 0x7f000000, 0xc3160000, 0xc2fc0000, 0xc2fc0001, \
            0x42ffffff, ONE, ONE | SIGN, 0x47c35000, 0x4b000000, 0x4f000000, 0x5f000000, 0x7e7fffff, 0x7e800001:
        for op in SAMPLED:
            yield op, 'f32', 'f32', (x,)
        yield 'sqrt.rn.f32', 'f32', 'f32', (x,)
        for b in 0, 1, 0x00400000, 0x7e7fffff, 0x7e800000, 0x7e800001, 0x7f000000, INF, ONE:
            for op in 'div.approx.f32', 'div.approx.ftz.f32', 'div.full.f32', 'div.full.ftz.f32':
                yield op, 'f32', 'f32', (x, b)
    for x in nans + [INF, INF | SIGN, ONE | SIGN, 0x43990000, 0xc3990000, 0x47c35000, 0x5f800000]:
        for to in INTEGERS:
            yield f'cvt.rzi.{to}.f32', to, 'f32', (x,)
    for _, op, first, _ in RUNS:
        yield op, 'f32', 'f32', (first,)
        yield op, 'f32', 'f32', (first + 1,)
    yield 'sub.f32', 'f32', 'f32', (INF, INF)
    yield 'mul.f32', 'f32', 'f32', (0, INF)
    for op in 'add.sat.f32', 'add.ftz.sat.f32':
        yield op, 'f32', 'f32', (SIGN, SIGN)
        yield op, 'f32', 'f32', (nans[0], ONE)
    for mode, sign in itertools.product(('rn', 'rz', 'rm', 'rp'), (0, SIGN)):
        for op, a, b in (('mul', 0x00ffffff, 0x3f000000), ('mul', 0x3f7fffff, 0x00800001), ('mul', 0x3f7fffff, 0x00800000),
                         ('add', 0x00800001, SIGN | 0x00800000), ('div', 0x00ffffff, 0x40000000), ('div', 0x00800000, 0x3f800001),
                         ('div', 0x00800000, 0x40000000)):
            yield f'{op}.{mode}.ftz.f32', 'f32', 'f32', (a ^ sign, b if op != 'add' else b ^ sign)
        yield f'fma.{mode}.ftz.f32', 'f32', 'f32', (0x00ffffff ^ sign, 0x3f000000, 0)
        yield f'fma.{mode}.ftz.f32', 'f32', 'f32', (0x3f7fffff ^ sign, 0x00800001, 0x80000000)
        yield f'rcp.{mode}.ftz.f32', 'f32', 'f32', (0x7e800001 ^ sign,)
        yield f'cvt.{mode}.ftz.f32.f64', 'f32', 'f64', (0x380fffffffffffff ^ sign << 32,)
    for x in SIGN, ONE | SIGN, SIGN | 1:
        for to in 'f16', 'bf16':
            yield f'cvt.rn.relu.{to}.f32', to, 'f32', (x,)
    yield from wide_facts()
    yield from small_facts()


def wide_facts():
    one, inf = 0x3ff0000000000000, 0x7ff0000000000000
    nans = [0x7ff8000012345678, 0xfff8000012345678, 0x7ff0000012345678, 0xfff4000000000001]
    for x in nans:
        for op in 'add.f64', 'mul.f64', 'div.rn.f64', 'min.f64', 'max.f64':
            yield op, 'f64', 'f64', (x, one)
            yield op, 'f64', 'f64', (one, x)
            yield op, 'f64', 'f64', (x, nans[1])
        yield 'fma.rn.f64', 'f64', 'f64', (x, nans[0], nans[1])
        yield 'fma.rn.f64', 'f64', 'f64', (one, one, x)
        for op in 'neg.f64', 'abs.f64', 'sqrt.rn.f64', 'rcp.rn.f64', 'cvt.rni.f64.f64':
            yield op, 'f64', 'f64', (x,)
        yield 'cvt.rn.f32.f64', 'f32', 'f64', (x,)
    for x in nans + [inf, inf | 1 << 63, 0xc3f0000000000000]:
        for to in INTEGERS:
            yield f'cvt.rzi.{to}.f64', to, 'f64', (x,)
    for op, a, b in (('sub.f64', inf, inf), ('mul.f64', 0, inf), ('div.rn.f64', 0, 0), ('div.rn.f64', inf, inf | 1 << 63)):
        yield op, 'f64', 'f64', (a, b)
    for x in nans + [0x3ff5555555555555, 0x4008000000000000, 0x0010000000000000, 0x000fffffffffffff, 0x7fefffffffffffff,
                     0x7fd0000000000000, 0x3ff0000012345678, 0x3ff00000fffffff0, 0, 1 << 63, inf, inf | 1 << 63, one | 1 << 63,
                     0x4000000000000000, 0x3ffaaaaa00000000, 0x3ff9999a00000000]:
        for op in 'rcp.approx.ftz.f64', 'rsqrt.approx.ftz.f64', 'rsqrt.approx.f64':
            yield op, 'f64', 'f64', (x,)


def small_facts():
    for t, one, inf, nans in (('f16', 0x3c00, 0x7c00, [0x7e01, 0xfe01, 0x7c01, 0xfd55]), ('bf16', 0x3f80, 0x7f80, [0x7fc1, 0xffc1, 0x7f81])):
        for x in nans:
            for op in f'add.{t}', f'mul.{t}', f'min.{t}', f'max.{t}', f'max.NaN.{t}', f'min.NaN.xorsign.abs.{t}', f'max.xorsign.abs.{t}':
                yield op, t, t, (x, one)
                yield op, t, t, (x, nans[1])
            for op in f'neg.{t}', f'abs.{t}', f'tanh.approx.{t}', 'ex2.approx.f16' if t == 'f16' else 'ex2.approx.ftz.bf16':
                yield op, t, t, (x,)
            for op in f'fma.rn.{t}', f'fma.rn.relu.{t}':
                yield op, t, t, (x, one, one)
            yield f'cvt.f32.{t}', 'f32', t, (x,)
        yield f'fma.rn.relu.{t}', t, t, (0x8000, one, 0x8000)
        yield f'max.xorsign.abs.{t}', t, t, (0x8000, one)
        for a, b in (1, 1), (inf & 0x8080, 0x8001), (one, 0x8000 | one):
            yield f'add.{t}', t, t, (a, b)
        for a in 1, 3, 5, 0x40:
            yield f'mul.{t}', t, t, (a, one - (0x400 if t == 'f16' else 0x80))
        for x in nans + [inf, inf | 0x8000, 0xc900 if t == 'f16' else 0xc2c8]:
            for to in INTEGERS if t == 'f16' else INTEGERS[2:]:
                yield f'cvt.rzi.{to}.{t}', to, t, (x,)
    for a, b in (1, 1), (0x7ff, 0x3800), (0x400, 0x3800):
        yield 'add.ftz.f16', 'f16', 'f16', (a, b)
        yield 'mul.ftz.f16', 'f16', 'f16', (a, b)
    yield 'fma.rn.sat.f16', 'f16', 'f16', (0x7e01, 0x3c00, 0x3c00)
    yield 'cvt.f64.f16', 'f64', 'f16', (0x7e01,)
    for x in range(0, 0x10000, 97):
        yield 'ex2.approx.f16', 'f16', 'f16', (x,)
        yield 'tanh.approx.f16', 'f16', 'f16', (x,)
        yield 'tanh.approx.bf16', 'bf16', 'bf16', (x,)
        yield 'ex2.approx.ftz.bf16', 'bf16', 'bf16', (x,)


# What differs from FILE today. An entry that no longer differs must leave this list.
TODO = {
        # a result that rounds up to the smallest normal number only on the grid of subnormals is flushed by a GPU
        'mul.rn.ftz.f32', 'div.rn.ftz.f32', 'fma.rn.ftz.f32', 'mul.rm.ftz.f32', 'div.rm.ftz.f32', 'fma.rm.ftz.f32', 'rcp.rm.ftz.f32',
        'mul.rp.ftz.f32', 'div.rp.ftz.f32', 'fma.rp.ftz.f32', 'rcp.rp.ftz.f32',
        # which of several NaN operands goes on
        'add.f64', 'mul.f64', 'fma.rn.f64'}

HEAD = '.version 7.8\n.target sm_90\n.address_size 64\n'


def facts_ptx(entries):
    """Functions of one fact each would be many; blocks in kernels of 100 are as good."""
    text = HEAD
    for k in range(0, len(entries), 100):
        text += f'.visible .entry facts{k // 100}(.param .u64 o, .param .u64 i) {{\n.reg .b64 %o, %i;\nld.param.u64 %o, [o];\nld.param.u64 %i, [i];\n'
        for n, (op, to, of, operands) in enumerate(entries[k:k + 100]):
            names = [f'%x{j}' for j in range(len(operands))]
            out_register, out_move = REGISTERS[to]
            text += f'{{\n.reg {out_register} %d;\n.reg .b64 %l;\n.reg {REGISTERS[of][0]} {", ".join(names)};\n'
            if REGISTERS[of][0] == '.b16':
                text += ''.join(f'ld.global.b16 {x}, [%i+{(k + n) * 32 + j * 8}];\n' for j, x in enumerate(names))
            else:
                text += ''.join(f'ld.global{REGISTERS[of][0].replace(".b", ".u")} {x}, [%i+{(k + n) * 32 + j * 8}];\n'
                                for j, x in enumerate(names))
            text += f'{op} %d, {", ".join(names)};\n'
            text += f'st.global.{out_move} [%o+{(k + n) * 8}], %d;\n}}\n'
        text += 'ret;\n}\n'
    return text


def bulk_ptx():
    """sample_N: results of SAMPLED[N]; run_N: second differences of RUNS[N]."""
    index = ('.reg .b32 %i, %a, %b, %c;\n.reg .b64 %o, %w;\n.reg .f32 %f;\n.reg .pred %p;\nld.param.u64 %o, [o];\nmov.u32 %a, %ctaid.x;\nmov.u32 %b, %tid.x;\n'
             'mad.lo.u32 %i, %a, 256, %b;\n')
    text = HEAD
    for n, op in enumerate(SAMPLED):
        text += (f'.visible .entry sample{n}(.param .u64 o) {{\n{index}mul.lo.u32 %a, %i, 2654435761;\nmov.b32 %f, %a;\n{op} %f, %f;\n'
                 'mul.wide.u32 %w, %i, 4;\nadd.u64 %o, %o, %w;\nst.global.f32 [%o], %f;\nret;\n}\n')
    for n, (_, op, first, _) in enumerate(RUNS):
        text += f'.visible .entry run{n}(.param .u64 o) {{\n{index}add.u32 %a, %i, {first};\n'
        for r in 'abc':
            text += (f'mov.b32 %f, %{r};\n' + (f'add.u32 %{"bc"["ab".index(r)]}, %{r}, 1;\n' if r != 'c' else '') +
                     f'{op} %f, %f;\nmov.b32 %{r}, %f;\n')
        text += ('sub.s32 %a, %a, %b;\nsub.s32 %c, %c, %b;\nadd.s32 %a, %a, %c;\ncvt.u64.u32 %w, %i;\nadd.u64 %o, %o, %w;\n'
                 'st.global.u8 [%o], %a;\nret;\n}\n')
    return text


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL('libcuda.so.1')
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call('cuInit', 0)
        self.call('cuDeviceGet', ctypes.byref(device), 0)
        self.call('cuCtxCreate_v2', ctypes.byref(context), 0, device)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise SystemExit(f'{name}: error {status}')

    def load(self, ptx):
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 8192)
        module = ctypes.c_void_p()
        status = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode(), 2, options, values)
        if status:
            raise SystemExit(f'the PTX is refused ({status}): {log.value.decode()}')
        return module

    def run(self, module, name, blocks, threads, *pointers):
        function = ctypes.c_void_p()
        self.call('cuModuleGetFunction', ctypes.byref(function), module, name.encode())
        values = [ctypes.c_uint64(p) for p in pointers]
        array = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        self.call('cuLaunchKernel', function, blocks, 1, 1, threads, 1, 1, 0, None, array, None)
        self.call('cuCtxSynchronize')

    def memory(self, data):
        address = ctypes.c_uint64()
        self.call('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(len(data)))
        self.call('cuMemcpyHtoD_v2', address, data, ctypes.c_size_t(len(data)))
        return address.value

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call('cuMemcpyDtoH_v2', data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw


def compare(ours, recorded):
    """The number of surprises, each printed."""
    with open(recorded) as file:
        wanted = dict(line.rstrip().split(' = ') for line in file)
    differ = {}
    for fact, result in ours.items():
        if wanted.get(fact) != result:
            differ.setdefault(fact.split('(')[0], []).append(f'{fact} = {result}, recorded {wanted.get(fact)}')
    surprises = [line for op, lines in differ.items() if op not in TODO for line in lines]
    surprises += [f'{op} has no difference any more: take it from TODO' for op in sorted(TODO - differ.keys())]
    print(f'{len(ours)} facts, {sum(map(len, differ.values()))} differ, of them {len(surprises)} not known', *surprises[:50], sep='\n')
    return len(surprises)


def main():
    folder = sys.argv[1]
    entries = list(facts())
    if folder == '--ptx':
        print(facts_ptx(entries) if sys.argv[2:] != ['bulk'] else bulk_ptx())
        return
    driver = Driver()
    operands = b''.join(struct.pack('<4Q', *(list(e[3]) + [0] * 4)[:4]) for e in entries)
    inputs, outputs = driver.memory(operands), driver.memory(bytes(8 * len(entries)))
    module = driver.load(facts_ptx(entries))
    for k in range(0, len(entries), 100):
        driver.run(module, f'facts{k // 100}', 1, 1, outputs, inputs)
    results = struct.unpack(f'<{len(entries)}Q', driver.read(outputs, 8 * len(entries)))
    ours = {f'{op}({", ".join(f"{v:x}" for v in values)})': f'{result:x}' for (op, _, _, values), result in zip(entries, results)}
    with open(os.path.join(folder, 'facts.txt'), 'w') as out:
        out.writelines(f'{fact} = {result}\n' for fact, result in ours.items())
    if sys.argv[2:]:
        raise SystemExit(compare(ours, sys.argv[2]) != 0)
    module = driver.load(bulk_ptx())
    big = driver.memory(bytes(1 << 24))
    with open(os.path.join(folder, 'samples.bin'), 'wb') as out:
        for n in range(len(SAMPLED)):
            driver.run(module, f'sample{n}', 1024, 256, big)
            out.write(driver.read(big, 4 << 18))
    for n, (name, op, first, count) in enumerate(RUNS):
        driver.run(module, f'run{n}', count // 256, 256, big)
        with gzip.open(os.path.join(folder, name + '.diff.gz'), 'wb', 6) as out:
            out.write(driver.read(big, count))


if __name__ == '__main__':
    main()
