// Branches, switches, calls of every kind, printf, assert, malloc, recursion, traps.
#include <cassert>
#include <cstdio>

struct big {
    int a[6];
    double d;
};
struct tiny {
    char c;
    short s;
};
__device__ __noinline__ big make(int n, big from)
{
    from.a[n & 3] = n;
    from.d += from.a[(n + 1) & 3];
    return from;
}
__device__ __noinline__ tiny make_tiny(tiny t, bool b, char c, unsigned short u, float f, double d, long long l)
{
    t.c += b ? c : 1;
    t.s += u + (int)f + (int)d + (int)l;
    return t;
}
__device__ __noinline__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ float twice(float x)
{
    return 2 * x;
}
__device__ __noinline__ float half(float x)
{
    return x / 2;
}
__device__ float (*choice[2])(float) = {twice, half};

struct shape {
    __device__ virtual ~shape() {}
    __device__ virtual double area() const = 0;
    __device__ virtual big pack(big b, tiny t) { b.a[0] = t.s; return b; }
};
struct square : shape {
    double side;
    __device__ square(double s) : side(s) {}
    __device__ double area() const override { return side * side; }
};
struct disc : shape {
    double r;
    __device__ disc(double s) : r(s) {}
    __device__ double area() const override { return 3 * r * r; }
    __device__ big pack(big b, tiny t) override { b.a[1] = t.c; b.d = r; return b; }
};

__global__ void calls(float *out, big b, tiny t, int n, bool flag)
{
    big c = make(n, b);
    tiny u = make_tiny(t, flag, 'x', 7, 1.5f, 2.5, 3);
    out[0] = c.d + u.c + u.s + fib(n) + choice[n & 1](out[1]);
    shape *s = n & 1 ? (shape *)new square(n) : (shape *)new disc(n);
    out[2] = s->area() + s->pack(b, t).d;
    delete s;
    char *m = (char *)malloc(n);
    if (!m)
        return;
    m[0] = 5;
    out[3] = m[n - 1];
    free(m);
}

__global__ void says(int n, const char *name, double d)
{
    if (threadIdx.x == 3)
        return;
    printf("thread %d of %s: %f %lld %c\n", threadIdx.x, name, d, (long long)n, 'q');
    printf("nothing else\n");
    assert(n > 3);
    if (n == 77)
        __trap();
    if (n == 78)
        __brkpt();
}

__global__ void branches(int *out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i % 7 == 3)
            continue;
        if (sum > 1000)
            break;
        switch ((i + threadIdx.x) & 15) {
        case 0: sum += out[1]; break;
        case 1: sum -= 4; out[5] = 1; break;
        case 2: sum ^= 5; out[6] = sum; break;
        case 3: sum *= 3; // falls through
        case 4: sum += 9; out[7] = sum; break;
        case 5: while (sum > out[2]) sum /= 2; break;
        case 6: sum = out[sum & 7]; break;
        case 7: out[8] = sum; return;
        case 8: sum |= out[9]; break;
        case 9: asm volatile("exit;"); break;
        default: sum++;
        }
    }
    out[threadIdx.x] = sum;
}

struct huge {
    int v[1500];
};
__global__ void large(int *out, const __grid_constant__ huge h, int n)
{
    out[0] = h.v[n] + h.v[1499];
    const int *p = &h.v[n];
    out[1] = p[1];
}

__global__ void stack(int *out, int n)
{
    int *p = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        p[i] = i;
    out[0] = p[n / 2];
}
