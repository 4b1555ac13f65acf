/* cmd_topology.c - `moesim topology`: what systems are built in, and what a description means. */
#include "cli/commands.h"
#include "cli/options.h"
#include "topologies/topology.h"

#include <string.h>

static const char USAGE[] = "list\nshow NAME|FILE\ncheck NAME|FILE";
static const char ABOUT[] =
    "Descriptions of systems: one GPU, its NVLink domain, its host and the network between "
    "domains. "
    "list prints the systems that come with moesim; show prints every figure of one with its kind "
    "(measured, derived, datasheet, unverified) and source; check reads a YAML file and says "
    "what is wrong with it, with file, line and key (exit status 2).";

static enum ms_status show(const char *name, bool only_check, struct ms_buf *out,
                           struct ms_error *err)
{
    struct ms_topology topo;
    enum ms_status status = ms_topology_load(name, &topo, err);
    if (status != MS_OK)
        return status;
    if (only_check)
        ms_buf_printf(out, "%s: ok, describes %s: %s\n", name, topo.name, topo.description);
    else
        ms_topology_show(&topo, out);
    return MS_OK;
}

enum ms_status ms_cmd_topology(int argc, char **argv, struct ms_buf *out, struct ms_error *err)
{
    static const char *const verbs[] = {"list", "show", "check", NULL};
    const char *arguments[2] = {NULL, NULL};
    size_t n = 0;
    bool done;
    int verb = 0;
    enum ms_status status = ms_options_parse(
        &(struct ms_options){"moesim topology", USAGE, ABOUT, NULL, 0, arguments, 2, &n}, argc,
        argv, &done, out, err);
    if (status != MS_OK || done)
        return status;
    status = ms_options_verb("topology", verbs, arguments, n, &verb, err);
    if (status != MS_OK)
        return status;
    return verb ? show(arguments[1], verb == 2, out, err) : ms_topology_list(out, err);
}
