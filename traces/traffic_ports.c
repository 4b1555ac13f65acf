/* traffic_ports.c - how the copies of one rank's tokens go through the ports of a group: the rules of the
 * three dispatchers, and nothing about where hits come from. The rules in words: docs/traffic.md.
 */
#include "traces/traffic_source.h"

/* Gives each rank the dense number of its domain; returns how many there are. */
static int64_t number_domains(int64_t ep, const int64_t *domain, int64_t *number)
{
    int64_t n = 0;
    for (int64_t r = 0; r < ep; r++) {
        int64_t other = 0;
        while (domain[other] != domain[r])
            other++;
        number[r] = other < r ? number[other] : n++;
    }
    return n;
}

void ms_traffic_ports_map(struct ms_arena *arena, int64_t ep, const int64_t *domain,
                          struct ms_traffic_map *out)
{
    int64_t n = 0;
    out->ep = ep;
    out->domain = ms_arena_alloc(arena, (size_t)ep, sizeof(int64_t));
    out->position = ms_arena_alloc(arena, (size_t)ep, sizeof(int64_t));
    out->members = ms_arena_alloc(arena, (size_t)ep, sizeof(int64_t));
    out->n_domains = number_domains(ep, domain, out->domain);
    out->first = ms_arena_alloc(arena, (size_t)out->n_domains + 1, sizeof(int64_t));
    for (int64_t d = 0; d < out->n_domains; d++) {
        out->first[d] = n;
        for (int64_t r = 0; r < ep; r++) {
            if (out->domain[r] != d)
                continue;
            out->position[r] = n - out->first[d];
            out->members[n++] = r;
        }
    }
    out->first[out->n_domains] = n;
}

/* Flat all-to-all: each assignment straight to the rank of its expert. */
static void add_per_assignment(const struct ms_traffic_map *map, int64_t source,
                               const double *assignments, struct ms_port_copies *ports)
{
    int64_t home = map->domain[source];
    for (int64_t r = 0; r < map->ep; r++) {
        if (r == source) {
            ports[r].local += assignments[r];
        } else if (map->domain[r] == home) {
            ports[source].nvlink_send += assignments[r];
            ports[r].nvlink_receive += assignments[r];
        } else {
            ports[source].nic_send += assignments[r];
            ports[r].nic_receive += assignments[r];
        }
    }
}

/* `holder`, which has the tokens, gives each other rank of domain `d` those that it needs. */
static void spread(const struct ms_traffic_map *map, int64_t d, int64_t holder, const double *ranks,
                   struct ms_port_copies *ports)
{
    double sent = 0;
    for (int64_t i = map->first[d]; i < map->first[d + 1]; i++) {
        int64_t r = map->members[i];
        if (r == holder)
            continue;
        ports[r].nvlink_receive += ranks[r];
        sent += ranks[r];
    }
    ports[holder].nvlink_send += sent;
}

/* De-duplicated: one copy per remote domain to the landing rank, then one per other rank that is hit. */
static void add_per_rank(const struct ms_traffic_map *map, int64_t source,
                         const struct ms_traffic_hits *hits, struct ms_port_copies *ports)
{
    ports[source].local += hits->ranks[source];
    for (int64_t d = 0; d < map->n_domains; d++) {
        int64_t n = map->first[d + 1] - map->first[d], holder = source;
        if (d != map->domain[source]) {
            holder = map->members[map->first[d] + map->position[source] % n];
            ports[source].nic_send += hits->domains[d];
            ports[holder].nic_receive += hits->domains[d];
        }
        spread(map, d, holder, hits->ranks, ports);
    }
}

void ms_traffic_ports_add(const struct ms_traffic_map *map, enum ms_copies copies, int64_t source,
                          const struct ms_traffic_hits *hits, struct ms_port_copies *ports)
{
    MS_REQUIRE(copies == MS_COPIES_PER_ASSIGNMENT || copies == MS_COPIES_PER_RANK);
    if (copies == MS_COPIES_PER_ASSIGNMENT)
        add_per_assignment(map, source, hits->assignments, ports);
    else
        add_per_rank(map, source, hits, ports);
}

void ms_traffic_ports_all(const struct ms_traffic_map *map, double tokens,
                          struct ms_port_copies *ports)
{
    double ep = (double)map->ep;
    for (int64_t r = 0; r < map->ep; r++) {
        int64_t d = map->domain[r];
        double peers = (double)(map->first[d + 1] - map->first[d]);
        double nvlink = tokens * ep * (peers - 1) / peers;
        ports[r] = (struct ms_port_copies){
            .nvlink_send = nvlink,
            .nvlink_receive = nvlink,
            .nic_send = tokens * (double)(map->n_domains - 1),
            .nic_receive = tokens * (ep - peers) / peers,
            .local = tokens,
        };
    }
}
