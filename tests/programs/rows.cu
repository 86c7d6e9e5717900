// Blocks whose rows are 8, 16 or other numbers of threads: addresses that follow each other in a row only, the same in a row,
// neither; by 32-bit indices that wrap inside a row; elements of 1 to 16 bytes; rows that leave a loop in different rounds.
#include "check.h"

enum { WIDTH = 96, HEIGHT = 40, CELLS = WIDTH * HEIGHT };

__host__ __device__ static unsigned mix(unsigned x)
{
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return x ^ x >> 12;
}

struct place {
    int x, y, tx, ty, bx, by;
};

template <class T>
__host__ __device__ static T make(unsigned n);
template <>
__host__ __device__ unsigned char make(unsigned n) { return (unsigned char)n; }
template <>
__host__ __device__ short make(unsigned n) { return (short)n; }
template <>
__host__ __device__ unsigned make(unsigned n) { return n; }
template <>
__host__ __device__ double make(unsigned n) { return n * 0.5; }
template <>
__host__ __device__ uint2 make(unsigned n) { return make_uint2(n, n ^ 5); }
template <>
__host__ __device__ float4 make(unsigned n) { return make_float4(n & 0xffff, n & 7, n >> 16, 2); }

// In one place in memory each: copy, copy of the column's head, of the row's head, of a mirrored cell.
template <class T>
__host__ __device__ static void move_cells(const T *in, T *out, place p)
{
    if (p.x >= WIDTH || p.y >= HEIGHT)
        return;
    int at = p.y * WIDTH + p.x;
    out[at] = in[at];
    out[CELLS + at] = in[p.x];
    out[2 * CELLS + at] = in[p.y * WIDTH];
    out[3 * CELLS + at] = in[p.y * WIDTH + (WIDTH - 1 - p.x)];
    out[4 * CELLS + p.x * HEIGHT + p.y] = in[at];
}

template <class T>
__global__ void moves(const T *in, T *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    move_cells(in, out, place{x, y, 0, 0, 0, 0});
}

// Rows go round a loop as often as they say, and read on from where they stopped.
__host__ __device__ static void walk(const unsigned *in, unsigned *out, place p, int rows)
{
    if (p.x >= WIDTH || p.y >= HEIGHT)
        return;
    unsigned sum = 0;
    int at = p.x, n = 0;
    for (; n < p.ty % 5 + 1; n++) {
        sum = sum * 3 + in[at];
        at += WIDTH;
    }
    sum += in[at] + in[n * WIDTH + p.x];
    int step = p.ty % 2 ? 1 : WIDTH; // rows differ in the way they come here
    if (p.ty % 3 == 0)
        at = n * 2;
    sum ^= in[at + (p.ty % 3 ? 0 : p.tx)] + in[(p.tx * step) % CELLS];
    if (p.tx % 7 == 3)
        sum += in[p.y * WIDTH + p.x];
    out[p.y * WIDTH + p.x] = sum + rows;
}

__global__ void walks(const unsigned *in, unsigned *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    walk(in, out, place{x, y, (int)threadIdx.x, (int)threadIdx.y, 0, 0}, blockDim.y);
}

// The index wraps at 32 bits in the middle of a row, and is then widened.
__host__ __device__ static unsigned wrapped(const unsigned *middle, unsigned base, int tx, int ty)
{
    unsigned up = base + (unsigned)tx + (unsigned)ty * 64u;
    return middle[(long long)up % 5000 - (up > 0x80000000u ? 0 : 100)] + middle[(int)up % 4000];
}

__global__ void wraps(const unsigned *middle, unsigned *out, unsigned base)
{
    unsigned index = base + threadIdx.x;
    int signed_index = (int)(0x7ffffffau + threadIdx.x);
    out[threadIdx.y * blockDim.x + threadIdx.x] = wrapped(middle, base, threadIdx.x, threadIdx.y) +
                                                  middle[(size_t)index - (index < 100 ? 0 : 0xfffffff0u)] +
                                                  middle[(long long)signed_index % 3000];
}

// A tile in shared memory, written by rows and read by columns, rows and one by one.
__global__ void tile(const unsigned *in, unsigned *out)
{
    __shared__ unsigned cells[16][49];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, row = z * blockDim.y + y;
    unsigned first = (blockIdx.x * 16 + row) * 48;

    cells[row][x] = in[first + x];
    __syncthreads();
    unsigned sum = 0;
    for (int i = 0; i < (int)blockDim.x; i++)
        sum += cells[row][i] * (i + 1);
    for (int i = 0; i < (int)(blockDim.y * blockDim.z); i++)
        sum ^= cells[i][x] << i;
    out[first + x] = sum + cells[(row + x) % (blockDim.y * blockDim.z)][x];
}

