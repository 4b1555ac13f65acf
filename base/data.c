#include "base/data.h"

#include "base/field.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_ROOTS = 3, ROOT_MAX = 4096 };

/* PREFIX/share/moesim for a binary at PREFIX/bin/moesim. */
static void installed_root(char out[ROOT_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, ROOT_MAX - 32);
    char *slash;
    out[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        slash = strrchr(out, '/');
        if (slash)
            *slash = '\0';
    }
    memcpy(out + strlen(out), "/share/moesim", sizeof("/share/moesim"));
}

/* Writes the i-th place to look in; empty if there is none. */
static void root_path(int i, char out[ROOT_MAX])
{
    const char *env = getenv("MOESIM_DATADIR");
    out[0] = '\0';
    if (i == 0 && env)
        snprintf(out, ROOT_MAX, "%s", env);
    else if (i == 1)
        snprintf(out, ROOT_MAX, "%s", MS_SOURCE_DATADIR);
    else if (i == 2)
        installed_root(out);
}

enum ms_status ms_data_path(const char *folder, const char *name, const char *suffix, char *out,
                            size_t n, struct ms_error *err)
{
    for (int i = 0; i < N_ROOTS; i++) {
        char root[ROOT_MAX];
        root_path(i, root);
        if (!root[0] || strchr(name, '/'))
            continue;
        if ((size_t)snprintf(out, n, "%s/%s/%s%s", root, folder, name, suffix) < n &&
            ms_file_exists(out))
            return MS_OK;
    }
    return ms_fail(err, MS_E_INPUT, NULL, "there is no '%.60s%s' in the %s that come with moesim",
                   name, suffix, folder);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **ms_data_list(const char *folder, const char *suffix)
{
    char **names = ms_calloc(1, sizeof(*names));
    size_t n = 0, tail = strlen(suffix);
    for (int i = 0; i < N_ROOTS && !n; i++) {
        char root[ROOT_MAX], path[ROOT_MAX + MS_TEXT_MAX];
        struct dirent *entry;
        DIR *dir;
        root_path(i, root);
        snprintf(path, sizeof(path), "%s/%s", root, folder);
        dir = root[0] ? opendir(path) : NULL;
        while (dir && (entry = readdir(dir))) {
            size_t length = strlen(entry->d_name);
            if (length <= tail || strcmp(entry->d_name + length - tail, suffix) != 0)
                continue;
            names = ms_realloc(names, n + 2, sizeof(*names));
            names[n] = ms_strdup(entry->d_name);
            names[n++][length - tail] = '\0';
            names[n] = NULL;
        }
        if (dir)
            closedir(dir);
    }
    qsort(names, n, sizeof(*names), compare_names);
    return names;
}

void ms_data_list_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

int ms_data_is_path(const char *name, const char *suffix)
{
    size_t n = strlen(name), tail = strlen(suffix);
    return strchr(name, '/') || (n > tail && strcmp(name + n - tail, suffix) == 0);
}
