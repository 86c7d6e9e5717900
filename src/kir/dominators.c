/* Dominators and post-dominators, by Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005):
 * depth-first numbers, semidominators with path compression, then nearest common ancestors. Near-linear on any graph,
 * irreducible ones too. Needs block ids dense (bl_kir_renumber). Unreachable blocks get no answer. */
#include "kir/kir.h"

/* A graph as adjacency lists in two arrays: of node n, list[first[n]] to list[first[n + 1] - 1]. */
struct graph {
    uint32_t count;
    uint32_t *succ_first, *succ, *pred_first, *pred;
};

struct walk {
    uint32_t reached;        /* nodes numbered so far */
    uint32_t *number, *node; /* node -> number (UINT32_MAX: not reached), and back */
    uint32_t *parent;        /* by number */
    uint32_t *semi, *label, *ancestor, *idom;
    uint32_t *stack, *position; /* scratch */
};

static void count_edges(struct bl_kir_func *func, struct graph *graph)
{
    for (uint32_t b = 0; b < func->blocks.count; b++) {
        struct bl_kir_instr *last = func->blocks.items[b]->last;
        uint32_t out = last ? last->target_count : 0;
        graph->succ_first[b + 1] = graph->succ_first[b] + out;
        for (uint32_t t = 0; t < out; t++)
            graph->pred_first[last->targets[t]->id + 1]++;
    }
    for (uint32_t b = 0; b < graph->count; b++)
        graph->pred_first[b + 1] += graph->pred_first[b];
}

static void build_graph(struct bl_kir_func *func, struct graph *graph)
{
    struct bl_arena *arena = func->module->arena;
    uint32_t *filled;

    graph->count = func->blocks.count;
    graph->succ_first = BL_NEW_ARRAY(arena, uint32_t, graph->count + 1);
    graph->pred_first = BL_NEW_ARRAY(arena, uint32_t, graph->count + 1);
    count_edges(func, graph);
    graph->succ = BL_NEW_ARRAY(arena, uint32_t, graph->succ_first[graph->count]);
    graph->pred = BL_NEW_ARRAY(arena, uint32_t, graph->pred_first[graph->count]);
    filled = BL_NEW_ARRAY(arena, uint32_t, graph->count);
    for (uint32_t b = 0; b < graph->count; b++) {
        struct bl_kir_instr *last = func->blocks.items[b]->last;
        for (uint32_t t = 0; last && t < last->target_count; t++) {
            uint32_t to = last->targets[t]->id;
            graph->succ[graph->succ_first[b] + t] = to;
            graph->pred[graph->pred_first[to] + filled[to]++] = b;
        }
    }
}

/* Depth-first from root, numbering on the way down and writing nodes to post (if any) on the way up. */
static uint32_t number_from(const struct graph *graph, struct walk *w, uint32_t root, uint32_t parent, uint32_t *post,
                            uint32_t done)
{
    uint32_t depth = 0;

    w->number[root] = w->reached;
    w->node[w->reached] = root;
    w->parent[w->reached++] = parent;
    w->stack[depth] = root;
    w->position[depth++] = 0;
    while (depth > 0) {
        uint32_t node = w->stack[depth - 1], out = graph->succ_first[node + 1] - graph->succ_first[node];
        uint32_t place = w->position[depth - 1];
        if (place == out) {
            if (post)
                post[done++] = node;
            depth--;
            continue;
        }
        w->position[depth - 1]++;
        /* from the last target to the first, so that the first comes first in reverse post-order */
        uint32_t to = graph->succ[graph->succ_first[node] + out - 1 - place];
        if (w->number[to] != UINT32_MAX)
            continue;
        w->number[to] = w->reached;
        w->node[w->reached] = to;
        w->parent[w->reached++] = w->number[node];
        w->stack[depth] = to;
        w->position[depth++] = 0;
    }
    return done;
}

