/* file.h - whole files in and out. Output is written to a temporary name beside the target, flushed
 * to disk and renamed: a reader never sees half a file, and a full disk leaves the old one alone. */
#ifndef MS_BASE_FILE_H
#define MS_BASE_FILE_H

#include "base/buf.h"

/* Reads a regular file of at most `limit_bytes` into `*out` (caller frees with ms_buf_free). A missing
 * or unreadable path, a folder, or a larger file is MS_E_INPUT. */
MS_MUST_CHECK enum ms_status ms_file_read(const char *path, size_t limit_bytes, struct ms_buf *out,
                                          struct ms_error *err);

/* Atomically replaces `path` by `text`. "-" means stdout. A symbolic link is followed; the mode of an old
 * file is kept. Whatever fails at a place that the user named is MS_E_USAGE, at stdout MS_E_RUNTIME; a
 * failure leaves the old file as it was and no temporary one. Not thread-safe (reads the umask). */
MS_MUST_CHECK enum ms_status ms_file_write(const char *path, const struct ms_buf *text,
                                           struct ms_error *err);

int ms_file_exists(const char *path);

#endif
