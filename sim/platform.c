/* platform.c - SimGrid platform XML, zone by zone; within a zone hosts and links come before
 * routes, as the DTD wants. Read ms_platform_write() at the end first. */
#include "sim/platform.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Pieces of the format strings; N takes an int64_t. */
#define N         "%" PRId64
#define HOST(id)  "<host id=\"" id "\" speed=\"1f\"/>\n"
#define VIA(link) "<link_ctn id=\"" link "\"/>"
#define ROUTE(from, to, path)                                                                      \
    "<route src=\"" from "\" dst=\"" to "\" symmetrical=\"NO\">" path "</route>\n"

/* GPUs first..end-1. */
struct range {
    int64_t first, end;
};

/* The GPUs of `n` domains from domain `first`; the cluster's last domain may be partly filled. */
static struct range gpus_of(const struct ms_cluster *c, int64_t first, int64_t n)
{
    const int64_t end = (first + n) * c->gpus_per_domain;
    return (struct range){first * c->gpus_per_domain, end < c->gpus ? end : c->gpus};
}

/* One link; 15 digits say every figure exactly. */
static void write_link(const char *id, double bandwidth_Bps, double latency_s, struct ms_buf *out)
{
    MS_REQUIRE(isfinite(bandwidth_Bps) && bandwidth_Bps > 0);
    MS_REQUIRE(isfinite(latency_s) && latency_s >= 0);
    ms_buf_printf(out,
                  "<link id=\"%s\" bandwidth=\"%.15gBps\" latency=\"%.15gs\" "
                  "sharing_policy=\"SHARED\"/>\n",
                  id, bandwidth_Bps, latency_s);
}

/* NAME-up-<g> and NAME-down-<g> of all GPUs of `r`; each has half of `latency_s`. */
static void write_port_links(const char *name, struct range r, double bandwidth_Bps,
                             double latency_s, struct ms_buf *out)
{
    char id[64];
    for (int64_t g = r.first; g < r.end; g++) {
        snprintf(id, sizeof(id), "%s-up-" N, name, g);
        write_link(id, bandwidth_Bps, latency_s / 2, out);
        snprintf(id, sizeof(id), "%s-down-" N, name, g);
        write_link(id, bandwidth_Bps, latency_s / 2, out);
    }
}

/* Global numbers of the hosts (CPUs) of the GPUs of `r`. */
static struct range hosts_of(const struct ms_cluster *c, struct range r)
{
    return (struct range){ms_cluster_host(c, r.first), ms_cluster_host(c, r.end - 1) + 1};
}

static void write_domain_parts(const struct ms_cluster *c, int64_t d, struct ms_buf *out)
{
    const struct ms_topology *t = c->topo;
    const struct range gpus = gpus_of(c, d, 1), cpus = hosts_of(c, gpus);
    char id[64];
    ms_buf_printf(out, HOST("nvswitch-" N), d);
    for (int64_t g = gpus.first; g < gpus.end; g++)
        ms_buf_printf(out, HOST("gpu-" N), g);
    for (int64_t h = cpus.first; h < cpus.end; h++)
        ms_buf_printf(out, HOST("cpu-" N), h);
    write_port_links("nvl", gpus, t->domain.nvlink_bandwidth.value, t->domain.nvlink_latency.value,
                     out);
    write_port_links("c2c", gpus, t->host.link_bandwidth.value, 0, out);
    for (int64_t h = cpus.first; h < cpus.end; h++) {
        snprintf(id, sizeof(id), "hostmem-" N, h);
        write_link(id, t->host.memory_bandwidth.value, 0, out);
    }
}

static void write_domain_routes(const struct ms_cluster *c, int64_t d, bool all_pairs,
                                struct ms_buf *out)
{
    const struct range gpus = gpus_of(c, d, 1);
    for (int64_t g = gpus.first; g < gpus.end; g++) {
        const int64_t h = ms_cluster_host(c, g);
        ms_buf_printf(out, ROUTE("gpu-" N, "nvswitch-" N, VIA("nvl-up-" N)), g, d, g);
        ms_buf_printf(out, ROUTE("nvswitch-" N, "gpu-" N, VIA("nvl-down-" N)), d, g, g);
        ms_buf_printf(out, ROUTE("gpu-" N, "cpu-" N, VIA("c2c-up-" N) VIA("hostmem-" N)), g, h, g,
                      h);
        ms_buf_printf(out, ROUTE("cpu-" N, "gpu-" N, VIA("hostmem-" N) VIA("c2c-down-" N)), h, g, h,
                      g);
        for (int64_t peer = gpus.first; all_pairs && peer < gpus.end; peer++)
            if (peer != g)
                ms_buf_printf(out, ROUTE("gpu-" N, "gpu-" N, VIA("nvl-up-" N) VIA("nvl-down-" N)),
                              g, peer, g, peer);
    }
}

