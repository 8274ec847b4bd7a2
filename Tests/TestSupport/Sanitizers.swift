import Foundation

/// Whether ThreadSanitizer watches this process, and the programs that were built with it.
package let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil
