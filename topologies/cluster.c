/* cluster.c - arithmetic of GPU numbers: domain, host, scalable unit, rail and tier of each. */
#include "topologies/cluster.h"

const char *const MS_TIER_NAMES[MS_N_TIERS] = {
    [MS_TIER_GPU] = "gpu",
    [MS_TIER_DOMAIN] = "nvlink",
    [MS_TIER_SCALE_OUT] = "scale-out",
};

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static enum ms_status check_range(const char *option, int64_t value, int64_t least, int64_t most,
                                  struct ms_error *err)
{
    if (value >= least && value <= most)
        return MS_OK;
    return ms_fail(err, MS_E_USAGE, option,
                   "%lld is outside %lld to %lld; nearest legal value %lld", (long long)value,
                   (long long)least, (long long)most, (long long)(value < least ? least : most));
}

enum ms_status ms_cluster_init(const struct ms_topology *topo, int64_t gpus,
                               int64_t gpus_per_domain, int64_t spare_gpus_per_domain,
                               struct ms_cluster *out, struct ms_error *err)
{
    const int64_t size = topo->domain.gpus, spare = spare_gpus_per_domain;
    enum ms_status status = check_range("--gpus", gpus, 1, MS_GPUS_MAX, err);
    MS_REQUIRE(size >= 1);
    if (status == MS_OK)
        status = check_range("--spare-gpus-per-domain", spare, 0, size - 1, err);
    if (status == MS_OK)
        status = check_range("--gpus-per-domain", gpus_per_domain, 0, size, err);
    if (status != MS_OK)
        return status;
    if (gpus_per_domain + spare > size)
        return ms_fail(err, MS_E_USAGE, "--gpus-per-domain",
                       "%lld used and %lld spare GPUs exceed the %lld of a domain of %s; nearest "
                       "legal value %lld",
                       (long long)gpus_per_domain, (long long)spare, (long long)size, topo->name,
                       (long long)(size - spare));
    if (gpus_per_domain == 0)
        gpus_per_domain = size - spare;
    *out = (struct ms_cluster){.topo = topo,
                               .gpus = gpus,
                               .gpus_per_domain = gpus_per_domain,
                               .n_domains = divide_up(gpus, gpus_per_domain)};
    return MS_OK;
}

int64_t ms_cluster_domain(const struct ms_cluster *cluster, int64_t gpu)
{
    MS_REQUIRE(gpu >= 0 && gpu < cluster->gpus);
    return gpu / cluster->gpus_per_domain;
}

int64_t ms_cluster_position(const struct ms_cluster *cluster, int64_t gpu)
{
    MS_REQUIRE(gpu >= 0 && gpu < cluster->gpus);
    return gpu % cluster->gpus_per_domain;
}

int64_t ms_cluster_host(const struct ms_cluster *cluster, int64_t gpu)
{
    const int64_t per_host = cluster->topo->host.gpus;
    return ms_cluster_domain(cluster, gpu) * divide_up(cluster->gpus_per_domain, per_host) +
           ms_cluster_position(cluster, gpu) / per_host;
}

int64_t ms_cluster_unit(const struct ms_cluster *cluster, int64_t gpu)
{
    return ms_cluster_domain(cluster, gpu) / cluster->topo->scale_out.unit_domains;
}

int64_t ms_cluster_rail(const struct ms_cluster *cluster, int64_t gpu)
{
    const struct ms_topology_scale_out *net = &cluster->topo->scale_out;
    if (net->rail_optimized)
        return ms_cluster_position(cluster, gpu) % net->rails;
    return ms_cluster_domain(cluster, gpu) % net->unit_domains;
}

enum ms_tier ms_cluster_tier(const struct ms_cluster *cluster, int64_t a, int64_t b)
{
    const bool same_domain = ms_cluster_domain(cluster, a) == ms_cluster_domain(cluster, b);
    if (a == b)
        return MS_TIER_GPU;
    return same_domain ? MS_TIER_DOMAIN : MS_TIER_SCALE_OUT;
}
