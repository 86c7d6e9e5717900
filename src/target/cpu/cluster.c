/* Clusters: CTAs that one core runs together as fibers, side by side in memory, and their barrier. Used by fiber.c and launch.c,
 * and by kernels through bl_cpu_helpers.
 *
 * All CTAs of a cluster run on one thread and take turns, so nothing here is atomic, and what one has written the next one sees.
 */
#include "target/cpu/run.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PLACE = 1 << BL_KIR_CLUSTER_SHIFT, SPARE_CLUSTERS = 8 };

/* ---- places ------------------------------------------------------------------------------------------ */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool map_places(struct bl_cpu_cluster *cluster)
{
    void *map;
    if (bl_fault_due("mmap"))
        return false;
    map = mmap(NULL, (size_t)PLACE * BL_KIR_CLUSTER_CTAS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    cluster->map = map;
    return true;
}

/* Each place but its last page, of `size` CTAs; the others' can't be touched. */
static bool open_places(struct bl_cpu_cluster *cluster, uint32_t size)
{
    for (; cluster->open < size; cluster->open++)
        if (mprotect(cluster->map + (size_t)cluster->open * PLACE, PLACE - page_size(), PROT_READ | PROT_WRITE))
            return false;
    for (; cluster->open > size; cluster->open--)
        if (mprotect(cluster->map + (size_t)(cluster->open - 1) * PLACE, PLACE, PROT_NONE))
            return false;
    return true;
}

uint8_t *bl_cpu_cluster_shared_end(const struct bl_cpu_cta *cta)
{
    return cta->cluster->map + (size_t)(cta->rank + 1) * PLACE - page_size();
}

void bl_cpu_cluster_free(struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < BL_KIR_CLUSTER_CTAS; r++)
        if (cluster->ctas[r])
            bl_cpu_cta_free(cluster->ctas[r]);
    if (cluster->map)
        munmap(cluster->map, (size_t)PLACE * BL_KIR_CLUSTER_CTAS);
    bl_free(cluster);
}

void bl_cpu_cluster_put(struct bl_cpu_core *core, struct bl_cpu_cluster *cluster)
{
    if (core->spare_cluster_count == SPARE_CLUSTERS) {
        bl_cpu_cluster_free(cluster);
        return;
    }
    cluster->next = core->spare_clusters;
    core->spare_clusters = cluster;
    core->spare_cluster_count++;
}

static bool prepare_ctas(struct bl_cpu_core *core, struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++) {
        struct bl_cpu_cta *cta = cluster->ctas[r];
        if (!cta)
            cta = cluster->ctas[r] = bl_calloc(1, sizeof(*cta));
        if (!cta)
            return false;
        cta->core = core;
        cta->cluster = cluster;
        cta->rank = r;
        if (!bl_cpu_cta_prepare(cta, true))
            return false;
    }
    return true;
}

struct bl_cpu_cluster *bl_cpu_cluster_take(struct bl_cpu_core *core)
{
    const uint32_t *sides = core->command->launch.cluster;
    struct bl_cpu_cluster *cluster = core->spare_clusters;

    if (cluster) {
        core->spare_clusters = cluster->next;
        core->spare_cluster_count--;
    } else {
        cluster = bl_calloc(1, sizeof(*cluster));
        if (!cluster)
            return NULL;
    }
    cluster->size = sides[0] ? sides[0] * sides[1] * sides[2] : 1;
    if ((cluster->map || map_places(cluster)) && open_places(cluster, cluster->size) && prepare_ctas(core, cluster))
        return cluster;
    bl_cpu_cluster_free(cluster);
    return NULL;
}

/* ---- the barrier ---------------------------------------------------------------------------------------- */

static void clear_arrivals(struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++) {
        struct bl_cpu_cta *cta = cluster->ctas[r];
        cta->runnable |= cta->cluster_waiting;
        cta->cluster_arrived = cta->cluster_waiting = 0;
        memset(cta->cluster_lanes, 0, sizeof(cta->cluster_lanes));
    }
}

void bl_cpu_cluster_begin(struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++)
        cluster->ctas[r]->ended = cluster->ctas[r]->cluster_waiting = 0;
    clear_arrivals(cluster);
    cluster->running = cluster->size;
    cluster->phase = 0;
}

bool bl_cpu_cluster_is_stuck(const struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++)
        if (cluster->ctas[r]->runnable)
            return false;
    return true;
}

/* All have arrived who have not ended: the next phase. */
static void complete(struct bl_cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++)
        if ((cluster->ctas[r]->cluster_arrived | cluster->ctas[r]->ended) != cluster->ctas[r]->all)
            return;
    clear_arrivals(cluster);
    cluster->phase++;
}

void bl_cpu_cluster_warp_ended(struct bl_cpu_cta *cta)
{
    complete(cta->cluster);
}

/* Whether all lanes of the warp have arrived that have not ended. */
static bool has_arrived(struct bl_cpu_warp *warp, uint32_t ending)
{
    struct bl_cpu_cta *cta = warp->runtime;
    if (warp->active & ~(cta->cluster_lanes[warp->warpid] | warp->exited | ending))
        return false;
    cta->cluster_arrived |= 1u << warp->warpid;
    return true;
}

void bl_cpu_help_cluster_arrive(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending)
{
    struct bl_cpu_cta *cta = warp->runtime;
    uint32_t w = warp->warpid;

    bl_cpu_obey_stop(cta->core);
    if (cta->cluster_lanes[w] & lanes)
        bl_cpu_help_fault(warp, lanes, BL_FAULT_ILLEGAL_INSTRUCTION,
                          "barrier.cluster.arrive of threads that have arrived and not waited since");
    cta->cluster_lanes[w] |= lanes;
    cta->cluster_phase[w] = cta->cluster->phase;
    cta->core->spins = 0;
    cta->core->moved = true;
    if (has_arrived(warp, ending))
        complete(cta->cluster);
}

void bl_cpu_help_cluster_wait(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending)
{
    struct bl_cpu_cta *cta = warp->runtime;
    uint32_t w = warp->warpid;

    bl_cpu_obey_stop(cta->core);
    if (cta->cluster->phase != cta->cluster_phase[w])
        return;
    if (!(cta->cluster_arrived >> w & 1)) {
        if (!has_arrived(warp, ending)) /* the others can't while this one waits */
            bl_cpu_help_fault(warp, lanes, BL_FAULT_UNSUPPORTED,
                              "barrier.cluster.wait of some lanes of a warp while others of it have not arrived");
        complete(cta->cluster);
    }
    if (cta->cluster->phase != cta->cluster_phase[w])
        return;
    cta->cluster_waiting |= 1u << w;
    cta->runnable &= ~(1u << w);
    bl_cpu_cta_switch(cta);
}
