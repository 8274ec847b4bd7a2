#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Runs a QCoreApplication, which calls `pass` when `descriptor` is readable, and `timeout` once. Ends when `pass`
/// returns 0.
void qt_run(int descriptor, int (*pass)(void), void (*timeout)(void));

#ifdef __cplusplus
}
#endif
