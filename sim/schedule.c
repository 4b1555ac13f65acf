#include "sim/schedule.h"

#include "base/mem.h"

/* Microbatch and chunk of the k-th pass of a stage: groups of PP microbatches go through all chunks in
 * turn, backward through the chunks from the last. */
static void pass_at(const struct ms_layout *l, int64_t k, bool backward, int64_t *mb, int64_t *v)
{
    int64_t group = l->vp > 1 ? l->pp : 1; /* without virtual stages the order is plain */
    int64_t in_round = k % (group * l->vp);
    *mb = k / (group * l->vp) * group + in_round % group;
    *v = in_round / group;
    if (backward)
        *v = l->vp - 1 - *v;
}

static int64_t warmup_passes(const struct ms_layout *l, bool merge, int64_t stage, int64_t total)
{
    int64_t n = l->pp - stage - 1;
    if (l->vp > 1)
        n = 2 * n + (l->vp - 1) * l->pp;
    n += merge;
    return n < total ? n : total;
}

int64_t ms_schedule_stage(const struct ms_layout *layout, bool merge, int64_t stage,
                          struct ms_slot **out)
{
    int64_t total = layout->n_microbatches * layout->vp, n = 0;
    int64_t warmup = warmup_passes(layout, merge, stage, total);
    struct ms_slot *slots = ms_calloc((size_t)(2 * total), sizeof(*slots));
    for (int64_t k = 0; k < warmup + total; k++) {
        struct ms_slot *s = &slots[n];
        struct ms_slot none = {-1, -1, -1, -1};
        *s = none;
        if (k < total)
            pass_at(layout, k, false, &s->forward_mb, &s->forward_v);
        if (k < warmup) {
            n++;
            continue;
        }
        if (k < total && !merge)
            *(s = &slots[++n]) = none;
        pass_at(layout, k - warmup, true, &s->backward_mb, &s->backward_v);
        n++;
    }
    *out = slots;
    return n;
}
