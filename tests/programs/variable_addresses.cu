// Device variables by addresses that kernels found, and managed variables before any other call.
#include "check.h"

__device__ int numbers[4] = {1, 2, 3, 4};
__constant__ int fixed[4] = {5, 6, 7, 8};
__managed__ int shared_number = 9;

__global__ void where(void **out)
{
    out[0] = &numbers[1];
    out[1] = (void *)fixed;
    out[2] = &shared_number;
    shared_number++;
}

int main()
{
    void **out, *found[3];
    int value[3] = {};
    REQUIRE(shared_number == 9); // the first use of CUDA in this program
    shared_number = 20;
    CHECK(cudaMalloc(&out, sizeof(found)));
    where<<<1, 1>>>(out);
    CHECK(cudaMemcpy(found, out, sizeof(found), cudaMemcpyDeviceToHost));
    REQUIRE(shared_number == 21);
    REQUIRE(found[2] == &shared_number);
    CHECK(cudaMemcpy(value, found[0], sizeof(value), cudaMemcpyDeviceToHost));
    REQUIRE(value[0] == 2 && value[1] == 3 && value[2] == 4);
    CHECK(cudaMemcpy(found[0], fixed, 0, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(found[0], 0, 4));
    CHECK(cudaMemcpyFromSymbol(value, numbers, 12));
    REQUIRE(value[0] == 1 && value[1] == 0 && value[2] == 3);
    CHECK(cudaMemcpy(value, found[1], 8, cudaMemcpyDeviceToHost));
    REQUIRE(value[0] == 5 && value[1] == 6);
    CHECK(cudaMemcpy(value, found[2], 4, cudaMemcpyDefault));
    REQUIRE(value[0] == 21);
    CHECK(cudaGetSymbolAddress(&found[0], shared_number));
    REQUIRE(found[0] == &shared_number);
    return finish();
}
