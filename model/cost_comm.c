/* cost_comm.c - time and bytes of communication: ring and NVLS collectives, point-to-point, and the
 * rates of expert exchange. Pure functions; every constant comes from the device or the topology.
 *
 * Not here: contention between operations (the engine's business), and which rank has how many bytes
 * (traces/traffic.h). docs/costs.md says where each term comes from. */
#include "model/cost.h"

#include <math.h>

const char *const MS_DISPATCHER_NAMES[] = {"alltoall", "allgather", "deepep",
                                           "hybridep", "nccl-ep",   NULL};

/* NCCL 2.29.2 uses rings on 4 GPUs of a domain and NVLS on 8 (all_reduce rows of
 * ai-dynamo/aiconfigurator 095f58a5: 0.33 to 0.35 and 0.44 to 0.46 TB/s bus bandwidth on H100). */
enum { NVLS_LEAST_RANKS = 8 };

/* How often the buffer goes around: reduce-scatter + all-gather for an all-reduce. */
static const double PASSES[MS_N_COLLECTIVES] = {
    [MS_COLLECTIVE_ALL_REDUCE] = 2,
    [MS_COLLECTIVE_ALL_GATHER] = 1,
    [MS_COLLECTIVE_REDUCE_SCATTER] = 1,
};

/* The shape in numbers that both algorithms need. */
struct ring {
    double n, n_domains, per_domain, passes, size_bytes;
};

static struct ring describe(const struct ms_collective_shape *shape)
{
    int64_t per_domain =
        shape->ranks_per_domain < shape->n_ranks ? shape->ranks_per_domain : shape->n_ranks;
    int64_t n_domains = (shape->n_ranks + per_domain - 1) / per_domain;
    return (struct ring){(double)shape->n_ranks, (double)n_domains, (double)per_domain,
                         PASSES[shape->op], shape->size_bytes};
}

/* Bytes through each rank's NIC: its rail's part of the ring between domains. */
static double nic_bytes(const struct ring *r)
{
    return r->passes * r->size_bytes * (r->n_domains - 1) / r->n_domains / r->per_domain;
}

/* Time of the transfer itself, with its ramp-up: small messages go at half the rate (NCCL's
 * low-latency protocols), large ones pay the ramp once. */
static double with_ramp(double transfer_s, double ramp_s)
{
    return transfer_s + fmin(ramp_s, transfer_s);
}

static struct ms_collective_cost ring_cost(const struct ms_device *device, const struct ring *r)
{
    struct ms_collective_cost cost = {.nic_bytes = nic_bytes(r)};
    double steps = r->passes * (r->n - 1), nic_steps = r->passes * (r->n_domains - 1);
    double own_bytes = r->passes * r->size_bytes * device->collective_own_share.value / r->n;
    double nvlink_s = 0;
    if (r->per_domain > 1) {
        cost.nvlink_bytes = r->passes * r->size_bytes * (r->n - 1) / r->n;
        nvlink_s = (cost.nvlink_bytes + own_bytes) / device->ring_bandwidth.value;
    }
    cost.latency_s = device->collective_launch.value +
                     (steps - nic_steps) * device->ring_step_nvlink.value +
                     nic_steps * device->ring_step_nic.value;
    cost.time_s =
        cost.latency_s + with_ramp(fmax(nvlink_s, cost.nic_bytes / device->nic_bandwidth.value),
                                   steps * device->collective_ramp.value);
    return cost;
}

/* All-reduce in the switches of each domain, and a tree between domains. A port sends the buffer up and
 * receives the sum: size bytes each way, in the time that the measured bus bandwidth implies. */
static struct ms_collective_cost nvls_cost(const struct ms_device *device, const struct ring *r)
{
    struct ms_collective_cost cost = {.nvlink_bytes = r->size_bytes, .nic_bytes = nic_bytes(r)};
    double gpus = (double)device->topo->domain.gpus;
    double algorithm_Bps = device->topo->domain.nvls_busbw.value * gpus / (2 * (gpus - 1));
    double ramp_s =
        r->per_domain * device->nvls_ramp.value + (r->n_domains - 1) * device->domain_ramp.value;
    cost.latency_s = device->collective_launch.value + device->nvls_latency.value +
                     2 * ceil(log2(r->n_domains)) * device->ring_step_nic.value;
    cost.time_s = cost.latency_s + with_ramp(fmax(r->size_bytes / algorithm_Bps,
                                                  cost.nic_bytes / device->nic_bandwidth.value),
                                             ramp_s);
    return cost;
}

static bool has_nvls(const struct ms_device *device, const struct ms_collective_shape *shape,
                     const struct ring *r)
{
    const struct ms_topology_domain *domain = &device->topo->domain;
    return shape->op == MS_COLLECTIVE_ALL_REDUCE && domain->nvls && domain->gpus > 1 &&
           domain->nvls_busbw.value > 0 && r->per_domain >= NVLS_LEAST_RANKS;
}

