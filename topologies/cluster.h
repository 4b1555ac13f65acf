/* cluster.h - how many GPUs of a topology are used and where each lies.
 *
 * GPUs are numbered 0..gpus-1, filling domain after domain with `gpus_per_domain` each; the last domain
 * may be partly filled (1,024 GPUs = 14 racks of 72 and 16 GPUs; or 16 of 64 with gpus_per_domain = 64).
 */
#ifndef MS_TOPOLOGIES_CLUSTER_H
#define MS_TOPOLOGIES_CLUSTER_H

#include "topologies/topology.h"

/* Where a peer is, seen from a GPU: what the path between them crosses. */
enum ms_tier {
    MS_TIER_GPU,       /* the same GPU */
    MS_TIER_DOMAIN,    /* NVLink */
    MS_TIER_SCALE_OUT, /* NIC, leaf, perhaps spine */
    MS_N_TIERS
};
extern const char *const MS_TIER_NAMES[MS_N_TIERS]; /* "gpu", "nvlink", "scale-out" */

enum { MS_GPUS_MAX = 1 << 20 };

struct ms_cluster {
    const struct ms_topology *topo; /* borrowed */
    int64_t gpus;
    int64_t gpus_per_domain; /* used ones, <= topo->domain.gpus - spares */
    int64_t n_domains;
};

/* gpus_per_domain = 0 means all but `spare_gpus_per_domain`. MS_E_USAGE with the numbers and the nearest
 * legal value if gpus is outside 1..MS_GPUS_MAX, or gpus_per_domain + spares exceeds the domain. */
MS_MUST_CHECK enum ms_status ms_cluster_init(const struct ms_topology *topo, int64_t gpus,
                                             int64_t gpus_per_domain, int64_t spare_gpus_per_domain,
                                             struct ms_cluster *out, struct ms_error *err);

/* All take GPU numbers in 0..gpus-1 (MS_REQUIREd). Each domain has its own hosts. */
int64_t ms_cluster_domain(const struct ms_cluster *cluster, int64_t gpu);   /* NVLink domain */
int64_t ms_cluster_position(const struct ms_cluster *cluster, int64_t gpu); /* within the domain */
int64_t ms_cluster_host(const struct ms_cluster *cluster, int64_t gpu);     /* global host number */
int64_t ms_cluster_unit(const struct ms_cluster *cluster, int64_t gpu);     /* scalable unit */
/* Leaf of the unit that the GPU's NIC is on: with rails position % rails, else the domain's place in
 * the unit. */
int64_t ms_cluster_rail(const struct ms_cluster *cluster, int64_t gpu);
enum ms_tier ms_cluster_tier(const struct ms_cluster *cluster, int64_t a, int64_t b);

#endif
