// Where the threads of Swift's runtime meet, for ScheduleProgram.

#pragma once

#include <stdbool.h>

/// Whether the process can be told of mutexes, and no job may leave for Swift's own threads.
bool schedule_seam_is_there(void);

/// What a thread that takes part calls instead of waiting for a mutex, which another one has locked, and when it has
/// unlocked one that another waits for; and what it calls for a job that it gives to Swift's own threads.
void schedule_seam_set(void (*_Nonnull wait)(void *_Nonnull mutex), void (*_Nonnull wake)(void *_Nonnull mutex),
                       void (*_Nonnull job_leaves)(void));

/// What a thread that takes part calls in front of each release of a reference that is not the only one.
void schedule_seam_set_release(void (*_Nonnull comes)(const void *_Nonnull object));

/// Whether the calling thread takes part: from when it has its first turn until it leaves, but not while
/// it is in the scheduler. Returns whether it did.
bool schedule_seam_take_part(bool takes_part);
