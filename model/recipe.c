/* recipe.c - the table of settings, and what reads and prints it: files, shipped recipes, YAML.
 *
 * A new setting is one line in FIELDS and one member of struct ms_recipe.
 */
#include "model/recipe.h"

#include "base/data.h"
#include "base/file.h"
#include "base/yaml.h"

#include <string.h>

static const char *const EXPERT_DTYPES[] = {"same",  "bf16",  "fp8-cs", "fp8-block",
                                            "mxfp8", "nvfp4", NULL};
static const char *const EXPERT_GEMMS[] = {"grouped", "loop", "padded", NULL};
static const char *const RECOMPUTE[] = {"full", "mla_up_proj", "layernorm", "moe_act",
                                        "mlp",  "moe",         "core_attn", NULL};
static const char *const OVERLAP[] = {"ep", "wgrad", "tp", "dp", "param", "shared", NULL};
static const char *const CUDA_GRAPH[] = {"full",           "attn", "mlp", "moe_router",
                                         "moe_preprocess", "moe",  NULL};
static const char *const SCHEDULES[] = {"1f1b", "interleaved", NULL};
static const char *const FIDELITIES[] = {"estimate", "step", "flow", NULL};
static const char *const GRAD_DTYPES[] = {"fp32", "bf16", NULL};

#define AT(member) .offset = offsetof(struct ms_recipe, member)
#define SIZE_FIELD(text, megatron, member, what)                                                   \
    {                                                                                              \
        .name = (text), .alias = (megatron), .kind = MS_FIELD_INT, AT(member), .min = 1,           \
        .max = 1 << 20, .default_text = "1", .help = (what)                                        \
    }

