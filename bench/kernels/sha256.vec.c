/* SHA-256 by hand: sixteen messages a vector. */
#include "sha256.h"
#include "../harness.h"

typedef uint32_t vector __attribute__((vector_size(64)));

static const uint32_t constants[64] = ROUND_CONSTANTS;

static inline vector rotate(vector x, int n)
{
    return (x >> n) | (x << (32 - n));
}

static void compress(vector *state, vector *w)
{
    vector a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 64
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            vector x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        vector t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i & 15];
        vector t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static inline vector swap_bytes(vector x)
{
    return (x >> 24) | ((x >> 8) & 0xff00) | ((x << 8) & 0xff0000) | (x << 24);
}

void bench_run(void *const *p)
{
    const uint32_t *messages = p[0];
    uint32_t *digests = p[1];
    static const uint32_t initial[8] = INITIAL;
#pragma omp parallel for
    for (int i = 0; i < MESSAGES; i += 16) {
        vector state[8], w[16];
        for (int j = 0; j < 16; j++)
            for (int l = 0; l < 16; l++)
                w[j][l] = messages[(i + l) * 16 + j];
        for (int j = 0; j < 16; j++)
            w[j] = swap_bytes(w[j]);
        for (int j = 0; j < 8; j++)
            state[j] = (vector){0} + initial[j];
        compress(state, w);
        for (int j = 0; j < 16; j++)
            w[j] = (vector){0} + (j == 0 ? 0x80000000u : j == 15 ? 512u : 0u);
        compress(state, w);
        for (int j = 0; j < 8; j++)
            state[j] = swap_bytes(state[j]);
        for (int l = 0; l < 16; l++)
            for (int j = 0; j < 8; j++)
                digests[(i + l) * 8 + j] = state[j][l];
    }
}
