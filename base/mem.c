#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 1 << 20, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t capacity;
    _Alignas(ARENA_ALIGN) char data[];
};

struct ms_arena {
    struct arena_block *head;
};

__attribute__((noreturn)) static void out_of_memory(size_t n, size_t size)
{
    fprintf(stderr, "moesim: error: out of memory asking for %zu x %zu bytes\n", n, size);
    exit(3);
}

void *ms_calloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        out_of_memory(n, size);
    return p;
}

void *ms_realloc(void *p, size_t n, size_t size)
{
    void *q;
    if (size && n > SIZE_MAX / size)
        out_of_memory(n, size);
    q = realloc(p, n && size ? n * size : 1);
    if (!q)
        out_of_memory(n, size);
    return q;
}

char *ms_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = ms_calloc(n, 1);
    memcpy(copy, text, n);
    return copy;
}

void ms_grow(void **p, size_t *capacity, size_t n, size_t size)
{
    size_t wanted;
    if (n < *capacity)
        return;
    wanted = *capacity ? *capacity : 16;
    while (wanted <= n) {
        if (wanted > SIZE_MAX / 2)
            out_of_memory(n, size);
        wanted *= 2;
    }
    *p = ms_realloc(*p, wanted, size);
    *capacity = wanted;
}

struct ms_arena *ms_arena_new(void)
{
    return ms_calloc(1, sizeof(struct ms_arena));
}

void *ms_arena_alloc(struct ms_arena *arena, size_t n, size_t size)
{
    struct arena_block *block = arena->head;
    size_t bytes;
    void *p;
    if (size && n > (SIZE_MAX - ARENA_BLOCK_BYTES) / size)
        out_of_memory(n, size);
    bytes = (n * size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (!block || block->capacity - block->used < bytes) {
        size_t capacity = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;
        block = ms_calloc(1, sizeof(*block) + capacity);
        block->capacity = capacity;
        block->next = arena->head;
        arena->head = block;
    }
    p = block->data + block->used;
    block->used += bytes;
    return p;
}

void ms_arena_free(struct ms_arena *arena)
{
    struct arena_block *block, *next;
    if (!arena)
        return;
    for (block = arena->head; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}