/* The node of least semidominator on the way from number v up to the linked forest's root, numbers above `last` being linked. */
static uint32_t evaluate(struct walk *w, uint32_t v, uint32_t last)
{
    uint32_t depth = 0, u = v;

    if (v < last)
        return v;
    while (w->ancestor[u] >= last) {
        w->stack[depth++] = u;
        u = w->ancestor[u];
    }
    for (uint32_t above = u; depth > 0; above = w->stack[depth]) {
        uint32_t below = w->stack[--depth];
        if (w->semi[w->label[above]] < w->semi[w->label[below]])
            w->label[below] = w->label[above];
        w->ancestor[below] = w->ancestor[u];
    }
    return w->label[v];
}

/* Needs all reachable nodes numbered; the root is number 0. Leaves idom by number. */
static void semi_nca(const struct graph *graph, struct walk *w)
{
    for (uint32_t i = 0; i < w->reached; i++) {
        w->semi[i] = w->label[i] = i;
        w->ancestor[i] = w->idom[i] = w->parent[i];
    }
    for (uint32_t i = w->reached; i-- > 1;) {
        uint32_t node = w->node[i], least = w->parent[i];
        for (uint32_t p = graph->pred_first[node]; p < graph->pred_first[node + 1]; p++) {
            uint32_t v = w->number[graph->pred[p]];
            if (v != UINT32_MAX)
                least = BL_MIN(least, w->semi[evaluate(w, v, i + 1)]);
        }
        w->semi[i] = least;
    }
    for (uint32_t i = 1; i < w->reached; i++)
        while (w->idom[i] > w->semi[i])
            w->idom[i] = w->idom[w->idom[i]];
}

static void walk_init(struct bl_arena *arena, struct walk *w, uint32_t count)
{
    uint32_t **arrays[] = {&w->number, &w->node, &w->parent, &w->semi, &w->label, &w->ancestor, &w->idom, &w->stack, &w->position};

    for (uint32_t i = 0; i < BL_LEN(arrays); i++)
        *arrays[i] = BL_NEW_ARRAY(arena, uint32_t, count);
    memset(w->number, 0xff, count * sizeof(uint32_t));
    w->reached = 0;
}

static void find_forward(struct bl_arena *arena, const struct graph *graph, struct bl_kir_dom *dom)
{
    struct walk w;
    uint32_t *post = BL_NEW_ARRAY(arena, uint32_t, graph->count), done;

    walk_init(arena, &w, graph->count);
    done = number_from(graph, &w, 0, 0, post, 0);
    for (uint32_t i = 0; i < done; i++) {
        dom->rpo[i] = post[done - 1 - i];
        dom->rpo_index[dom->rpo[i]] = i;
    }
    dom->reachable_count = done;
    semi_nca(graph, &w);
    for (uint32_t i = 0; i < w.reached; i++)
        dom->idom[w.node[i]] = w.node[w.idom[i]];
}

/* The reverse graph with a node for the exit, last. Blocks that no exit follows (endless loops) get an edge to it from one block of
 * theirs, the last in reverse post-order, so that every reachable block has a post-dominator. */
