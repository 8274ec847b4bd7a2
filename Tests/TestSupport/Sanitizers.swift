import Foundation

/// Whether this process, and the programs built with it, run under ThreadSanitizer.
package let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil

package let isUnderAddressSanitizer = dlsym(nil, "__asan_init") != nil

/// How many random programs a suite plays by default: a tenth under a sanitizer, which is slow.
package func programCount(_ usual: UInt64) -> UInt64 {
    isUnderThreadSanitizer || isUnderAddressSanitizer ? usual / 10 : usual
}