/* How many NICs of the GPUs of `r` are on each leaf; owned by the caller, *n entries. */
static int64_t *count_nics(const struct ms_cluster *c, struct range r, int64_t *n)
{
    const struct ms_topology_scale_out *net = &c->topo->scale_out;
    int64_t *nics;
    *n = net->rail_optimized ? net->rails : net->unit_domains;
    nics = ms_calloc((size_t)*n, sizeof(*nics));
    for (int64_t g = r.first; g < r.end; g++)
        nics[ms_cluster_rail(c, g)]++;
    return nics;
}

/* Leaf `rail` of unit `u` with its spine links and their routes is there only if it has NICs. */
static void write_leaves(const struct ms_cluster *c, int64_t u, struct range gpus,
                         struct ms_buf *out, struct ms_buf *routes)
{
    const struct ms_topology_scale_out *net = &c->topo->scale_out;
    int64_t n_leaves, *nics = count_nics(c, gpus, &n_leaves);
    char id[64];
    for (int64_t l = 0; l < n_leaves; l++) {
        const double bandwidth_Bps =
            (double)nics[l] * net->nic_bandwidth.value / net->oversubscription.value;
        if (!nics[l])
            continue;
        ms_buf_printf(out, HOST("leaf-" N "-" N), u, l);
        snprintf(id, sizeof(id), "spine-up-" N "-" N, u, l);
        write_link(id, bandwidth_Bps, net->stage_latency.value / 2, out);
        snprintf(id, sizeof(id), "spine-down-" N "-" N, u, l);
        write_link(id, bandwidth_Bps, net->stage_latency.value / 2, out);
        ms_buf_printf(routes, ROUTE("leaf-" N "-" N, "core-" N, VIA("spine-up-" N "-" N)), u, l, u,
                      u, l);
        ms_buf_printf(routes, ROUTE("core-" N, "leaf-" N "-" N, VIA("spine-down-" N "-" N)), u, u,
                      l, u, l);
    }
    free(nics);
}

static void write_unit(const struct ms_cluster *c, int64_t u, struct ms_buf *out)
{
    const struct ms_topology_scale_out *net = &c->topo->scale_out;
    const struct range gpus = gpus_of(c, u * net->unit_domains, net->unit_domains);
    struct ms_buf routes = {0};
    ms_buf_printf(out, HOST("core-" N), u);
    for (int64_t g = gpus.first; g < gpus.end; g++)
        ms_buf_printf(out, HOST("nic-" N), g);
    write_port_links("nic", gpus, net->nic_bandwidth.value, net->nic_latency.value, out);
    write_leaves(c, u, gpus, out, &routes);
    for (int64_t g = gpus.first; g < gpus.end; g++) {
        const int64_t l = ms_cluster_rail(c, g);
        ms_buf_printf(&routes, ROUTE("nic-" N, "leaf-" N "-" N, VIA("nic-up-" N)), g, u, l, g);
        ms_buf_printf(&routes, ROUTE("leaf-" N "-" N, "nic-" N, VIA("nic-down-" N)), u, l, g, g);
    }
    ms_buf_add(out, routes.text, routes.length);
    ms_buf_free(&routes);
}

/* Whether the zone of the GPUs of `n` domains from domain `first` is needed. */
static bool any_wanted(const struct ms_cluster *c, const bool *wanted, int64_t first, int64_t n)
{
    const struct range gpus = gpus_of(c, first, n);
    for (int64_t g = gpus.first; wanted && g < gpus.end; g++)
        if (wanted[g])
            return true;
    return !wanted;
}

void ms_platform_write(const struct ms_cluster *cluster, bool all_pairs, const bool *wanted,
                       struct ms_buf *out)
{
    const int64_t unit = cluster->topo->scale_out.unit_domains;
    const int64_t n_units = ms_cluster_unit(cluster, cluster->gpus - 1) + 1;
    ms_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                     "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                     "<platform version=\"4.1\">\n"
                     "<zone id=\"world\" routing=\"None\">\n");
    for (int64_t d = 0; d < cluster->n_domains; d++) {
        if (!any_wanted(cluster, wanted, d, 1))
            continue;
        ms_buf_printf(out, "<zone id=\"domain-" N "\" routing=\"Full\">\n", d);
        write_domain_parts(cluster, d, out);
        write_domain_routes(cluster, d, all_pairs, out);
        ms_buf_puts(out, "</zone>\n");
    }
    for (int64_t u = 0; u < n_units; u++) {
        if (!any_wanted(cluster, wanted, u * unit, unit))
            continue;
        ms_buf_printf(out, "<zone id=\"unit-" N "\" routing=\"Full\">\n", u);
        write_unit(cluster, u, out);
        ms_buf_puts(out, "</zone>\n");
    }
    ms_buf_puts(out, "</zone>\n</platform>\n");
}
