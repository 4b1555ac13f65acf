/* data.h - finds the data files that come with moesim (topologies, models, recipes, calibration).
 *
 * Searched in order: $MOESIM_DATADIR, the source tree this binary was built in, PREFIX/share/moesim
 * beside the installed binary. */
#ifndef MS_BASE_DATA_H
#define MS_BASE_DATA_H

#include "base/error.h"

#include <stddef.h>

/* Writes the path of data file FOLDER/NAME+SUFFIX into `out` [n]; MS_E_INPUT if there is none. */
MS_MUST_CHECK enum ms_status ms_data_path(const char *folder, const char *name, const char *suffix,
                                          char *out, size_t n, struct ms_error *err);

/* Sorted names (without suffix) of the data files in FOLDER: NULL-terminated array; free each and it. */
char **ms_data_list(const char *folder, const char *suffix);
void ms_data_list_free(char **names); /* accepts NULL */

/* True if the user's argument means a file rather than a built-in name: has '/' or ends in `suffix`. */
int ms_data_is_path(const char *name, const char *suffix);

#endif
