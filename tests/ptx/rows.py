#!/usr/bin/env python3
"""Examples of each row of isa.def, made from the row by chance with a fixed seed: our parser and checker accept each where the
version and target are what the row needs, and not with less.

    rows.py SRC/PTX CHECK_LINES FRAME
"""
import os
import random
import re
import sys

sys.dont_write_bytecode = True
import cases  # noqa: E402

EXAMPLES = 12
VERSIONS = [10, 12, 14, 20, 23, 30, 31, 32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81,
            82, 83, 84, 85, 86, 87, 88, 90]


def target_of(sms):
    """A target that has all of what is asked for."""
    exact = [s for s in sms if re.search('[af ]', s)]
    if exact:
        return 'sm_' + exact[0].split()[0].replace('f', 'a')
    return 'sm_%d' % max(int(s) for s in sms)


CANDIDATES = 4  # MAX_CANDIDATES of check.c: so many rows it keeps for one choice of words


def fits(row, mods, types):
    """Whether the words fit the row, as check.c has it: each modifier takes the first free place that has it."""
    places = [p for p in row.places if p.is_type]
    if len(places) != len(types) or any(t not in [w.name for w in p.words] for p, t in zip(places, types)):
        return False
    filled = {n for n, p in enumerate(row.places) if p.is_type}
    for mod in mods:
        free = [n for n, p in enumerate(row.places) if n not in filled and mod in [w.name for w in p.words]]
        if not free:
            return False
        filled.add(free[0])
    return all(n in filled or p.optional for n, p in enumerate(row.places))


def too_many_rows(isa, text):
    op, *words = text.split(' ')[0].rstrip(';').split('.')
    types = [w for w in words if w in isa.types]
    mods = [w for w in words if w not in isa.types]
    return sum(fits(row, mods, types) for row in isa.rows if row.op == op) > CANDIDATES


def main(argv):
    source, tool, frame = argv[1:]
    sys.path.insert(0, source)
    import gen_isa
    isa = gen_isa.Isa(*(os.path.join(source, name) for name in ('isa.def', 'mods.def', 'ptx.h')))
    chance = random.Random(1)
    right, early = [], []
    for row in isa.rows:
        for _ in range(EXAMPLES):
            text, version, sms = isa.example(row, chance)
            # what the frame itself needs: address_size of 2.3, and a target that is there
            version, target = max(version, 23), target_of(sms)
            if int(re.findall(r'\d+', target)[0]) < 20:
                target = 'sm_20'
            if row.op in ('shfl', 'vote') and '.sync' not in text:
                target = 'sm_30'
            right.append(('%d.%d' % divmod(version, 10), target, text))
            before = [v for v in VERSIONS if 23 <= v < version]
            if before:
                early.append(('%d.%d' % divmod(before[-1], 10), target, text))
    bad = 0
    for version, target, text in right:
        if too_many_rows(isa, text):
            print('more rows than the checker keeps:', text)
            bad += 1
    for case, answer in zip(right, cases.ours(tool, frame, right)):
        if answer != 'ok':
            print('rejected:', ' '.join(case), '\n  ', answer)
            bad += 1
    for case, answer in zip(early, cases.ours(tool, frame, early)):
        # another row may have the form earlier; what is refused must be refused for its version
        if answer != 'ok' and 'PTX' not in answer and 'open' not in answer:
            print('refused for another reason:', ' '.join(case), '\n  ', answer)
            bad += 1
    print('%d rows, %d examples, %d not as expected' % (len(isa.rows), len(right), bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
