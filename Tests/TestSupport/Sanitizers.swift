import Foundation

/// Whether this process, and the programs built with it, run under ThreadSanitizer.
package let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil

package let isUnderAddressSanitizer = dlsym(nil, "__asan_init") != nil

/// How many random programs a test plays: all in a whole long run, else a tenth. Under ThreadSanitizer, which slows
/// them down tenfold and finds nothing in a program of one thread, a fiftieth.
package func programCount(_ all: UInt64) -> UInt64 {
    UInt64(LongRun.count(Int(all), plain: Int(all) / (isUnderThreadSanitizer ? 50 : 10)))
}
