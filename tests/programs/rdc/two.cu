static __device__ int helper(int value)
{
    return value + value;
}
__device__ int twice(int value)
{
    return helper(value);
}
