/* predict.h - one prediction, from a recipe to numbers: the function behind `moesim predict`.
 *
 * Loads topology, model and calibration, works out the layout, costs the work, runs it at the chosen
 * fidelity and adds up where the time went. The result holds everything that a report prints.
 */
#ifndef MS_SIM_PREDICT_H
#define MS_SIM_PREDICT_H

#include "model/memory.h"
#include "model/recipe.h"
#include "sim/ops.h"

enum { MS_SCALING_MAX = MS_LIST_MAX, MS_NOTES_MAX = 32 };

/* A list of sentences: what was assumed, extrapolated, warned of. */
struct ms_notes {
    char text[MS_NOTES_MAX][MS_TEXT_MAX];
    int64_t n;
};
MS_PRINTF(2, 3) void ms_notes_add(struct ms_notes *notes, const char *fmt, ...);

struct ms_routing_summary {
    double max_over_mean_expert; /* mean over layers, microbatch 0, group 0 */
    double max_over_mean_rank;
    double distinct_ranks_per_token;
    double distinct_domains_per_token;
    int64_t layers; /* MoE layers looked at */
};

struct ms_prediction {
    struct ms_recipe recipe; /* every effective setting */
    struct ms_topology topo;
    struct ms_arch arch;
    struct ms_device device;
    struct ms_cluster cluster;
    struct ms_layout layout;
    char known_recipe[MS_TEXT_MAX];   /* name of the shipped recipe used, or "" */
    bool given[MS_RECIPE_FIELDS_MAX]; /* settings that the user gave */

    double step_time_s;
    double step_time_low_s, step_time_high_s; /* 80 % interval */
    double tokens_per_s_per_gpu;
    double model_tflops_per_gpu;    /* by the FLOP convention, recompute excluded */
    double hardware_tflops_per_gpu; /* work really done, recompute included */
    double mfu;                     /* model flop/s over the dense peak of --precision */
    double gflop_per_token;
    double bubble_fraction;
    double breakdown_s[MS_N_CATEGORIES]; /* exposed, on the critical rank; sums to step_time_s */
    double exposed_comm_s, hidden_comm_s;
    struct ms_memory memory;
    struct ms_routing_summary routing;
    char routing_note[MS_TEXT_MAX];
    double tier_bytes_per_rank[MS_N_TIERS]; /* sent per step by the mean rank */
    int64_t critical_rank;
    int64_t n_tasks;    /* of the simulated program */
    int64_t n_replicas; /* simulated; the others are alike */
    struct ms_notes assumptions, warnings, extrapolated;
};

/* Where the timeline goes, and other by-products; all NULL or 0 means none. */
struct ms_predict_extras {
    struct ms_buf *timeline; /* Chrome trace events of one replica (JSON text) */
    int64_t timeline_replica;
    struct ms_buf *dump; /* text of --dump */
    int dump_what;       /* enum ms_dump */
};
enum ms_dump { MS_DUMP_NONE, MS_DUMP_LAYOUT, MS_DUMP_TRAFFIC, MS_DUMP_OPS, MS_DUMP_PLATFORM };

/* Predicts one step of `recipe`. `given` [fields of the recipe table] says which settings the user set:
 * the others are filled from the shipped recipe, or chosen (EP, PP, ...), and noted as assumptions.
 * Errors: everything the loaders and checks refuse; MS_E_RUNTIME if the result is senseless (zero,
 * not finite, no exchange with EP > 1). `*out` is large (MiBs): keep it off the stack. */
MS_MUST_CHECK enum ms_status ms_predict(const struct ms_recipe *recipe, const bool *given,
                                        const struct ms_predict_extras *extras,
                                        struct ms_prediction *out, struct ms_error *err);

/* Weak scaling: the same recipe at `gpus[i]` GPUs with gbs in proportion; efficiency is tokens/s per GPU
 * over that of the first. */
struct ms_scaling_point {
    int64_t gpus;
    double step_time_s, tokens_per_s_per_gpu, efficiency;
};
MS_MUST_CHECK enum ms_status ms_predict_scaling(const struct ms_recipe *recipe, const bool *given,
                                                const struct ms_int_list *gpus,
                                                struct ms_scaling_point *out, struct ms_error *err);

#endif
