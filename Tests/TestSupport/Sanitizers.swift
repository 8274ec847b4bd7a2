import Foundation

/// Whether this process, and the programs built with it, run under ThreadSanitizer.
package let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil

package let isUnderAddressSanitizer = dlsym(nil, "__asan_init") != nil

/// How many random programs a test plays: all in the long run of `scripts/check`, else a tenth; under ThreadSanitizer,
/// which slows them down tenfold and finds nothing in a program of one thread, a fiftieth.
package func programCount(_ all: UInt64) -> UInt64 {
    isLongRun ? all : max(1, all / (isUnderThreadSanitizer ? 50 : 10))
}

private let isLongRun = ProcessInfo.processInfo.environment["RUNLOOPKIT_LONG_TESTS"] != nil
