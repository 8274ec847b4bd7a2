/// Descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens those that were closed when the program started. Otherwise a later descriptor, such as a loop's, would get
    /// the number and be used as standard output.
    ///
    /// Call this before anything opens a descriptor. Like GNU's `stdopen`, it opens them for the wrong direction:
    /// reading such an input and writing to such an output fail (EBADF), as with closed ones.
    static func openMissing() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` takes the lowest free number, which is this one.
            let opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
            guard opened == descriptor else { leave(with: .failure) }
        }
    }
}
