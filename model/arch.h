/* arch.h - the model's architecture, read from a Hugging Face config.json as it is.
 *
 * Only what decides time and memory: widths, heads, experts, and what each layer is. The same struct is
 * filled from config.json of every known family and of unknown ones that use the same keys.
 */
#ifndef MS_MODEL_ARCH_H
#define MS_MODEL_ARCH_H

#include "base/field.h"

enum { MS_LAYERS_MAX = 1024 };

enum ms_attention_kind {
    MS_ATTENTION_GQA, /* heads, kv_heads, head_dim (MHA is kv_heads == heads) */
    MS_ATTENTION_MLA, /* q_lora_rank (0: none), kv_lora_rank, qk_nope/rope, v_head_dim */
};

struct ms_layer_kind {
    bool moe;
    int64_t attention_span; /* tokens a query sees at most (sliding window or chunk); 0: all */
    bool chunked;           /* the span is a chunk (block-diagonal), not a sliding window */
};

struct ms_arch {
    char name[MS_TEXT_MAX];                 /* built-in name or file stem */
    char model_type[MS_TEXT_MAX];           /* as in the config */
    int64_t hidden, vocab, n_layers, n_mtp; /* n_mtp: multi-token-prediction layers in the config */
    bool tied_embeddings, head_bias;
    enum ms_attention_kind attention;
    bool attention_bias;     /* on q, k, v (MLA: on the two down-projections) */
    bool attention_out_bias; /* on the output projection */
    bool qk_norm, attention_sinks;
    int64_t
        qk_norm_params; /* weights of one layer's q and k norms; 0 if they have none (Llama 4) */
    int64_t norms_per_layer;           /* 2, or 4 where attention and MLP outputs are normed too */
    bool norm_bias;                    /* LayerNorm with bias instead of RMSNorm */
    bool mlp_bias;                     /* on the dense MLPs */
    int64_t heads, kv_heads, head_dim; /* GQA */
    int64_t q_lora_rank, kv_lora_rank; /* MLA */
    int64_t qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
    int64_t dense_ffn;  /* width of gated (3-matrix) dense MLPs */
    int64_t moe_ffn;    /* width of one gated expert */
    int64_t shared_ffn; /* total width of the shared experts; 0: none */
    bool shared_gate;   /* a hidden -> 1 gate on the shared expert (Qwen2-MoE) */
    bool expert_bias;
    bool
        router_bias; /* one number per expert: linear bias, or the balancing correction of DeepSeek-V3 */
    int64_t n_experts, topk;                    /* 0 for dense models */
    int64_t n_groups, topk_groups;              /* group-limited routing; 1, 1 if none */
    struct ms_layer_kind layers[MS_LAYERS_MAX]; /* [n_layers]; an MTP layer is like the last one */
};

/* Width of one query/key head and one value head in the attention core. */
int64_t ms_arch_qk_dim(const struct ms_arch *arch);
int64_t ms_arch_v_dim(const struct ms_arch *arch);
int64_t ms_arch_n_moe_layers(const struct ms_arch *arch); /* without MTP layers */

/* Parameters, exact counts of weights (matrices, norms, biases). */
struct ms_params {
    double embedding; /* token embedding; output head too unless tied */
    double head;      /* output head, 0 if tied */
    double final_norm;
    double attention; /* one layer: projections, norms of q/kv, biases */
    double norms;     /* one layer: the norms around attention and MLP */
    double dense_mlp; /* one dense layer's MLP */
    double router;    /* one MoE layer's gate, with correction bias */
    double expert;    /* one routed expert */
    double shared;    /* shared experts of one MoE layer, with their gate */
    double mtp_extra; /* one MTP module besides its transformer layer: projection 2h x h, norms */
    double total;     /* the model as published: without MTP modules */
    double active;    /* per token: `total` less the experts that a token does not visit */
    double
        active_without_embedding; /* the same less the input embedding table (GPT-OSS counts so) */
    double total_with_mtp;        /* with n_mtp modules (embedding and head are shared) */
};
void ms_arch_params(const struct ms_arch *arch, struct ms_params *out);

/* Forward matrix work per token, multiply-add = 2 flop, causal attention halved; forward + backward is
 * three times as much. Source: Megatron's num_floating_point_operations and published/README section 3. */
struct ms_flops {
    double attention_proj; /* all layers, [flop/token] forward */
    double attention_core; /* causal */
    double dense_mlp;
    double experts;
    double shared;
    double router; /* not counted in `total_train` (Megatron's convention) */
    double head;
    double mtp;         /* one more layer, 2h x h projection and head, per MTP module */
    double total_train; /* 3 x (all but router), [flop/token] */
};
/* `seq_len` > 0 tokens per sequence; `n_mtp` modules counted. */
void ms_arch_flops(const struct ms_arch *arch, int64_t seq_len, int64_t n_mtp,
                   struct ms_flops *out);

/* Mean number of keys that one of `seq_len` > 0 causal queries sees through the layer's span, the
 * causal triangle counted as half a square as Megatron does: S/2; window W < S: W - W^2/(2S); chunks of C:
 * the mean of their halves, a last partial chunk included. The exact mean, sum over i of min(i, W) / S with
 * the own key in full, is min(W, S)/(2S) <= 1/2 more. */
double ms_arch_mean_context(const struct ms_layer_kind *layer, int64_t seq_len);

/* One layer's core attention work forward: 2 context heads (d_qk + d_v) [flop/token]. */
double ms_arch_attention_core_flop(const struct ms_arch *arch, const struct ms_layer_kind *layer,
                                   int64_t seq_len);

/* Loads a built-in model by name ("deepseek-v3", listed by ms_arch_list) or a config.json by path
 * (anything with '/' or ".json"; a folder means its config.json). Names ignore case, '-', '_', '.' and
 * match a file of model/models or its "aliases". MS_E_INPUT with "path:key" for missing, mistyped,
 * out-of-range or inconsistent keys and for features whose cost is not modelled (linear attention, Mamba,
 * ...: docs/models.md); other unknown keys are allowed. ms_arch_parse: `name` stands for the path. */
MS_MUST_CHECK enum ms_status ms_arch_load(const char *name_or_path, struct ms_arch *out,
                                          struct ms_error *err);
MS_MUST_CHECK enum ms_status ms_arch_parse(const char *name, const struct ms_buf *json,
                                           struct ms_arch *out, struct ms_error *err);

/* Appends a table of the built-in models. */
MS_MUST_CHECK enum ms_status ms_arch_list(struct ms_buf *out, struct ms_error *err);

/* NULL-terminated sorted names of the built-in models; free with ms_data_list_free. */
char **ms_arch_names(void);

/* Appends what `moesim model show` prints; format as cli.md (`json`: total_params, active_params,
 * layers[{kind, count, params}], gflop_per_token, flop_convention, ...). */
void ms_arch_show(const struct ms_arch *arch, int64_t seq_len, int64_t n_mtp, bool json,
                  struct ms_buf *out);

#endif
