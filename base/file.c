#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* The user named the place, so whatever goes wrong there is his to put right. */
static enum ms_status fail_write(const char *path, int number, struct ms_error *err)
{
    return ms_fail(err, MS_E_USAGE, path, "cannot write there: %s", strerror(number));
}

static enum ms_status write_stdout(const struct ms_buf *text, struct ms_error *err)
{
    if (write_fully(STDOUT_FILENO, text->text, text->length) != 0)
        return ms_fail(err, MS_E_RUNTIME, "stdout", "cannot write: %s", strerror(errno));
    return MS_OK;
}

/* The mode the target has, or the one that a new file gets here. */
static enum ms_status target_mode(const char *path, mode_t *mode, struct ms_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        mode_t mask = umask(0);
        umask(mask);
        *mode = 0666 & ~mask;
        return MS_OK;
    }
    if (!S_ISREG(st.st_mode))
        return ms_fail(err, MS_E_USAGE, path, "exists and is not a regular file");
    if (access(path, W_OK) != 0)
        return fail_write(path, errno, err);
    *mode = st.st_mode & 0777;
    return MS_OK;
}

static enum ms_status replace(const char *path, mode_t mode, const struct ms_buf *text,
                              struct ms_error *err)
{
    char temporary[PATH_MAX];
    int fd, saved = 0;
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
        return ms_fail(err, MS_E_USAGE, path, "the name is too long");
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail_write(path, errno, err);
    if (fchmod(fd, mode) != 0 || write_fully(fd, text->text, text->length) != 0 || fsync(fd) != 0)
        saved = errno;
    if (close(fd) != 0 && !saved)
        saved = errno;
    if (!saved && rename(temporary, path) != 0)
        saved = errno;
    if (!saved)
        return MS_OK;
    unlink(temporary);
    return fail_write(path, saved, err);
}

enum ms_status ms_file_write(const char *path, const struct ms_buf *text, struct ms_error *err)
{
    char target[PATH_MAX];
    enum ms_status status;
    mode_t mode = 0;
    if (strcmp(path, "-") == 0)
        return write_stdout(text, err);
    status = target_mode(path, &mode, err);
    if (status != MS_OK)
        return status;
    /* Through a symbolic link: replace the file it stands for, not the link. */
    return replace(realpath(path, target) ? target : path, mode, text, err);
}

int ms_file_exists(const char *path)
{
    return access(path, R_OK) == 0;
}
