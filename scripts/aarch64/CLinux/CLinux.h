// In place of Sources/CLinux, whose headers no bare processor has: what the protocols call. Protocols.c has it.
#ifndef CLINUX_H
#define CLINUX_H

long clinux_futex_wait(const void *word, unsigned int value);
long clinux_futex_wait_until(const void *word, unsigned int value, long long nanoseconds);
long clinux_futex_wake(const void *word, int count);
int stand_in_make_eventfd(void);
void stand_in_signal(int descriptor);
void stand_in_close(int descriptor);
long long stand_in_nanoseconds(void);

#endif
