"""What PTX instructions answer that an H200 can't run (those of sm_100 and newer): exact arithmetic on fractions, rounded once. For
conform.py. Sources: the PTX ISA document, 9.7.3, 9.7.5 and 9.7.9.21; the OCP document of microscaling formats; how a NaN looks and
when a small result is flushed are taken to be as an H200 has it in f32."""
import re
from fractions import Fraction

# bits of exponent, bits of fraction, largest code, code of a NaN result (formats without NaNs: the largest number)
FORMATS = {'f32': (8, 23, 0x7f7fffff, 0x7fffffff), 'f16': (5, 10, 0x7bff, 0x7fff), 'bf16': (8, 7, 0x7f7f, 0x7fff),
           'e2m1': (2, 1, 0x07, 0x07), 'e2m3': (2, 3, 0x1f, 0x1f), 'e3m2': (3, 2, 0x1f, 0x1f)}
NAN = 'nan'


def parts(name, code):
    """(negative, magnitude): a fraction, None for an infinity, NAN."""
    exponent, fraction = FORMATS[name][:2]
    bias, negative = (1 << exponent - 1) - 1, code >> exponent + fraction & 1
    power, rest = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
    if name in ('f32', 'f16', 'bf16') and power == (1 << exponent) - 1:
        return negative, NAN if rest else None
    return negative, Fraction(2) ** ((power or 1) - bias - fraction) * (rest + (1 << fraction if power else 0))


def cut(value, step, negative, rounding):
    """value, not negative, in units of step, to an integer."""
    count, rest = divmod(value, step)
    half = Fraction(step) / 2
    up = {'rn': rest > half or rest == half and count & 1, 'rz': False, 'rm': negative and rest, 'rp': not negative and rest}[rounding]
    return int(count) + bool(up)


def encode(name, negative, value, rounding, ftz=False, satfinite=False):
    """The code of a magnitude (fraction, None, NAN)."""
    exponent, fraction, largest, nan = FORMATS[name]
    sign, least = negative << exponent + fraction, Fraction(2) ** (2 - (1 << exponent - 1))
    if value == NAN:
        return nan
    if value is None:
        return sign | (largest if satfinite else largest + 1)
    if value == 0:
        return sign
    power = value.numerator.bit_length() - value.denominator.bit_length()
    power -= Fraction(2) ** power > value
    step = Fraction(2) ** (power - fraction)
    if ftz and cut(value, step, negative, rounding) * step < least:
        return sign
    bias = (1 << exponent - 1) - 1
    power = max(power, 1 - bias)
    code = (power + bias - 1 << fraction) + cut(value, Fraction(2) ** (power - fraction), negative, rounding)
    if code > largest:
        away = rounding == 'rn' or rounding == ('rm' if negative else 'rp')
        code = largest if satfinite or not away else largest + 1
    return sign | code


def flushed(x):
    return (x[0], Fraction(0)) if isinstance(x[1], Fraction) and x[1] < Fraction(2) ** -126 else x


def times(x, y):
    negative = x[0] ^ y[0]
    if NAN in (x[1], y[1]) or None in (x[1], y[1]) and 0 in (x[1], y[1]):
        return 0, NAN
    return negative, None if None in (x[1], y[1]) else x[1] * y[1]


def plus(x, y, rounding):
    if NAN in (x[1], y[1]) or x[1] is None and y[1] is None and x[0] != y[0]:
        return 0, NAN
    if x[1] is None or y[1] is None:
        return x if x[1] is None else y
    total = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    if total == 0:
        return (x[0] if x[0] == y[0] else int(rounding == 'rm')), total
    return int(total < 0), abs(total)


def rounding_of(words):
    return next((w for w in words if w in ('rn', 'rz', 'rm', 'rp')), 'rn')


def arithmetic(words, x):
    """add, sub, mul, fma of parts."""
    rounding = rounding_of(words)
    if 'ftz' in words:
        x = [flushed(v) for v in x]
    if words[0] == 'sub':
        x[1] = (1 - x[1][0], x[1][1])
    result = x[0] if words[0] in ('add', 'sub') else times(x[0], x[1])
    if words[0] != 'mul':
        result = plus(result, x[-1], rounding)
    if 'sat' in words:
        if result[1] == NAN or result[0] or result[1] == 0:
            return 0
        if result[1] is None or result[1] > 1:
            return 0x3f800000
    return encode('f32', *result, rounding, 'ftz' in words)


