__device__ int shared_counter = 100;
__constant__ int factors[4] = {1, 2, 3, 4};
__device__ int twice(int value);
static __device__ int helper(int value)
{
    return value * 2;
}
__device__ int scaled(int value, int which)
{
    return helper(value * factors[which]);
}
__global__ void from_other(int *out)
{
    out[threadIdx.x] = shared_counter + twice(threadIdx.x) / 2;
}
