/* platform.h - writes the machine that the engine simulates: SimGrid platform XML for a cluster.
 *
 * SimGrid itself is not used here: the engine loads the text (the C API cannot create hosts or
 * links). Work is given in seconds, so every host has speed 1f. A link carries one direction, but
 * for hostmem, which both share; a bandwidth is the figure's `value`. Numbers d, g, h, u, rail are
 * those of cluster.h.
 *
 * Zone `world` (no routes between its parts: a task that crosses tiers names hosts of each) holds
 *
 *   domain-<d>  one NVLink domain
 *     hosts     gpu-<g>, nvswitch-<d>, cpu-<h>
 *     routes    gpu -> nvswitch: nvl-up-<g>           nvswitch -> gpu: nvl-down-<g>
 *               gpu -> cpu: c2c-up-<g> hostmem-<h>    cpu -> gpu: hostmem-<h> c2c-down-<g>
 *               with all_pairs: gpu i -> gpu j: nvl-up-<i> nvl-down-<j>
 *   unit-<u>    one scalable unit
 *     hosts     nic-<g>, leaf-<u>-<rail>, core-<u>
 *     routes    nic -> leaf: nic-up-<g>               leaf -> nic: nic-down-<g>
 *               leaf -> core: spine-up-<u>-<rail>     core -> leaf: spine-down-<u>-<rail>
 *
 * Latencies are halved over up and down, so that a whole path has the topology's: NVLink, NIC
 * through one leaf, and what leaf-spine-leaf adds. c2c and hostmem links have none (the topology
 * gives no figure). A spine link has the bandwidth of the NICs of the cluster on its leaf divided
 * by the oversubscription. A leaf without NICs and what hangs on it are left out.
 * Without rails (rail_optimized false) a domain has one leaf.
 */
#ifndef MS_SIM_PLATFORM_H
#define MS_SIM_PLATFORM_H

#include "topologies/cluster.h"

/* Appends the XML (SimGrid 3.32, platform version 4.1). `wanted` [gpus] leaves out the zones without a
 * wanted GPU; NULL means all. Deterministic; O(gpus), with `all_pairs` O(gpus x gpus_per_domain). */
void ms_platform_write(const struct ms_cluster *cluster, bool all_pairs, const bool *wanted,
                       struct ms_buf *out);

#endif
