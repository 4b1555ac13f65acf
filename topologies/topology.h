/* topology.h - what a system is: one GPU, its NVLink domain, its host, and the scale-out network.
 *
 * A topology is a YAML file (topologies/NAME.yaml, or a path); every figure carries its unit and source,
 * and where datasheet and measurement differ both stand there and the measured one is used (see struct
 * ms_figure). This module only describes; how many GPUs are used and where a rank lies is cluster.h.
 * All bandwidths are per direction. "GB" of GPU memory is GiB; capacities are bytes.
 */
#ifndef MS_TOPOLOGIES_TOPOLOGY_H
#define MS_TOPOLOGIES_TOPOLOGY_H

#include "base/field.h"

struct ms_topology_gpu {
    int64_t sm_count;
    struct ms_figure peak_bf16; /* [flop/s] dense; 0 where the GPU has no such unit */
    struct ms_figure peak_fp8;
    struct ms_figure peak_mxfp8;
    struct ms_figure peak_nvfp4;
    struct ms_figure peak_fp32;
    struct ms_figure hbm_capacity;  /* [B] */
    struct ms_figure hbm_bandwidth; /* [B/s] read + write */
    struct ms_figure power_max;     /* [W] */
};

struct ms_topology_domain {
    int64_t gpus;  /* GPUs joined by one NVLink fabric */
    int64_t trays; /* compute trays (nodes) of the domain; a tray is no bandwidth boundary */
    struct ms_figure nvlink_bandwidth; /* [B/s] one GPU's port, one direction */
    struct ms_figure nvlink_latency;   /* [s] one way, inside a kernel */
    bool nvls;                         /* in-switch reduction and multicast */
    struct ms_figure nvls_busbw;       /* [B/s] all-reduce bus bandwidth with it; 0 without */
};

struct ms_topology_host {
    int64_t gpus;                      /* GPUs that share one host memory (2 on Grace superchips) */
    struct ms_figure link_bandwidth;   /* [B/s] GPU to host, C2C or PCIe, one direction */
    struct ms_figure memory_bandwidth; /* [B/s] of the host memory, both directions together */
    struct ms_figure memory_capacity;  /* [B] per host */
};

struct ms_topology_scale_out {
    char fabric[MS_TEXT_MAX];          /* "InfiniBand NDR", for people */
    struct ms_figure nic_bandwidth;    /* [B/s] per GPU, one direction */
    struct ms_figure nic_latency;      /* [s] one way through one leaf */
    struct ms_figure stage_latency;    /* [s] added by leaf-spine-leaf over one leaf */
    bool rail_optimized;               /* NIC of position p in each tray goes to leaf group p */
    int64_t rails;                     /* GPU positions per tray = leaf groups of a unit */
    int64_t unit_domains;              /* NVLink domains of a scalable unit: one leaf stage */
    struct ms_figure oversubscription; /* leaf down capacity / leaf up capacity; 1 = non-blocking */
    int64_t max_gpus;                  /* largest documented system */
};

struct ms_topology {
    char name[MS_TEXT_MAX];
    char description[MS_TEXT_MAX];
    char gpu_generation[MS_TEXT_MAX]; /* "hopper" or "blackwell": picks kernel families */
    char calibration[MS_TEXT_MAX];    /* calibration file name without .json, e.g. "gb300" */
    struct ms_topology_gpu gpu;
    struct ms_topology_domain domain;
    struct ms_topology_host host;
    struct ms_topology_scale_out scale_out;
};

/* The field table that reads and prints a topology; *n entries. */
const struct ms_field *ms_topology_fields(size_t *n);

/* Loads a built-in topology by name (from DATADIR/topologies) or a file by path (anything with '/' or
 * ".yaml"), and checks that it makes sense. Errors MS_E_INPUT with file:line:key; an unknown name
 * lists the known ones. `*out` is written only on success. Source of figures: the file itself. */
MS_MUST_CHECK enum ms_status ms_topology_load(const char *name_or_path, struct ms_topology *out,
                                              struct ms_error *err);

/* Reads a topology from text in memory; `name` stands in messages. */
MS_MUST_CHECK enum ms_status ms_topology_parse(const char *name, const struct ms_buf *text,
                                               struct ms_topology *out, struct ms_error *err);

/* Appends a table (name, domain size, peak, NVLink, NIC, description) of all built-in topologies. */
MS_MUST_CHECK enum ms_status ms_topology_list(struct ms_buf *out, struct ms_error *err);

/* Appends all figures of `topo` with unit, kind (measured, datasheet, ...), the value the model uses
 * and the source. */
void ms_topology_show(const struct ms_topology *topo, struct ms_buf *out);

#endif
