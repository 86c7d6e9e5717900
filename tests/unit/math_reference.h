/* Exact binary floats in plain C, for tests of generated arithmetic: numbers are fixed-point integers of 4608 bits, rounded once.
 * It shares no method with the code under test. */
#ifndef BAILEY_TEST_MATH_REFERENCE_H
#define BAILEY_TEST_MATH_REFERENCE_H

#include "kir/kir.h"

/* Values are bits in the low end of a uint64_t. The canonical NaN is 0x7fff, 0x7fffffff; f64's is 0x7fffffffffffffff here. */
bool ref_is_nan(enum bl_kir_type type, uint64_t bits);
bool ref_is_infinite(enum bl_kir_type type, uint64_t bits);
uint64_t ref_nan(enum bl_kir_type type);
uint64_t ref_infinity(enum bl_kir_type type);
uint64_t ref_sign(enum bl_kir_type type); /* the sign's mask */
uint64_t ref_smallest_normal(enum bl_kir_type type);
uint64_t ref_flush(enum bl_kir_type type, uint64_t bits);
double ref_double(enum bl_kir_type type, uint64_t bits); /* exact */
/* fadd, fsub, fmul, ffma, fdiv, frcp, fsqrt */
uint64_t ref_arithmetic(enum bl_kir_op op, enum bl_kir_type type, enum bl_kir_round round, const uint64_t *in);
uint64_t ref_convert(enum bl_kir_type to, enum bl_kir_type from, enum bl_kir_round round, uint64_t bits);
uint64_t ref_from_integer(enum bl_kir_type to, enum bl_kir_round round, bool is_negative, uint64_t magnitude);
/* A finite number rounded to an integer: magnitude, UINT64_MAX with *large set where it does not fit. */
uint64_t ref_to_integer(enum bl_kir_type from, enum bl_kir_round round, uint64_t bits, bool *large);
uint64_t ref_integral(enum bl_kir_type type, enum bl_kir_round round, uint64_t bits);

/* rcp, rsqrt, sqrt, ex2, lg2, sin, cos and tanh of an f32 that is not subnormal as an NVIDIA GPU's function unit gives them, in
 * integers; record_approx.py says what it is worth. */
uint32_t ref_function_unit(enum bl_kir_op op, uint32_t bits);

#endif
