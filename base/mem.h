/* mem.h - allocation that cannot fail, and an arena for things that live as long as a run.
 *
 * A tool that is out of memory has nothing better to do than to stop with one line (exit 3), so these
 * never return NULL. Sizes are checked for overflow. Memory is zeroed unless said otherwise.
 */
#ifndef MS_BASE_MEM_H
#define MS_BASE_MEM_H

#include <stddef.h>

/* n * size zeroed bytes; n = 0 gives a valid pointer. Caller frees with free(). */
void *ms_calloc(size_t n, size_t size);
/* As realloc, for n elements of `size`; new bytes are not zeroed. */
void *ms_realloc(void *p, size_t n, size_t size);
char *ms_strdup(const char *text);

/* Grows `*p` (elements of `size`) so that index `n` is valid; `*capacity` is updated. Amortised O(1). */
void ms_grow(void **p, size_t *capacity, size_t n, size_t size);

struct ms_arena;
struct ms_arena *ms_arena_new(void);
/* Zeroed memory, aligned for any type, freed with the arena. */
void *ms_arena_alloc(struct ms_arena *arena, size_t n, size_t size);
void ms_arena_free(struct ms_arena *arena); /* accepts NULL */

#endif
