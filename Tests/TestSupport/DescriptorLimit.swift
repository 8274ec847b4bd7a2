#if canImport(Glibc)
    import Glibc
    private let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#elseif canImport(Musl)
    import Musl
    private let descriptors = RLIMIT_NOFILE
#elseif canImport(Android)
    import Android
    private let descriptors = RLIMIT_NOFILE
#endif

/// The limit of this process's descriptors. Most shells allow 1,024, and the tests need more than 3,000, since the
/// toolchain's CFRunLoop never closes the two of each mode.
enum DescriptorLimit {
    /// Raises it to the greatest that the system allows, once.
    static func raise() { _ = isRaised }

    private static let isRaised: Bool = {
        var limit = rlimit()
        getrlimit(descriptors, &limit)
        limit.rlim_cur = limit.rlim_max
        return setrlimit(descriptors, &limit) == 0
    }()
}