static const struct ms_field FIELDS[] = {
    {.name = "model",
     .kind = MS_FIELD_STRING,
     AT(model),
     .default_text = "deepseek-v3",
     .help = "model: built-in name or config.json"},
    {.name = "topology",
     .kind = MS_FIELD_STRING,
     AT(topology),
     .default_text = "gb300_nvl72",
     .help = "system: built-in name or YAML file"},
    {.name = "gpus",
     .alias = "world-size",
     .kind = MS_FIELD_INT,
     AT(gpus),
     .min = 1,
     .max = 1 << 20,
     .default_text = "1024",
     .help = "GPUs that train together"},
    SIZE_FIELD("tp", "tensor-model-parallel-size", tp,
               "tensor parallel size (with sequence parallel)"),
    SIZE_FIELD("pp", "pipeline-model-parallel-size", pp, "pipeline parallel size"),
    SIZE_FIELD("vp", "virtual-pipeline-model-parallel-size", vp,
               "virtual pipeline stages per rank"),
    SIZE_FIELD("cp", "context-parallel-size", cp, "context parallel size"),
    SIZE_FIELD("ep", "expert-model-parallel-size", ep, "expert parallel size"),
    SIZE_FIELD("etp", "expert-tensor-parallel-size", etp, "tensor parallel size of experts"),
    {.name = "pp-layout",
     .alias = "pipeline-model-parallel-layout",
     .kind = MS_FIELD_STRING,
     AT(pp_layout),
     .default_text = "",
     .help = "stages, e.g. Et*4|(t*4|)*14tmL; empty: even"},
    SIZE_FIELD("mbs", "micro-batch-size", mbs, "sequences per microbatch"),
    {.name = "gbs",
     .alias = "global-batch-size",
     .kind = MS_FIELD_INT,
     AT(gbs),
     .min = 0,
     .max = 1 << 26,
     .default_text = "0",
     .help = "sequences per step; 0: 16 per GPU"},
    {.name = "seq-len",
     .alias = "seq-length",
     .kind = MS_FIELD_INT,
     AT(seq_len),
     .min = 1,
     .max = 1 << 24,
     .default_text = "4096",
     .help = "tokens per sequence"},
    {.name = "precision",
     .kind = MS_FIELD_ENUM,
     AT(precision),
     .names = MS_DTYPE_NAMES,
     .default_text = "bf16",
     .help = "format of dense GEMMs"},
    {.name = "expert-precision",
     .kind = MS_FIELD_ENUM,
     AT(expert_precision),
     .names = EXPERT_DTYPES,
     .default_text = "same",
     .help = "format of expert GEMMs"},
    {.name = "fp8-attention",
     .alias = "fp8-dot-product-attention",
     .kind = MS_FIELD_BOOL,
     AT(fp8_attention),
     .default_text = "false",
     .help = "core attention in FP8"},
    {.name = "fp8-output-proj",
     .kind = MS_FIELD_BOOL,
     AT(fp8_output_proj),
     .default_text = "false",
     .help = "output head in the format of --precision instead of BF16"},
    {.name = "dispatcher",
     .alias = "moe-token-dispatcher-type",
     .kind = MS_FIELD_ENUM,
     AT(dispatcher),
     .names = MS_DISPATCHER_NAMES,
     .default_text = "alltoall",
     .help = "how tokens reach their experts"},
    {.name = "dispatcher-sms",
     .alias = "moe-hybridep-num-sms",
     .kind = MS_FIELD_INT,
     AT(dispatcher_sms),
     .min = 1,
     .max = 256,
     .default_text = "32",
     .help = "SMs that a fused dispatcher holds"},
    {.name = "no-dedup",
     .kind = MS_FIELD_BOOL,
     AT(no_dedup),
     .default_text = "false",
     .help = "fused dispatchers send one copy per expert, not per rank"},
    {.name = "expert-gemm",
     .kind = MS_FIELD_ENUM,
     AT(expert_gemm),
     .names = EXPERT_GEMMS,
     .default_text = "grouped",
     .help = "how a rank computes its experts"},
    {.name = "fused-expert-mlp",
     .kind = MS_FIELD_BOOL,
     AT(fused_expert_mlp),
     .default_text = "false",
     .help = "activation and quantisation inside the grouped GEMM"},
    {.name = "capacity-factor",
     .alias = "moe-expert-capacity-factor",
     .kind = MS_FIELD_REAL,
     AT(capacity_factor),
     .quantity = MS_QUANTITY_RATIO,
     .min = 0,
     .max = 1e3,
     .default_text = "0",
     .help = "expert capacity over the mean load; 0: dropless"},
    {.name = "recompute",
     .alias = "recompute-modules",
     .kind = MS_FIELD_FLAGS,
     AT(recompute),
     .names = RECOMPUTE,
     .default_text = "none",
     .help = "activations computed again in backward"},
    {.name = "overlap",
     .kind = MS_FIELD_FLAGS,
     AT(overlap),
     .names = OVERLAP,
     .default_text = "dp,param",
     .help = "communication hidden under compute"},
    {.name = "cuda-graph",
     .alias = "cuda-graph-scope",
     .kind = MS_FIELD_FLAGS,
     AT(cuda_graph),
     .names = CUDA_GRAPH,
     .default_text = "none",
     .help = "what is launched as CUDA graphs"},
    {.name = "schedule",
     .kind = MS_FIELD_ENUM,
     AT(schedule),
     .names = SCHEDULES,
     .default_text = "1f1b",
     .help = "pipeline schedule (--vp over 1 needs interleaved)"},
    {.name = "zero",
     .kind = MS_FIELD_INT,
     AT(zero),
     .min = 0,
     .max = 3,
     .default_text = "1",
     .help = "ZeRO stage: 1 distributed optimizer, 2 + gradients, 3 + parameters (FSDP)"},
    {.name = "grad-reduce-dtype",
     .kind = MS_FIELD_ENUM,
     AT(grad_reduce_dtype),
     .names = GRAD_DTYPES,
     .default_text = "fp32",
     .help = "format of gradient reduction"},
    {.name = "mtp",
     .alias = "mtp-num-layers",
     .kind = MS_FIELD_INT,
     AT(mtp),
     .min = 0,
     .max = 8,
     .default_text = "0",
     .help = "multi-token-prediction modules trained"},
    {.name = "trace",
     .kind = MS_FIELD_STRING,
     AT(trace),
     .default_text = "balanced",
     .help = "routing: balanced, dirichlet:CV or an NPY file of expert ids"},
    {.name = "seed",
     .kind = MS_FIELD_INT,
     AT(seed),
     .min = 0,
     .max = 9e15,
     .default_text = "1",
     .help = "of generated routing"},
    {.name = "gpus-per-domain",
     .kind = MS_FIELD_INT,
     AT(gpus_per_domain),
     .min = 0,
     .max = 1024,
     .default_text = "0",
     .help = "GPUs used of each NVLink domain; 0: all"},
    {.name = "spare-gpus-per-domain",
     .kind = MS_FIELD_INT,
     AT(spare_gpus_per_domain),
     .min = 0,
     .max = 1024,
     .default_text = "0",
     .help = "GPUs of each NVLink domain left unused"},
    {.name = "fidelity",
     .kind = MS_FIELD_ENUM,
     AT(fidelity),
     .names = FIDELITIES,
     .default_text = "step",
     .help = "closed form, simulated step, or every flow (small cases)"},
};
enum { N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]) };
_Static_assert((int)N_FIELDS <= (int)MS_RECIPE_FIELDS_MAX, "callers size their arrays by this");