static void find_backward(struct bl_arena *arena, struct bl_kir_func *func, const struct graph *graph, struct bl_kir_dom *dom)
{
    uint32_t count = graph->count, exit = count, ends = 0;
    struct graph reverse = {.count = count + 1};
    uint32_t *roots = BL_NEW_ARRAY(arena, uint32_t, count);
    struct walk w;

    reverse.succ = graph->pred;
    reverse.succ_first = BL_NEW_ARRAY(arena, uint32_t, count + 2);
    memcpy(reverse.succ_first, graph->pred_first, (count + 1) * sizeof(uint32_t));
    reverse.succ_first[count + 1] = reverse.succ_first[count];
    walk_init(arena, &w, count + 1);
    w.number[exit] = 0;
    w.node[w.reached++] = exit;
    for (uint32_t i = 0; i < dom->reachable_count; i++)
        if (graph->succ_first[dom->rpo[i]] == graph->succ_first[dom->rpo[i] + 1])
            roots[ends++] = dom->rpo[i];
    for (uint32_t i = 0; i < ends; i++)
        number_from(&reverse, &w, roots[i], 0, NULL, 0);
    for (uint32_t i = dom->reachable_count; i-- > 0;)
        if (w.number[dom->rpo[i]] == UINT32_MAX) {
            roots[ends++] = dom->rpo[i];
            number_from(&reverse, &w, dom->rpo[i], 0, NULL, 0);
        }
    /* the predecessors in the reverse graph are the successors, and the exit for each root */
    reverse.pred_first = BL_NEW_ARRAY(arena, uint32_t, count + 2);
    reverse.pred = BL_NEW_ARRAY(arena, uint32_t, graph->succ_first[count] + ends);
    for (uint32_t i = 0; i < ends; i++)
        reverse.pred_first[roots[i] + 1] = 1;
    for (uint32_t b = 0; b < count; b++) {
        uint32_t own = graph->succ_first[b + 1] - graph->succ_first[b], at = reverse.pred_first[b];
        memcpy(reverse.pred + at, graph->succ + graph->succ_first[b], own * sizeof(uint32_t));
        if (reverse.pred_first[b + 1])
            reverse.pred[at + own++] = exit;
        reverse.pred_first[b + 1] = at + own;
    }
    reverse.pred_first[count + 1] = reverse.pred_first[count];
    semi_nca(&reverse, &w);
    for (uint32_t i = 1; i < w.reached; i++)
        if (dom->rpo_index[w.node[i]] != UINT32_MAX)
            dom->ipdom[w.node[i]] = w.idom[i] == 0 ? UINT32_MAX : w.node[w.idom[i]];
}

/* Numbers the dominator tree so that dominance is two comparisons. */
static void number_tree(struct bl_arena *arena, struct bl_kir_dom *dom)
{
    uint32_t *size = BL_NEW_ARRAY(arena, uint32_t, dom->block_count), *next = BL_NEW_ARRAY(arena, uint32_t, dom->block_count);

    dom->tree_first = BL_NEW_ARRAY(arena, uint32_t, dom->block_count);
    dom->tree_last = BL_NEW_ARRAY(arena, uint32_t, dom->block_count);
    for (uint32_t i = dom->reachable_count; i-- > 0;) {
        uint32_t b = dom->rpo[i];
        size[b]++;
        if (i > 0)
            size[dom->idom[b]] += size[b];
    }
    for (uint32_t i = 0; i < dom->reachable_count; i++) {
        uint32_t b = dom->rpo[i], above = dom->idom[b];
        if (i > 0) {
            dom->tree_first[b] = next[above];
            next[above] += size[b];
        }
        next[b] = dom->tree_first[b] + 1;
        dom->tree_last[b] = dom->tree_first[b] + size[b] - 1;
    }
}

struct bl_kir_dom *bl_kir_dominators(struct bl_kir_func *func)
{
    struct bl_arena *arena = func->module->arena;
    struct bl_kir_dom *dom = BL_NEW(arena, struct bl_kir_dom);
    struct graph graph;
    uint32_t count = func->blocks.count, **arrays[] = {&dom->idom, &dom->ipdom, &dom->rpo, &dom->rpo_index};

    dom->block_count = count;
    for (uint32_t i = 0; i < BL_LEN(arrays); i++) {
        *arrays[i] = BL_NEW_ARRAY(arena, uint32_t, count);
        memset(*arrays[i], 0xff, count * sizeof(uint32_t));
    }
    if (count == 0)
        return dom;
    build_graph(func, &graph);
    find_forward(arena, &graph, dom);
    find_backward(arena, func, &graph, dom);
    number_tree(arena, dom);
    return dom;
}

bool bl_kir_dominates(const struct bl_kir_dom *dom, uint32_t a, uint32_t b)
{
    return dom->idom[a] != UINT32_MAX && dom->idom[b] != UINT32_MAX && dom->tree_first[a] <= dom->tree_first[b] &&
           dom->tree_first[b] <= dom->tree_last[a];
}
