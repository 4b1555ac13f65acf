/* layout.h - who holds what: parallel groups, pipeline stages and their layers, ranks on GPUs.
 *
 * Ranks are in Megatron's order tp-cp-ep-dp-pp: rank = tp + TP (cp + CP (dp + DP pp)) for the dense part,
 * and for experts ("parallel folding") rank = etp + ETP (ep + EP (edp + EDP pp)). World = TP CP DP PP =
 * ETP EP EDP PP. Rank r runs on GPU r of the cluster.
 *
 * A *cell* is the smallest set of consecutive ranks of one stage that is closed under TP, CP, EP and ETP:
 * lcm(TP CP, ETP EP) ranks. Cells of one stage meet only in gradient reduction; the cells with the same
 * index on all stages form a *replica*, which is closed under everything else.
 */
#ifndef MS_MODEL_LAYOUT_H
#define MS_MODEL_LAYOUT_H

#include "model/arch.h"
#include "model/recipe.h"
#include "topologies/cluster.h"

enum { MS_CHUNKS_MAX = 512 };

/* One model chunk: what virtual stage v of pipeline rank p holds. Global chunk g = v PP + p. */
struct ms_chunk {
    bool embedding, loss;
    int64_t first_layer, n_layers; /* decoder layers, in order of the model */
    int64_t n_mtp;                 /* multi-token-prediction modules */
};

struct ms_layout {
    const struct ms_cluster *cluster; /* borrowed */
    const struct ms_arch *arch;       /* borrowed */
    int64_t tp, cp, ep, etp, pp, vp, dp, edp;
    int64_t stage_ranks;                   /* world / PP */
    int64_t cell_ranks, n_cells;           /* cells per stage = replicas */
    int64_t n_microbatches;                /* per data-parallel rank and step */
    int64_t tokens_per_rank;               /* mbs seq_len / (tp cp), per microbatch */
    struct ms_chunk chunks[MS_CHUNKS_MAX]; /* [pp vp], by global chunk */
};

/* Works out and checks the layout. MS_E_USAGE with the numbers and the nearest legal values for every
 * division that does not come out: gpus by tp cp pp, by etp ep pp; experts by ep; heads by tp; layers
 * against stages; gbs by mbs dp; seq_len by 2 cp; microbatches by pp (interleaved). `recipe->gbs` 0 is
 * taken as 16 sequences per GPU by the caller before. */
MS_MUST_CHECK enum ms_status ms_layout_init(const struct ms_cluster *cluster,
                                            const struct ms_arch *arch,
                                            const struct ms_recipe *recipe, struct ms_layout *out,
                                            struct ms_error *err);

const struct ms_chunk *ms_layout_chunk(const struct ms_layout *layout, int64_t stage, int64_t v);

/* First rank of cell `cell` of `stage`. */
int64_t ms_layout_cell_first(const struct ms_layout *layout, int64_t stage, int64_t cell);

/* A parallel group seen from one rank: how many ranks, and how many of them share its domain. */
struct ms_group {
    int64_t n_ranks;
    int64_t ranks_per_domain; /* largest number of members in one domain */
    int64_t n_domains;
};
enum ms_group_kind {
    MS_GROUP_TP,
    MS_GROUP_CP,
    MS_GROUP_EP,
    MS_GROUP_ETP,
    MS_GROUP_PP,
    MS_GROUP_DP,  /* dense gradients: DP x CP ranks */
    MS_GROUP_EDP, /* expert gradients */
    MS_N_GROUPS
};
extern const char *const MS_GROUP_NAMES[MS_N_GROUPS];

/* The rank that is member `i` of the group of kind `kind` that `rank` belongs to. */
int64_t ms_layout_member(const struct ms_layout *layout, enum ms_group_kind kind, int64_t rank,
                         int64_t i);
int64_t ms_layout_group_size(const struct ms_layout *layout, enum ms_group_kind kind);
struct ms_group ms_layout_group(const struct ms_layout *layout, enum ms_group_kind kind,
                                int64_t rank);

/* The group of that kind that is spread worst (most domains) over all ranks. */
struct ms_group ms_layout_worst_group(const struct ms_layout *layout, enum ms_group_kind kind);

/* Appends groups with their tiers, and the stages with their layers (--dump layout). */
void ms_layout_print(const struct ms_layout *layout, struct ms_buf *out);

/* Layers from a pipeline layout string: E embedding, t layer, m MTP module, L loss, `*n` repeats the
 * symbol or (group) before it, | ends a chunk. Fills chunks[0..n_chunks). */
MS_MUST_CHECK enum ms_status ms_layout_parse_stages(const char *text, int64_t n_chunks,
                                                    int64_t n_layers, int64_t n_mtp,
                                                    struct ms_chunk *chunks, struct ms_error *err);

#endif
