/* recipe.h - every setting of a prediction: what is trained, on what, and how.
 *
 * One table (ms_recipe_fields) is the command line, the YAML recipe file, --print-config and the `config`
 * of the JSON output. Names are Megatron-Core's. Precedence: command line, then --recipe FILE, then the
 * recipe that comes with moesim for this model and system (model/recipes/), then the defaults below.
 */
#ifndef MS_MODEL_RECIPE_H
#define MS_MODEL_RECIPE_H

#include "base/field.h"
#include "model/cost.h"

enum ms_schedule_kind { MS_SCHEDULE_1F1B, MS_SCHEDULE_INTERLEAVED };
enum ms_fidelity { MS_FIDELITY_ESTIMATE, MS_FIDELITY_STEP, MS_FIDELITY_FLOW };
enum ms_grad_dtype { MS_GRAD_FP32, MS_GRAD_BF16 };

/* --recompute MODULES: bit of each module (Megatron's --recompute-modules). */
enum ms_recompute {
    MS_RECOMPUTE_FULL = 1 << 0,
    MS_RECOMPUTE_MLA_UP_PROJ = 1 << 1,
    MS_RECOMPUTE_LAYERNORM = 1 << 2,
    MS_RECOMPUTE_MOE_ACT = 1 << 3,
    MS_RECOMPUTE_MLP = 1 << 4,
    MS_RECOMPUTE_MOE = 1 << 5,
    MS_RECOMPUTE_CORE_ATTN = 1 << 6,
};
/* --overlap LIST */
enum ms_overlap {
    MS_OVERLAP_EP = 1 << 0, /* expert exchange of one microbatch under compute of another (1F1B) */
    MS_OVERLAP_WGRAD = 1 << 1,  /* weight gradients deferred to fill gaps of it */
    MS_OVERLAP_TP = 1 << 2,     /* tensor-parallel gathers under their GEMMs */
    MS_OVERLAP_DP = 1 << 3,     /* gradient reduction under the last backward passes */
    MS_OVERLAP_PARAM = 1 << 4,  /* parameter gather under the first forward passes */
    MS_OVERLAP_SHARED = 1 << 5, /* shared expert under dispatch and combine */
};
/* --cuda-graph: what is launched as a graph; the rest pays host launches. */
enum ms_cuda_graph {
    MS_GRAPH_FULL = 1 << 0,
    MS_GRAPH_ATTN = 1 << 1,
    MS_GRAPH_MLP = 1 << 2,
    MS_GRAPH_MOE_ROUTER = 1 << 3,
    MS_GRAPH_MOE_PREPROCESS = 1 << 4,
    MS_GRAPH_MOE = 1 << 5,
};

struct ms_recipe {
    char model[MS_TEXT_MAX];
    char topology[MS_TEXT_MAX];
    int64_t gpus;
    int64_t tp, pp, vp, cp, ep, etp; /* 0 = not decided yet (ms_layout_init refuses it) */
    char pp_layout[MS_TEXT_MAX];
    int64_t mbs, gbs, seq_len;
    int precision;        /* enum ms_dtype */
    int expert_precision; /* index in "same", then enum ms_dtype + 1 */
    bool fp8_attention, fp8_output_proj;
    int dispatcher; /* enum ms_dispatcher */
    int64_t dispatcher_sms;
    bool no_dedup;
    int expert_gemm; /* enum ms_expert_gemm */
    bool fused_expert_mlp;
    double capacity_factor; /* 0 = dropless */
    uint32_t recompute, overlap, cuda_graph;
    int schedule; /* enum ms_schedule_kind */
    int64_t zero; /* 0..3 */
    int grad_reduce_dtype;
    int64_t mtp; /* multi-token-prediction modules trained */
    char trace[MS_TEXT_MAX];
    int64_t seed;
    int64_t gpus_per_domain, spare_gpus_per_domain;
    int fidelity;
};

/* The table; *n entries. */
const struct ms_field *ms_recipe_fields(size_t *n);
enum { MS_RECIPE_FIELDS_MAX = 64 };

/* The format experts compute in. */
enum ms_dtype ms_recipe_expert_dtype(const struct ms_recipe *recipe);

/* Reads a recipe file over `recipe`; `given` (n entries, may be NULL) is set for the keys present. */
MS_MUST_CHECK enum ms_status ms_recipe_read(const char *path, struct ms_recipe *recipe, bool *given,
                                            struct ms_error *err);

/* Where `given` is false, takes the value that the shipped recipe for (model, topology) has, if there is
 * one; writes its path into `used` [MS_TEXT_MAX], else "". Recipes are model/recipes/MODEL@TOPOLOGY.yaml. */
MS_MUST_CHECK enum ms_status ms_recipe_apply_known(struct ms_recipe *recipe, const bool *given,
                                                   char *used, struct ms_error *err);

/* Appends `name: value` lines, sorted as in the table: readable by ms_recipe_read. */
void ms_recipe_print(const struct ms_recipe *recipe, struct ms_buf *out);

#endif
