import Foundation

/// Whether this process, and the programs built with it, run under ThreadSanitizer.
package let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil

package let isUnderAddressSanitizer = dlsym(nil, "__asan_init") != nil
