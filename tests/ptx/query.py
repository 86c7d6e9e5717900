#!/usr/bin/env python3
"""What txq, suq and sured.b give for a few textures and surfaces. Needs a machine with the CUDA driver and nothing else.

    query.py record FILE     writes the answers (query-h200.txt is an H200's)
    query.py compare FILE    compares a device with them"""
import ctypes
import struct
import sys

from record_math import Driver

HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n'
# name: width, height, depth or layers, flags (1 layered, 2 surface)
ARRAYS = {'1d': (48, 0, 0, 2), '2d': (48, 20, 0, 2), '3d': (12, 6, 5, 2), 'a2d': (16, 8, 7, 3)}
TEXTURE = ['width', 'height', 'depth', 'array_size', 'num_mipmap_levels', 'normalized_coords', 'level.width', 'level.height']
SURFACE = ['width', 'height', 'depth', 'array_size']
REDUCTIONS = [(op, t) for op in ('add', 'min', 'max', 'and', 'or') for t in ('u32', 's32', 'u64', 's64', 'b32')
              if (t == 'b32') == (op in ('and', 'or')) and (op, t) != ('add', 's64')]


def query_kernel(op, words):
    body = ''.join('%s.%s.b32 %%r, [%%h]%s;\nst.global.u32 [%%o+%d], %%r;\n' % (op, w, ', 0' if 'level.' in w else '', 4 * n)
                   for n, w in enumerate(words))
    return HEAD + '.visible .entry k(.param .u64 o, .param .u64 h) {\n.reg .b64 %o, %h;\n.reg .b32 %r;\nld.param.u64 %o, [o];\nld.param.u64 %h, [h];\n' + body + 'ret;\n}\n'


def reduce_kernel(op, t):
    """32 threads add to four places of a row, some outside."""
    wide = '64' in t
    return HEAD + ('.visible .entry k(.param .u64 o, .param .u64 h) {\n.reg .b64 %%h, %%v;\n.reg .b32 %%t, %%x, %%w;\nld.param.u64 %%h, [h];\n'
                   'mov.u32 %%t, %%tid.x;\nand.b32 %%x, %%t, 3;\nmul.lo.u32 %%x, %%x, 8;\nmul.lo.u32 %%w, %%t, 0x9e3779b9;\ncvt.s64.s32 %%v, %%w;\n'
                   'shl.b64 %%v, %%v, 7;\nsured.b.%s.2d.%s.zero [%%h, {%%x, 3}], %s;\nadd.u32 %%x, %%x, 4096;\nsured.b.%s.2d.%s.zero [%%h, {%%x, 3}], %s;\n'
                   'ret;\n}\n') % (op, t, '%v' if wide else '%w', op, t, '%v' if wide else '%w')


def read_kernel():
    return HEAD + ('.visible .entry k(.param .u64 o, .param .u64 h) {\n.reg .b64 %o, %h, %v;\n.reg .b32 %t, %x;\nld.param.u64 %o, [o];\n'
                   'ld.param.u64 %h, [h];\nmov.u32 %t, %tid.x;\nmul.lo.u32 %x, %t, 8;\nsuld.b.2d.b64.zero %v, [%h, {%x, 3}];\n'
                   'mul.wide.u32 %h, %t, 8;\nadd.u64 %o, %o, %h;\nst.global.u64 [%o], %v;\nret;\n}\n')


def make_array(driver, width, height, depth, flags):
    array = ctypes.c_void_p()
    driver.call('cuArray3DCreate_v2', ctypes.byref(array), struct.pack('<QQQiII4x', width, height, depth, 1 + 2, 1, flags))  # u32 texels
    return array


def objects(driver, array, normalized):
    resource = struct.pack('<i4xQ', 0, array.value) + bytes(144 - 16)
    texture, surface = ctypes.c_uint64(), ctypes.c_uint64()
    driver.call('cuTexObjectCreate', ctypes.byref(texture), resource, struct.pack('<iiiiI', 1, 1, 1, 0, 2 * normalized + 1) + bytes(104 - 20), None)
    driver.call('cuSurfObjectCreate', ctypes.byref(surface), resource)
    return texture.value, surface.value


def answers(driver):
    out, lines = driver.memory(bytes(1024)), []
    run = lambda text, threads, handle: driver.run(driver.load(text), 'k', 1, threads, out, handle)
    for name, shape in ARRAYS.items():
        for normalized in 0, 1:
            texture, surface = objects(driver, make_array(driver, *shape), normalized)
            for op, words, handle in (('txq', TEXTURE, texture), ('suq', SURFACE, surface)):
                run(query_kernel(op, words), 1, handle)
                values = struct.unpack('<%dI' % len(words), driver.read(out, 4 * len(words)))
                lines += ['%s.%s of %s%s = %d' % (op, w, name, ' normalized' * normalized, v) for w, v in zip(words, values)]
    for op, t in REDUCTIONS:
        _, surface = objects(driver, make_array(driver, 64, 8, 0, 2), 0)
        for _ in range(2):
            run(reduce_kernel(op, t), 32, surface)
        run(read_kernel(), 4, surface)
        lines.append('sured.b.%s.%s = %s' % (op, t, driver.read(out, 32).hex()))
    return lines


def main(argv):
    lines = answers(Driver())
    if argv[1] == 'record':
        with open(argv[2], 'w') as out:
            out.writelines(line + '\n' for line in lines)
        return 0
    with open(argv[2]) as file:
        wanted = file.read().splitlines()
    differ = [(a, b) for a, b in zip(lines, wanted) if a != b]
    for pair in differ:
        print('%s\n   expected %s' % pair)
    print('%d answers, %d differ' % (len(wanted), len(differ)))
    return 1 if differ or len(lines) != len(wanted) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
