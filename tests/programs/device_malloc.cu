// malloc and free in kernels: each thread its own block, a list that lives from launch to launch, the end of the heap.
#include "check.h"

struct node {
    int value;
    node *next;
};
__device__ node *head;

__global__ void own_blocks(int *out)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x, size = 1 + i % 17;
    int *block = (int *)malloc(size * sizeof(int));
    if (!block) {
        out[i] = -1;
        return;
    }
    for (int j = 0; j < size; j++)
        block[j] = i + j;
    int sum = 0;
    for (int j = 0; j < size; j++)
        sum += block[j];
    free(block);
    out[i] = sum;
}

__global__ void build(int count)
{
    for (int i = 0; i < count; i++) {
        node *made = (node *)malloc(sizeof(node));
        made->value = i;
        made->next = head;
        head = made;
    }
}

__global__ void drop(int *sum)
{
    while (head) {
        node *next = head->next;
        *sum += head->value;
        free(head);
        head = next;
    }
}

__global__ void too_much(int *failed)
{
    void *volatile block = malloc((size_t)1 << 40); // volatile: a compiler may leave out a block that nobody uses
    *failed = block == NULL;
    free(NULL);
}

int main()
{
    const int threads = 128, blocks = 20;
    int *out = managed<int>(threads * blocks), *sum = managed<int>(2);
    own_blocks<<<blocks, threads>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < threads * blocks; i++) {
        int size = 1 + i % 17;
        REQUIRE(out[i] == size * i + size * (size - 1) / 2);
    }
    build<<<1, 1>>>(1000);
    drop<<<1, 1>>>(sum);
    too_much<<<1, 1>>>(sum + 1);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(sum[0] == 499500 && sum[1] == 1);
    return finish();
}
