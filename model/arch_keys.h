/* arch_keys.h - the keys of a config.json, whatever a family calls them; internal to
 * model/arch*.c.
 *
 * Families name the same thing differently, so reading is a loop over tables (arch_keys.c):
 * features whose cost is not modelled, meanings and the keys that carry them, and what a
 * model_type implies without saying so. Every fault is MS_E_INPUT at "path:key". null counts as
 * absent.
 */
#ifndef MS_MODEL_ARCH_KEYS_H
#define MS_MODEL_ARCH_KEYS_H

#include "model/arch.h"

#include <jansson.h>

enum ms_arch_int_key {
    MS_KEY_HIDDEN,
    MS_KEY_N_LAYERS,
    MS_KEY_VOCAB,
    MS_KEY_HEADS,
    MS_KEY_KV_HEADS,
    MS_KEY_HEAD_DIM,
    MS_KEY_FFN,
    MS_KEY_DENSE_FFN,
    MS_KEY_MOE_FFN,
    MS_KEY_N_EXPERTS,
    MS_KEY_TOPK,
    MS_KEY_N_SHARED,
    MS_KEY_SHARED_FFN,
    MS_KEY_SHARED_EACH,
    MS_KEY_FIRST_MOE,
    MS_KEY_LAST_MOE,
    MS_KEY_SPARSE_STEP,
    MS_KEY_MOE_FREQ,
    MS_KEY_INTERLEAVE,
    MS_KEY_WINDOW,
    MS_KEY_WINDOW_FROM,
    MS_KEY_WINDOW_PATTERN,
    MS_KEY_CHUNK,
    MS_KEY_GLOBAL_STEP,
    MS_KEY_Q_LORA,
    MS_KEY_KV_LORA,
    MS_KEY_QK_NOPE,
    MS_KEY_QK_ROPE,
    MS_KEY_V_DIM,
    MS_KEY_GROUPS,
    MS_KEY_TOPK_GROUPS,
    MS_KEY_N_MTP,
    MS_KEY_N_INTS
};

enum ms_arch_bool_key {
    MS_KEY_TIED,
    MS_KEY_LINEAR_BIAS,
    MS_KEY_QKV_BIAS,
    MS_KEY_QK_NORM,
    MS_KEY_USE_WINDOW,
    MS_KEY_MLP_BIAS,
    MS_KEY_ROUTER_BIAS,
    MS_KEY_HEAD_BIAS,
    MS_KEY_N_BOOLS
};

/* What a model_type implies where its config is silent. */
enum {
    MS_FAMILY_TIED = 1 << 0, /* shared embedding unless the config says otherwise */
    MS_FAMILY_QKV_BIAS = 1 << 1,
    MS_FAMILY_OUT_BIAS = 1 << 2,
    MS_FAMILY_NO_OUT_BIAS = 1 << 3, /* attention_bias means q, k, v only */
    MS_FAMILY_QK_NORM = 1 << 4,
    MS_FAMILY_QK_NORM_WIDE = 1 << 5, /* over all heads at once */
    MS_FAMILY_QK_NORM_BARE = 1 << 6, /* without weights */
    MS_FAMILY_SHARED_GATE = 1 << 7,
    MS_FAMILY_SHARED_ONE = 1 << 8, /* one shared expert as wide as a routed one */
    MS_FAMILY_SINKS = 1 << 9,
    MS_FAMILY_EXPERT_BIAS = 1 << 10,
    MS_FAMILY_ROUTER_BIAS = 1 << 11,
    MS_FAMILY_NORM_BIAS = 1 << 12,
    MS_FAMILY_FOUR_NORMS = 1 << 13,
    MS_FAMILY_ALTERNATE = 1 << 14,       /* every other layer has the window */
    MS_FAMILY_TWO_MATRIX = 1 << 15,      /* refused: MLPs without a gate */
    MS_FAMILY_OTHER_ATTENTION = 1 << 16, /* refused: gated, or a mixture of heads */
};

enum { MS_ARCH_ABSENT = -1 };

/* Largest width accepted: none is near it, and sums of products stay in range. */
#define MS_ARCH_DIM_MAX 2147483648.0

struct ms_arch_keys {
    const char *path;
    const json_t *top;    /* the whole file; borrowed */
    const json_t *config; /* where the widths are: `top` or a part of it such as text_config */
    const char *prefix;   /* "" or "text_config." */
    struct ms_error *err;
    int64_t value
        [MS_KEY_N_INTS]; /* MS_ARCH_ABSENT if not given; a moe_layer_end_index of -1 is the same */
    const char *key[MS_KEY_N_INTS]; /* the name it was given under, else the usual name */
    int flag[MS_KEY_N_BOOLS];       /* 0, 1 or MS_ARCH_ABSENT */
    uint32_t family;
};

/* Finds the language model's part of `r->top` and its family, refuses what is not modelled and
 * reads all keys into `r`. `path`, `top` and `err` (not NULL) must be set. */
MS_MUST_CHECK enum ms_status ms_arch_keys_read(struct ms_arch_keys *r);

/* Fills r->err for `key` and returns MS_E_INPUT. */
MS_MUST_CHECK MS_PRINTF(3, 4) enum ms_status
    ms_arch_keys_fail(const struct ms_arch_keys *r, const char *key, const char *fmt, ...);

/* The value of `key` or "object.key", borrowed; NULL if absent or null. */
const json_t *ms_arch_keys_find(const struct ms_arch_keys *r, const char *key);

/* A string that belongs to the model as a whole: from the inner config, else from the file; or
 * NULL. */
const char *ms_arch_keys_text(const struct ms_arch_keys *r, const char *key);

bool ms_arch_keys_given(const struct ms_arch_keys *r, enum ms_arch_int_key k);
int64_t ms_arch_keys_or(const struct ms_arch_keys *r, enum ms_arch_int_key k, int64_t otherwise);
MS_MUST_CHECK enum ms_status ms_arch_keys_need(const struct ms_arch_keys *r,
                                               enum ms_arch_int_key k);

/* "an integer", "a list", ... for messages. */
const char *ms_arch_keys_type(const json_t *v);

#endif
