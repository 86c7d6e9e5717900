/* malloc and free in kernels: a heap of fixed size (BL_LIMIT_HEAP). What a kernel writes past its blocks can't hurt the
 * bookkeeping, which lies elsewhere.
 *
 * The heap is pages. A run of pages is free, or one large block, or a single page cut into blocks of one size class. Each
 * run's length stands at its first page; free runs that touch are joined when a search comes by.
 */
#include "target/cpu/run.h"

#include <sys/mman.h>

enum { PAGE = 4096, LARGEST_SMALL = 2048, BITMAP_WORDS = PAGE / 16 / 64, NO_PAGE = UINT32_MAX };

/* Multiples of 16. */
static const uint16_t class_bytes[] = {16, 32, 48, 64, 96, 128, 192, 256, 336, 448, 512, 576, 672, 800, 1024, 1360, LARGEST_SMALL};
enum { CLASSES = BL_LEN(class_bytes) };

enum run_kind { RUN_FREE, RUN_LARGE, RUN_SMALL };

struct run {
    uint8_t kind, class;
    uint16_t used; /* blocks */
    uint32_t pages;
    uint32_t next, previous;       /* RUN_SMALL with free blocks: the class's list */
    uint64_t bitmap[BITMAP_WORDS]; /* set: in use */
};

struct bl_cpu_heap {
    pthread_mutex_t lock;
    uint8_t *memory;
    struct run *runs; /* by page; only those at a run's first page count */
    uint32_t pages;
    uint32_t lowest; /* no free run before this page */
    uint32_t partial[CLASSES];
};

/* ---- runs of pages ---------------------------------------------------------------------------------------- */

static void join_free(struct bl_cpu_heap *heap, uint32_t page)
{
    struct run *run = &heap->runs[page];
    while (page + run->pages < heap->pages && heap->runs[page + run->pages].kind == RUN_FREE)
        run->pages += heap->runs[page + run->pages].pages;
}

static uint32_t take_pages(struct bl_cpu_heap *heap, uint64_t wanted, enum run_kind kind)
{
    bool lowest = true;
    for (uint32_t page = heap->lowest; page < heap->pages; page += heap->runs[page].pages) {
        struct run *run = &heap->runs[page];
        if (run->kind != RUN_FREE)
            continue;
        join_free(heap, page);
        if (lowest)
            heap->lowest = page;
        lowest = false;
        if (run->pages < wanted)
            continue;
        if (run->pages > wanted)
            heap->runs[page + wanted] = (struct run){.kind = RUN_FREE, .pages = run->pages - (uint32_t)wanted};
        *run = (struct run){.kind = (uint8_t)kind, .pages = (uint32_t)wanted};
        return page;
    }
    return NO_PAGE;
}

static void give_pages(struct bl_cpu_heap *heap, uint32_t page)
{
    heap->runs[page].kind = RUN_FREE;
    heap->lowest = BL_MIN(heap->lowest, page);
}

/* ---- small blocks ------------------------------------------------------------------------------------------- */

static void partial_add(struct bl_cpu_heap *heap, uint32_t page)
{
    struct run *run = &heap->runs[page];
    run->previous = NO_PAGE;
    run->next = heap->partial[run->class];
    if (run->next != NO_PAGE)
        heap->runs[run->next].previous = page;
    heap->partial[run->class] = page;
}

static void partial_remove(struct bl_cpu_heap *heap, uint32_t page)
{
    struct run *run = &heap->runs[page];
    if (run->next != NO_PAGE)
        heap->runs[run->next].previous = run->previous;
    if (run->previous != NO_PAGE)
        heap->runs[run->previous].next = run->next;
    else
        heap->partial[run->class] = run->next;
}

static uint32_t blocks_of(uint32_t class)
{
    return PAGE / class_bytes[class];
}

static uint32_t first_clear(const struct run *run)
{
    for (uint32_t i = 0; i < BITMAP_WORDS; i++)
        if (~run->bitmap[i])
            return i * 64 + (uint32_t)__builtin_ctzll(~run->bitmap[i]);
    return UINT32_MAX; /* not reached: the run has a free block */
}

static uint8_t *take_small(struct bl_cpu_heap *heap, uint64_t size)
{
    uint32_t class = 0, page;
    while (class_bytes[class] < size)
        class ++;
    page = heap->partial[class];
    if (page == NO_PAGE) {
        page = take_pages(heap, 1, RUN_SMALL);
        if (page == NO_PAGE)
            return NULL;
        heap->runs[page].class = (uint8_t) class;
        partial_add(heap, page);
    }
    struct run *run = &heap->runs[page];
    uint32_t block = first_clear(run);
    run->bitmap[block / 64] |= 1ull << block % 64;
    if (++run->used == blocks_of(class))
        partial_remove(heap, page);
    return heap->memory + (uint64_t)page * PAGE + block * class_bytes[class];
}

