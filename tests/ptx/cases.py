#!/usr/bin/env python3
"""Right and wrong instructions, each in the frame of frame.ptx.

    cases.py ours  CHECK_LINES FRAME ACCEPTED REJECTED    our parser and checker give the verdicts, places and messages of the files
    cases.py ptxas PTXAS       FRAME ACCEPTED REJECTED    NVIDIA's assembler agrees (77: it isn't there)

A line of ACCEPTED is "VERSION TARGET INSTRUCTIONS". A line of REJECTED is "NAME | VERSION TARGET | LINE:COLUMN | MESSAGE | BODY":
the place counted within the body, and what our message begins with; a newline in the body is written \\n. # starts a comment.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile


def lines_of(path):
    with open(path) as file:
        return [line.rstrip('\n') for line in file if line.strip() and not line.startswith('#')]


def accepted(path):
    return [line.split(' ', 2) for line in lines_of(path)]


def rejected(path):
    cases = []
    for line in lines_of(path):
        name, needs, place, message, body = [part.strip() for part in line.split(' | ', 4)]
        cases.append((name, *needs.split(' '), place, message, body))
    return cases


def ours(tool, frame, cases):
    """Our verdicts on (version, target, body): "ok" or "LINE:COLUMN message"."""
    text = ''.join('%s %s %s\n' % case for case in cases)
    result = subprocess.run([tool, frame], input=text, capture_output=True, text=True)
    answers = result.stdout.splitlines()
    if result.returncode or len(answers) != len(cases):
        sys.exit('%s: status %d after %d of %d cases' % (tool, result.returncode, len(answers), len(cases)))
    return answers


def check_ours(tool, frame, right, wrong):
    bad = 0
    for case, answer in zip(right, ours(tool, frame, [tuple(c) for c in right])):
        if answer != 'ok':
            print('rejected:', ' '.join(case), '\n  ', answer)
            bad += 1
    for case, answer in zip(wrong, ours(tool, frame, [(c[1], c[2], c[5]) for c in wrong])):
        name, place, message = case[0], case[3], case[4]
        if not answer.startswith(place + ' ' + message):
            print('%s: expected %s %s\n   found %s' % (name, place, message, answer))
            bad += 1
    return bad


def assemble(ptxas, frame, version, target, bodies):
    """For each body whether ptxas accepts it; None where it crashed. It stops at a syntax error, so what comes after one is asked
    again."""
    text = frame.replace('@VERSION@', version).replace('@TARGET@', target)
    sm = int(re.findall(r'\d+', target)[0])
    for version_least, sm_least, what in ((8.3, 70, '.reg .b128 %q<99>;'), (6.0, 30, 'table: .branchtargets L1, L2;')):
        if float(version) < version_least or sm < sm_least:
            text = text.replace(what, '')
    first = text[:text.index('@BODY@')].count('\n') + 1
    architecture = target if sm >= 75 else 'sm_75'
    verdicts = [True] * len(bodies)
    pending = list(range(len(bodies)))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'case.ptx')
        while pending:
            with open(path, 'w') as file:
                file.write(text.replace('@BODY@', '\n'.join(bodies[n].replace('\\n', ' ') for n in pending)))
            result = subprocess.run([ptxas, '-O0', '-arch', architecture, path, '-o', '/dev/null'], capture_output=True, text=True)
            if result.returncode < 0:
                return None
            stopped = None
            for line, kind in re.findall(r'line (\d+); (error|fatal)', result.stdout + result.stderr):
                n = int(line) - first
                if not 0 <= n < len(pending):
                    sys.exit('the frame itself is wrong: ' + result.stderr[:500])
                verdicts[pending[n]] = False
                if kind == 'fatal':
                    stopped = pending[n]
            if stopped is None:
                break
            pending.remove(stopped)
    return verdicts


def check_ptxas(ptxas, frame, right, wrong):
    with open(frame) as file:
        text = file.read()
    groups = collections.defaultdict(list)
    for version, target, body in right:
        groups[(version, target, True)].append((body, body))
    for name, version, target, _, _, body in wrong:
        groups[(version, target, False)].append((name, body))
    bad = 0
    for (version, target, expected), cases in groups.items():
        verdicts = assemble(ptxas, text, version, target, [c[1] for c in cases])
        if verdicts is None:
            sys.exit('ptxas crashed with ' + target)
        for (name, _), verdict in zip(cases, verdicts):
            if verdict != expected:
                print('ptxas %s %s (%s, %s)' % ('accepts' if verdict else 'rejects', name, version, target))
                bad += 1
    return bad


def main(argv):
    mode, tool, frame, right, wrong = argv[1:]
    if mode == 'ptxas' and not os.path.exists(tool):
        print('no ptxas here')
        return 77
    right, wrong = accepted(right), rejected(wrong)
    bad = (check_ours if mode == 'ours' else check_ptxas)(tool, frame, right, wrong)
    print('%d right and %d wrong instructions, %d not as expected' % (len(right), len(wrong), bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