static uint32_t state = 7;

template <class T>
static void check_moves(dim3 block)
{
    T *in = managed<T>(CELLS), *out = managed<T>(5 * CELLS), *want = (T *)calloc(5 * CELLS, sizeof(T));
    for (int i = 0; i < CELLS; i++)
        in[i] = make<T>(next_random(&state));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            move_cells(in, want, place{x, y, 0, 0, 0, 0});
    moves<<<dim3((WIDTH + block.x - 1) / block.x, (HEIGHT + block.y - 1) / block.y), block>>>(in, out);
    CHECK(cudaDeviceSynchronize());
    if (memcmp(out, want, 5 * CELLS * sizeof(T))) {
        printf("moves of %zu bytes, blocks %u x %u: wrong\n", sizeof(T), block.x, block.y);
        failures++;
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    free(want);
}

static void check_walks(dim3 block)
{
    unsigned *in = managed<unsigned>(CELLS + 8 * WIDTH), *out = managed<unsigned>(CELLS), want[CELLS];
    for (int i = 0; i < CELLS + 8 * WIDTH; i++)
        in[i] = mix(i + 1);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            walk(in, want, place{x, y, (int)(x % block.x), (int)(y % block.y), 0, 0}, block.y);
    walks<<<dim3((WIDTH + block.x - 1) / block.x, (HEIGHT + block.y - 1) / block.y), block>>>(in, out);
    CHECK(cudaDeviceSynchronize());
    same("walks", out, want, CELLS);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void check_wraps(dim3 block)
{
    unsigned *memory = managed<unsigned>(20000), *middle = memory + 10000, *out = managed<unsigned>(1024), want[1024];
    for (int i = 0; i < 20000; i++)
        memory[i] = mix(i);
    for (unsigned y = 0; y < block.y; y++)
        for (unsigned x = 0; x < block.x; x++) {
            unsigned base = 0xfffffffbu, index = base + x;
            want[y * block.x + x] = wrapped(middle, base, x, y) + middle[(size_t)index - (index < 100 ? 0 : 0xfffffff0u)] +
                                    middle[(long long)(int)(0x7ffffffau + x) % 3000];
        }
    wraps<<<1, block>>>(middle, out, 0xfffffffbu);
    CHECK(cudaDeviceSynchronize());
    same("wraps", out, want, block.x * block.y);
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

static void check_tile(dim3 block)
{
    const int blocks = 3, cells = blocks * 16 * 48, rows = block.y * block.z, columns = block.x;
    unsigned *in = managed<unsigned>(cells), *out = managed<unsigned>(cells), *want = (unsigned *)calloc(cells, sizeof(unsigned));
    for (int i = 0; i < cells; i++)
        in[i] = next_random(&state);
    for (int b = 0; b < blocks; b++)
        for (int row = 0; row < rows; row++)
            for (int x = 0; x < columns; x++) {
                unsigned sum = 0, *at = in + b * 16 * 48;
                for (int i = 0; i < columns; i++)
                    sum += at[row * 48 + i] * (i + 1);
                for (int i = 0; i < rows; i++)
                    sum ^= at[i * 48 + x] << i;
                want[(b * 16 + row) * 48 + x] = sum + at[(row + x) % rows * 48 + x];
            }
    tile<<<blocks, block>>>(in, out);
    CHECK(cudaDeviceSynchronize());
    same("tile", out, want, cells);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    free(want);
}

int main()
{
    const dim3 blocks[] = {dim3(16, 16), dim3(8, 8), dim3(16, 3), dim3(8, 5), dim3(48, 2), dim3(24, 4), dim3(12, 6), dim3(32, 4),
                           dim3(16, 1), dim3(8, 1)};
    for (dim3 block : blocks) {
        check_moves<unsigned char>(block);
        check_moves<short>(block);
        check_moves<unsigned>(block);
        check_moves<double>(block);
        check_moves<uint2>(block);
        check_moves<float4>(block);
        check_walks(block);
        check_wraps(block);
        check_tile(block);
    }
    check_tile(dim3(16, 4, 4));
    check_tile(dim3(8, 2, 8));
    return finish();
}
