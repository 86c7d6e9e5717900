"""Reads the metadata of an AMDGPU code object: an ELF note (type 32) that holds a MessagePack map. Source: LLVM's AMDGPU usage
guide, "Code Object V3 and Above Metadata"."""
import struct


def unpack(data, at):
    """One MessagePack value and the place behind it."""
    kind = data[at]
    at += 1

    def many(count, at, pairs):
        values = []
        for _ in range(count * (2 if pairs else 1)):
            value, at = unpack(data, at)
            values.append(value)
        return (dict(zip(values[::2], values[1::2])) if pairs else values), at

    def number(form):
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)

    numbers = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    lengths = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
    if kind < 0x80:
        return kind, at
    if kind < 0x90:
        return many(kind & 15, at, True)
    if kind < 0xA0:
        return many(kind & 15, at, False)
    if kind < 0xC0:
        return data[at:at + (kind & 31)].decode(), at + (kind & 31)
    if kind >= 0xE0:
        return kind - 256, at
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if kind in numbers:
        return number(numbers[kind])
    count, at = number(lengths[kind])
    if kind <= 0xDB:
        return data[at:at + count].decode(), at + count
    return many(count, at, kind >= 0xDE)


def sections(elf):
    """(type, offset, size) of each."""
    at, = struct.unpack_from("<Q", elf, 40)
    count, = struct.unpack_from("<H", elf, 60)
    for n in range(count):
        yield struct.unpack_from("<I", elf, at + 64 * n + 4)[0], *struct.unpack_from("<QQ", elf, at + 64 * n + 24)


def read(elf):
    """The metadata as a map. Raises where the file is no code object."""
    if elf[:4] != b"\x7fELF" or struct.unpack_from("<HH", elf, 16) != (3, 224):
        raise ValueError("not a linked object for AMDGPU")
    for kind, offset, size in sections(elf):
        at, end = offset, offset + size
        while kind == 7 and at + 12 <= end:
            name, length, note = struct.unpack_from("<III", elf, at)
            at += 12 + (name + 3 & ~3)
            if note == 32:
                return unpack(elf[at:at + length], 0)[0]
            at += length + 3 & ~3
    raise ValueError("no metadata in it")


def symbols(elf):
    """Names in the dynamic symbol table that are defined."""
    at, = struct.unpack_from("<Q", elf, 40)
    found = []
    for n, (kind, offset, size) in enumerate(sections(elf)):
        if kind != 11:
            continue
        link, = struct.unpack_from("<I", elf, at + 64 * n + 40)
        names, = struct.unpack_from("<Q", elf, at + 64 * link + 24)
        for s in range(offset, offset + size, 24):
            name, _, _, section = struct.unpack_from("<IBBH", elf, s)
            if section:
                found.append(elf[names + name:elf.index(b"\0", names + name)].decode())
    return found
