/* defaults.h - settings that the user left open: taken from the shipped recipe, else chosen.
 *
 * Chosen means: EP as wide as one NVLink domain and the experts allow (a power of two), the fewest
 * pipeline stages whose memory fits, FP8 where the GPU has it, the fused dispatcher. Each choice becomes a
 * sentence in `notes`. This is a sensible start, not a search.
 */
#ifndef MS_SIM_DEFAULTS_H
#define MS_SIM_DEFAULTS_H

#include "sim/predict.h"

/* Fills out->recipe, known_recipe and assumptions; out->topo, arch and device are loaded before. */
MS_MUST_CHECK enum ms_status ms_defaults_fill(struct ms_prediction *out, struct ms_error *err);

#endif