static bool give_small(struct bl_cpu_heap *heap, uint32_t page, uint32_t offset)
{
    struct run *run = &heap->runs[page];
    uint32_t block = offset / class_bytes[run->class];
    if (offset % class_bytes[run->class] || block >= blocks_of(run->class) || !(run->bitmap[block / 64] >> block % 64 & 1))
        return false;
    if (run->used-- == blocks_of(run->class))
        partial_add(heap, page);
    run->bitmap[block / 64] &= ~(1ull << block % 64);
    if (!run->used) {
        partial_remove(heap, page);
        give_pages(heap, page);
    }
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static uint8_t *take(struct bl_cpu_heap *heap, uint64_t size)
{
    if (size > (uint64_t)heap->pages * PAGE)
        return NULL;
    if (size <= LARGEST_SMALL)
        return take_small(heap, size);
    uint32_t page = take_pages(heap, (size + PAGE - 1) / PAGE, RUN_LARGE);
    return page == NO_PAGE ? NULL : heap->memory + (uint64_t)page * PAGE;
}

/* Pages inside a run are RUN_FREE (what they were when the run was made), so none is taken for a run's first. */
static bool give(struct bl_cpu_heap *heap, uint64_t address)
{
    uint64_t offset = address - (uint64_t)(uintptr_t)heap->memory;
    if (offset >= (uint64_t)heap->pages * PAGE)
        return false;
    uint32_t page = (uint32_t)(offset / PAGE);
    if (heap->runs[page].kind == RUN_SMALL)
        return give_small(heap, page, offset % PAGE);
    if (heap->runs[page].kind != RUN_LARGE || offset % PAGE)
        return false;
    give_pages(heap, page);
    return true;
}

static struct bl_cpu_heap *heap_create(uint64_t bytes)
{
    struct bl_cpu_heap *heap = bl_calloc(1, sizeof(*heap));
    uint64_t pages = BL_MIN((bytes + PAGE - 1) / PAGE, (uint64_t)NO_PAGE - 1);
    if (!heap || !pages || bl_fault_due("mmap")) {
        bl_free(heap);
        return NULL;
    }
    heap->pages = (uint32_t)pages;
    heap->memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    heap->runs = mmap(NULL, pages * sizeof(struct run), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (heap->memory == MAP_FAILED || heap->runs == MAP_FAILED) {
        if (heap->memory != MAP_FAILED)
            munmap(heap->memory, pages * PAGE);
        if (heap->runs != MAP_FAILED)
            munmap(heap->runs, pages * sizeof(struct run));
        bl_free(heap);
        return NULL;
    }
    pthread_mutex_init(&heap->lock, NULL);
    heap->runs[0] = (struct run){.kind = RUN_FREE, .pages = heap->pages};
    for (int i = 0; i < CLASSES; i++)
        heap->partial[i] = NO_PAGE;
    return heap;
}

/* Lock held, or nobody else left; no kernel runs. */
void bl_cpu_heap_free_all(struct bl_cpu_runner *runner)
{
    struct bl_cpu_heap *heap = runner->heap;
    if (!heap)
        return;
    munmap(heap->memory, (size_t)heap->pages * PAGE);
    munmap(heap->runs, heap->pages * sizeof(struct run));
    pthread_mutex_destroy(&heap->lock);
    bl_free(heap);
    runner->heap = NULL;
}

static struct bl_cpu_heap *heap_of(struct bl_cpu_runner *runner)
{
    bl_cpu_lock(runner);
    if (!runner->heap)
        runner->heap = heap_create(runner->heap_limit);
    struct bl_cpu_heap *heap = runner->heap;
    bl_cpu_unlock(runner);
    return heap;
}

/* ---- what kernels call -------------------------------------------------------------------------------------------- */

void bl_cpu_help_malloc(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *sizes, uint64_t *results)
{
    struct bl_cpu_cta *cta = warp->runtime;
    bl_cpu_obey_stop(cta->core);
    struct bl_cpu_heap *heap = heap_of(cta->core->runner);
    if (heap)
        pthread_mutex_lock(&heap->lock);
    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        results[lane] = heap ? (uint64_t)(uintptr_t)take(heap, sizes[lane]) : 0;
    }
    if (heap)
        pthread_mutex_unlock(&heap->lock);
}

void bl_cpu_help_free(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *blocks)
{
    struct bl_cpu_cta *cta = warp->runtime;
    bl_cpu_obey_stop(cta->core);
    struct bl_cpu_heap *heap = heap_of(cta->core->runner);
    uint32_t bad = 0;
    if (heap)
        pthread_mutex_lock(&heap->lock);
    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        if (blocks[lane] && !(heap && give(heap, blocks[lane])))
            bad |= 1u << lane;
    }
    if (heap)
        pthread_mutex_unlock(&heap->lock);
    if (bad)
        bl_cpu_help_fault(warp, bad, BL_FAULT_ILLEGAL_ADDRESS, "free of what malloc did not give");
}
