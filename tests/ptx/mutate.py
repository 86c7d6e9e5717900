#!/usr/bin/env python3
"""Compares our checker with ptxas on instructions changed by chance: words and operands swapped, added, left out. Not a test: ptxas
takes some nonsense (a word twice, words of other instructions) that we refuse. To be run after a change of isa.def:

    mutate.py SRC/PTX CHECK_LINES PTXAS FRAME [COUNT [SEED [VERSION TARGET]]]

Prints what ptxas accepts and we don't, then how many we accept and it doesn't.
"""
import os
import random
import re
import sys

sys.dont_write_bytecode = True
import cases  # noqa: E402

OPERANDS = ['%b1', '%h1', '%r1', '%d1', '%f1', '%g1', '%p1', '!%p1', '1', '1.0', '_', '[%d1]', '[gl]', '[sm]', '%uh1', '%ur1', '%sr1',
            '{%r1,%r2}', '{%f1,%f2}', '-1', '0f3f800000', 'gl', 'sm+4', '%tid.x', '%r1|%p1', '%p1|%p2', '-%r1']
TYPES = ['b8', 'b16', 'b32', 'b64', 'b128', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'f16', 'f16x2', 'bf16', 'bf16x2',
         'f32', 'f64', 'tf32', 'pred', 'u16x2', 's16x2', 'f32x2', 'e4m3x2']


def mutate(isa, words_of, text, chance):
    head, _, rest = text.rstrip(';').partition(' ')
    words = head.split('.')
    operands = [o.strip() for o in re.findall(r'\{[^}]*\}(?:\|%p\d+)?|\[[^]]*\]|[^,{\[]+', rest) if o.strip()]
    what = chance.random()
    types = [n for n, word in enumerate(words) if n and word in isa.types]
    if what < 0.25 and types:
        words[chance.choice(types)] = chance.choice(TYPES)
    elif what < 0.45 and words_of[words[0]]:
        words.insert(chance.randrange(1, len(words) + 1), chance.choice(words_of[words[0]]))
    elif what < 0.6 and len(words) > 1:
        del words[chance.randrange(1, len(words))]
    elif what < 0.95 and operands:
        operands[chance.randrange(len(operands))] = chance.choice(OPERANDS)
    elif operands:
        del operands[chance.randrange(len(operands))]
    return '.'.join(words) + ' ' + ', '.join(operands) + ';'


def accepts(ptxas, frame, version, target, bodies):
    """As cases.assemble; what makes ptxas crash counts as refused."""
    verdicts = cases.assemble(ptxas, frame, version, target, bodies)
    if verdicts is not None:
        return verdicts
    if len(bodies) == 1:
        return [False]
    half = len(bodies) // 2
    return accepts(ptxas, frame, version, target, bodies[:half]) + accepts(ptxas, frame, version, target, bodies[half:])


def main(argv):
    source, tool, ptxas, frame = argv[1:5]
    count, seed, version, target = (argv[5:] + ['3000', '1', '9.0', 'sm_100a'][len(argv) - 5:])
    sys.path.insert(0, source)
    import gen_isa
    isa = gen_isa.Isa(*(os.path.join(source, name) for name in ('isa.def', 'mods.def', 'ptx.h')))
    words_of = {r.op: [w.name for o in isa.rows if o.op == r.op for p in o.places if not p.is_type for w in p.words] for r in isa.rows}
    chance = random.Random(int(seed))
    bodies = list(dict.fromkeys(mutate(isa, words_of, isa.example(chance.choice(isa.rows), chance)[0], chance)
                                for _ in range(int(count))))
    mine = cases.ours(tool, frame, [(version, target, body) for body in bodies])
    with open(frame) as file:
        text = file.read()
    theirs = []
    for n in range(0, len(bodies), 150):
        theirs += accepts(ptxas, text, version, target, bodies[n:n + 150])
    for body, answer, accepted in zip(bodies, mine, theirs):
        if accepted and answer != 'ok':
            print(body, '\n   ', answer.split('~')[0])
    print('%d instructions; ptxas accepts %d; we refuse %d of these and accept %d others' % (
        len(bodies), sum(theirs), sum(t and m != 'ok' for t, m in zip(theirs, mine)),
        sum(not t and m == 'ok' for t, m in zip(theirs, mine))))


if __name__ == '__main__':
    main(sys.argv)