struct ms_collective_cost ms_cost_collective(const struct ms_device *device,
                                             const struct ms_collective_shape *shape)
{
    struct ms_collective_cost cost = {0};
    struct ring r;
    MS_REQUIRE((unsigned)shape->op < MS_N_COLLECTIVES && shape->n_ranks >= 1);
    MS_REQUIRE(shape->ranks_per_domain >= 1 && shape->size_bytes >= 0);
    if (shape->n_ranks == 1 || shape->size_bytes == 0)
        return cost;
    r = describe(shape);
    cost = ring_cost(device, &r);
    if (has_nvls(device, shape, &r)) {
        struct ms_collective_cost nvls = nvls_cost(device, &r);
        if (nvls.time_s < cost.time_s)
            cost = nvls;
    }
    cost.relative_uncertainty = device->collective_spread.value;
    MS_REQUIRE(isfinite(cost.time_s) && cost.time_s >= cost.latency_s);
    return cost;
}

double ms_cost_p2p(const struct ms_device *device, bool across_domains, double bytes)
{
    const struct ms_topology *topo = device->topo;
    double latency_s =
        across_domains ? topo->scale_out.nic_latency.value : topo->domain.nvlink_latency.value;
    double rate_Bps =
        across_domains ? device->nic_bandwidth.value : device->exchange_alltoall.value;
    MS_REQUIRE(bytes >= 0);
    if (bytes == 0)
        return 0;
    return device->collective_launch.value + latency_s + bytes / rate_Bps;
}

/* Part of a rank's data that leaves it when all ranks get the same; 1/2 for a lone rank, which sends
 * nothing and only needs a rate above 0. */
static double remote_part(int64_t ep)
{
    double n = ep < 2 ? 2 : (double)ep;
    return (n - 1) / n;
}

static struct ms_exchange_rates alltoall_rates(const struct ms_device *device, int64_t ep)
{
    return (struct ms_exchange_rates){
        .fixed_s = device->exchange_alltoall_launch.value +
                   (double)ep * device->exchange_alltoall_per_rank.value,
        .nvlink_Bps = device->exchange_alltoall.value * remote_part(ep),
        .nic_Bps = device->exchange_nic.value,
    };
}

/* An all-gather of the group's tokens as one ring; its bytes are what ms_cost_collective counts. */
static struct ms_exchange_rates allgather_rates(const struct ms_device *device, int64_t ep)
{
    double others = ep < 2 ? 1 : (double)(ep - 1);
    double step_s = device->ring_step_nvlink.value + device->collective_ramp.value;
    return (struct ms_exchange_rates){
        .fixed_s = device->collective_launch.value + others * step_s,
        .nvlink_Bps =
            device->ring_bandwidth.value / (1 + device->collective_own_share.value / others),
        .nic_Bps = device->nic_bandwidth.value,
    };
}

static struct ms_exchange_rates fused_rates(const struct ms_device *device,
                                            enum ms_dispatcher dispatcher, int64_t sms, int64_t ep)
{
    bool deepep = dispatcher == MS_DISPATCHER_DEEPEP;
    double per_sm_Bps =
        deepep ? device->exchange_per_sm_deepep.value : device->exchange_per_sm.value;
    double launch_s = deepep ? device->exchange_launch_deepep.value : device->exchange_launch.value;
    MS_REQUIRE(sms >= 1);
    return (struct ms_exchange_rates){
        .fixed_s = launch_s + (double)ep * device->exchange_per_rank.value,
        .nvlink_Bps =
            fmin(device->exchange_fused.value, (double)sms * per_sm_Bps * remote_part(ep)),
        .nic_Bps = device->exchange_nic.value,
    };
}

struct ms_exchange_rates ms_cost_exchange_rates(const struct ms_device *device,
                                                enum ms_dispatcher dispatcher, int64_t sms,
                                                int64_t ep)
{
    struct ms_exchange_rates rates = {0};
    MS_REQUIRE((unsigned)dispatcher < MS_N_DISPATCHERS && ep >= 1);
    if (dispatcher == MS_DISPATCHER_ALLTOALL)
        rates = alltoall_rates(device, ep);
    else if (dispatcher == MS_DISPATCHER_ALLGATHER)
        rates = allgather_rates(device, ep);
    else
        rates = fused_rates(device, dispatcher, sms, ep);
    rates.relative_uncertainty = device->exchange_spread.value;
    MS_REQUIRE(rates.nvlink_Bps > 0 && rates.nic_Bps > 0 && rates.fixed_s >= 0);
    return rates;
}
