#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ms_status read_all(int fd, const char *path, size_t limit_bytes, struct ms_buf *out,
                               struct ms_error *err)
{
    char chunk[1 << 16];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ms_fail(err, MS_E_INPUT, path, "cannot read: %s", strerror(errno));
        if (out->length + (size_t)n > limit_bytes)
            return ms_fail(err, MS_E_INPUT, path, "is larger than the limit of %zu bytes",
                           limit_bytes);
        ms_buf_add(out, chunk, (size_t)n);
    }
    if (!out->text)
        ms_buf_add(out, "", 0);
    return MS_OK;
}

enum ms_status ms_file_read(const char *path, size_t limit_bytes, struct ms_buf *out,
                            struct ms_error *err)
{
    struct ms_buf text = {0};
    enum ms_status status;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ms_fail(err, MS_E_INPUT, path, "cannot open: %s", strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = ms_fail(err, MS_E_INPUT, path, "is not a regular file");
    else
        status = read_all(fd, path, limit_bytes, &text, err);
    close(fd);
    if (status != MS_OK) {
        ms_buf_free(&text);
        return status;
    }
    *out = text;
    return MS_OK;
}

static int write_fully(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        text += done;
        n -= (size_t)done;
    }
    return 0;
}

enum ms_status ms_file_write(const char *path, const struct ms_buf *text, struct ms_error *err)
{
    char temporary[4096];
    struct stat st;
    int fd, saved;
    if (strcmp(path, "-") == 0) {
        if (write_fully(STDOUT_FILENO, text->text, text->length) != 0)
            return ms_fail(err, MS_E_RUNTIME, "stdout", "cannot write: %s", strerror(errno));
        return MS_OK;
    }
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return ms_fail(err, MS_E_USAGE, path, "the name is too long");
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return ms_fail(err, MS_E_USAGE, path, "exists and is not a regular file");
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return ms_fail(err, MS_E_USAGE, path, "cannot write there: %s", strerror(errno));
    if (fchmod(fd, 0644) != 0 || write_fully(fd, text->text, text->length) != 0 || fsync(fd) != 0) {
        saved = errno;
        close(fd);
        unlink(temporary);
        return ms_fail(err, MS_E_RUNTIME, path, "cannot write: %s", strerror(saved));
    }
    if (close(fd) != 0 || rename(temporary, path) != 0) {
        saved = errno;
        unlink(temporary);
        return ms_fail(err, MS_E_RUNTIME, path, "cannot write: %s", strerror(saved));
    }
    return MS_OK;
}

int ms_file_exists(const char *path)
{
    return access(path, R_OK) == 0;
}
