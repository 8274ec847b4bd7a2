public import RunLoopKit
public import SystemPackage

extension Loop.FileDescriptorSource {
    /// Makes a source for a descriptor that the caller owns. Otherwise as
    /// `init(_:interest:trigger:isOneShot:label:file:line:handler:)` for a descriptor's number.
    ///
    /// ```swift
    /// let ends = try FileDescriptor.pipe(options: [.nonBlocking, .closeOnExec])
    /// let source = try Loop.FileDescriptorSource(owning: ends.readEnd) { source, _ in
    ///     guard let descriptor = source.fileDescriptor else { return }
    ///     …
    /// }
    /// ```
    ///
    /// - Throws: `LoopError`, whose ``RunLoopKit/LoopError/errorNumber`` is an `Errno`.
    public convenience init(
        _ descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line, handler: @escaping Handler
    ) throws(LoopError) {
        try self.init(
            descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label, file: file,
            line: line, handler: handler)
    }

    /// Makes a source that owns its descriptor, and closes it when the source is invalidated or deallocated. Do not
    /// close it elsewhere, such as by `closeAfter(_:)`.
    ///
    /// - Throws: `LoopError`. The descriptor is left open then, and is the caller's.
    public convenience init(
        owning descriptor: FileDescriptor, interest: Interest = .read, trigger: Trigger = .level,
        isOneShot: Bool = false, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping Handler
    ) throws(LoopError) {
        try self.init(
            owning: descriptor.rawValue, interest: interest, trigger: trigger, isOneShot: isOneShot, label: label,
            file: file, line: line, handler: handler)
    }

    /// The descriptor that the source was made with; nil once a source that owns it has closed it.
    public var fileDescriptor: FileDescriptor? {
        let number = descriptor
        return number < 0 ? nil : FileDescriptor(rawValue: number)
    }

    /// Makes a source for a descriptor that the caller owns, and the sequence of its reports, as
    /// `makeReports(of:interest:on:in:)` does for a descriptor's number.
    public static func makeReports(
        of descriptor: FileDescriptor, interest: Interest = .read, on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        try makeReports(of: descriptor.rawValue, interest: interest, on: loop, in: mode)
    }

    /// Makes a source that owns its descriptor, and the sequence of its reports, as
    /// `makeReports(owning:interest:on:in:)` does for a descriptor's number.
    public static func makeReports(
        owning descriptor: FileDescriptor, interest: Interest = .read, on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (source: Loop.FileDescriptorSource, reports: Reports) {
        try makeReports(owning: descriptor.rawValue, interest: interest, on: loop, in: mode)
    }
}

extension LoopError {
    /// The error number as swift-system has it: `catch where error.errorNumber == .tooManyOpenFiles`.
    public var errorNumber: Errno { Errno(rawValue: errno) }
}
