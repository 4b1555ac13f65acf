/* report.h - a prediction as text for people, as JSON and as CSV.
 *
 * All three are pure functions of their argument and deterministic: no dates, no paths but those the user
 * gave. JSON keys are those of docs/schema/predict.schema.json; CSV has the same values, nested keys
 * joined by dots, in one header line and one row.
 */
#ifndef MS_CLI_REPORT_H
#define MS_CLI_REPORT_H

#include "sim/predict.h"

struct ms_report {
    const struct ms_prediction *prediction;
    const struct ms_scaling_point *scaling; /* [n_scaling]; NULL if n_scaling is 0 */
    int64_t n_scaling;
};

/* Appends sections for people, no line longer than 80 columns. */
void ms_report_table(const struct ms_report *report, struct ms_buf *out);

/* Appends one JSON object and a line break. Numbers must be finite (jsonw.h). */
void ms_report_json(const struct ms_report *report, struct ms_buf *out);

/* Appends a header line and a row; cells with a comma, quote or line break are quoted (RFC 4180). */
void ms_report_csv(const struct ms_report *report, struct ms_buf *out);

/* Appends how FLOP are counted, in words. */
void ms_report_flop_convention(const struct ms_recipe *recipe, struct ms_buf *out);

/* Appends the value of setting `name` as the user would write it. */
void ms_report_setting(const struct ms_recipe *recipe, const char *name, struct ms_buf *out);

#endif
