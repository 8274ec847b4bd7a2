// What the C library's module lacks: a header and a module map, no code.
#pragma once

// Defines __GLIBC__.
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>

// The bytes that the allocator has handed out, in all threads.
static inline size_t callocator_allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#else
static inline size_t callocator_allocated_bytes(void) { return 0; }
#endif