def least_or_most(words, x):
    """min and max of three f32."""
    if 'ftz' in words:
        x = [flushed(v) for v in x]
    if 'abs' in words:
        x = [(0, v[1]) for v in x]
    numbers = [v for v in x if v[1] != NAN]
    if not numbers or 'NaN' in words and len(numbers) < 3:
        return 0x7fffffff
    order = lambda v: ((-1 if v[0] else 1) * (Fraction(2) ** 200 if v[1] is None else v[1]), not v[0])
    return encode('f32', *(min if words[0] == 'min' else max)(numbers, key=order), 'rn')


def to_small(name, words, x):
    if x[1] == NAN:
        return FORMATS[name][3]
    if 'relu' in words and x[0]:
        return 0
    return encode(name, *x, 'rn', satfinite=True)


def to_power(words, x):
    """ue8m0 of parts of an f32."""
    if x[1] == NAN:
        return 0xff
    largest = 0xfe if 'satfinite' in words else 0xff
    if x[1] is None or x[1] == 0:
        return 0 if x[1] == 0 else largest
    code = max(0, x[1].numerator.bit_length() - x[1].denominator.bit_length() + 126)  # this power or the next
    while code < 255 and (x[1] > Fraction(2) ** (code - 127) if 'rp' in words else x[1] >= Fraction(2) ** (code - 126)):
        code += 1
    return min(code, largest)


def answer(name, x):
    """The result of one case for operands x, as bits."""
    words = re.sub(r'\[.*', '', name).split('.')
    if words[-1] == 'f32x2':
        halves = [arithmetic(words, [parts('f32', v >> 32 * h & 0xffffffff) for v in x]) for h in (0, 1)]
        return halves[1] << 32 | halves[0]
    if words[0] in ('min', 'max'):
        return least_or_most(words, [parts('f32', v) for v in x])
    if words[0] != 'cvt':
        return arithmetic(words, [parts(words[-1], v) for v in x[:-1]] + [parts('f32', x[-1])])
    to, source = words[-2], words[-1]
    if to == 'ue8m0x2':
        x = (x[0] & 0xffff, x[0] >> 16) if source == 'bf16x2' else (x[1], x[0])
        low, high = (to_power(words, parts('bf16' if source == 'bf16x2' else 'f32', v)) for v in x)
        return high << 8 | low
    if source == 'ue8m0x2':
        low, high = (0x7fff if c == 255 else encode('bf16', 0, Fraction(2) ** (c - 127), 'rn') for c in (x[0] & 0xff, x[0] >> 8))
        return high << 16 | low
    if to in ('e2m1x2', 'e2m3x2', 'e3m2x2'):
        low, high = (to_small(to[:-2], words, parts('f32', v)) for v in (x[1], x[0]))
        return high << (4 if to == 'e2m1x2' else 8) | low
    if source in ('e2m1x2', 'e2m3x2', 'e3m2x2'):
        step = 4 if source == 'e2m1x2' else 8
        values = [parts(source[:-2], x[0] >> step * h) for h in (0, 1)]
        low, high = (0 if 'relu' in words and v[0] else encode('f16', *v, 'rn') for v in values)
        return high << 16 | low
    if to == 'tf32':
        return to_tf32(words, x[0])
    raise ValueError('no model of ' + name)


def to_tf32(words, code):
    """cvt.rn and .rz with .satfinite."""
    negative, value = parts('f32', code)
    if value == NAN:
        return 0x7fffe000
    if 'relu' in words and negative:
        return 0
    if value is None:
        return negative << 31 | 0x7f7fe000
    if value == 0:
        return negative << 31
    power = max(value.numerator.bit_length() - value.denominator.bit_length(), -126)
    power -= Fraction(2) ** power > value and power > -126
    step = Fraction(2) ** (power - 10)
    value = min(cut(value, step, negative, rounding_of(words)) * step, Fraction(2) ** 128 - Fraction(2) ** 117)
    return encode('f32', negative, value, 'rz')