const struct ms_field *ms_recipe_fields(size_t *n)
{
    *n = N_FIELDS;
    return FIELDS;
}

enum ms_dtype ms_recipe_expert_dtype(const struct ms_recipe *recipe)
{
    return (enum ms_dtype)(recipe->expert_precision ? recipe->expert_precision - 1
                                                    : recipe->precision);
}

enum ms_status ms_recipe_read(const char *path, struct ms_recipe *recipe, bool *given,
                              struct ms_error *err)
{
    return ms_yaml_read(path, FIELDS, N_FIELDS, recipe, given, err);
}

/* The built-in recipe is named by the plain names; a path of a user's file has none. */
static bool known_path(const struct ms_recipe *recipe, char *path, size_t n)
{
    char name[2 * MS_TEXT_MAX + 2];
    snprintf(name, sizeof(name), "%s@%s", recipe->model, recipe->topology);
    return ms_data_path("model/recipes", name, ".yaml", path, n, NULL) == MS_OK;
}

enum ms_status ms_recipe_apply_known(struct ms_recipe *recipe, const bool *given, char *used,
                                     struct ms_error *err)
{
    bool known_given[N_FIELDS] = {false};
    struct ms_recipe known = *recipe;
    char path[4096];
    enum ms_status status;
    used[0] = '\0';
    if (!known_path(recipe, path, sizeof(path)))
        return MS_OK;
    status = ms_recipe_read(path, &known, known_given, err);
    if (status != MS_OK)
        return status;
    for (size_t i = 0; i < N_FIELDS; i++) {
        struct ms_buf text = {0};
        if (given[i] || !known_given[i])
            continue;
        ms_field_format(&FIELDS[i], &known, &text);
        status = ms_field_parse(&FIELDS[i], recipe, text.text, path, err);
        ms_buf_free(&text);
        if (status != MS_OK)
            return status;
    }
    snprintf(used, MS_TEXT_MAX, "%.120s@%.120s", recipe->model, recipe->topology);
    return MS_OK;
}

/* A YAML double-quoted scalar: any text comes back as it is. */
static void print_quoted(const char *text, struct ms_buf *out)
{
    ms_buf_puts(out, "\"");
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            ms_buf_printf(out, "\\x%02x", (unsigned)*p);
            continue;
        }
        if (*p == '"' || *p == '\\')
            ms_buf_puts(out, "\\");
        ms_buf_add(out, p, 1);
    }
    ms_buf_puts(out, "\"");
}

void ms_recipe_print(const struct ms_recipe *recipe, struct ms_buf *out)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        ms_buf_printf(out, "%s: ", FIELDS[i].name);
        if (FIELDS[i].kind == MS_FIELD_STRING)
            print_quoted((const char *)recipe + FIELDS[i].offset, out);
        else
            ms_field_format(&FIELDS[i], recipe, out);
        ms_buf_puts(out, "\n");
    }
}
