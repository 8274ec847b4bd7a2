internal import CLinux

/// The kernel's numbers of a watch. It counts up, and reuses none.
typealias FolderWatch = Int32

/// One event as the kernel tells it.
struct FolderNotice {
    let watch: FolderWatch
    let kind: FolderNoticeKinds
    /// Links the two halves of a move.
    let cookie: UInt32
    /// The bytes of a name in the folder; empty for the folder itself.
    let name: [UInt8]
}

/// What a watch is asked to report, and what it has reported: inotify's bits, which are Linux's everywhere.
struct FolderNoticeKinds: OptionSet, Sendable {
    let rawValue: UInt32

    static let modified = FolderNoticeKinds(rawValue: 0x2)
    static let attributes = FolderNoticeKinds(rawValue: 0x4)
    static let closedAfterWrite = FolderNoticeKinds(rawValue: 0x8)
    static let movedFrom = FolderNoticeKinds(rawValue: 0x40)
    static let movedTo = FolderNoticeKinds(rawValue: 0x80)
    static let created = FolderNoticeKinds(rawValue: 0x100)
    static let deleted = FolderNoticeKinds(rawValue: 0x200)
    static let folderDeleted = FolderNoticeKinds(rawValue: 0x400)
    static let folderMoved = FolderNoticeKinds(rawValue: 0x800)

    /// What a folder contains has changed.
    static let names: FolderNoticeKinds = [.created, .deleted, .movedFrom, .movedTo]

    // Only reported.
    static let unmounted = FolderNoticeKinds(rawValue: 0x2000)
    static let overflow = FolderNoticeKinds(rawValue: 0x4000)
    /// The watch has ended.
    static let ended = FolderNoticeKinds(rawValue: 0x8000)
    static let isFolder = FolderNoticeKinds(rawValue: 1 << 30)

    // Only asked for.
    static let onlyFolders = FolderNoticeKinds(rawValue: 0x100_0000)
    static let notThroughLinks = FolderNoticeKinds(rawValue: 0x200_0000)
    /// In addition to what the watch reports already, if there is one.
    static let besidesOthers = FolderNoticeKinds(rawValue: 0x2000_0000)
}

extension System {
    static func makeInotify() throws(LoopError) -> Descriptor {
        let descriptor = clinux_inotify_make()
        if descriptor >= 0 { return try aboveStreams(descriptor) }
        let advice =
            lastError == EMFILE
            ? "no descriptor is left, or no instance of inotify: the limit is fs.inotify.max_user_instances" : nil
        throw LoopError(call: "inotify_init1", advice: advice)
    }

    /// - Parameter path: The bytes of a path, and a zero.
    static func addWatch(
        to inotify: Descriptor, _ path: [UInt8], for kinds: FolderNoticeKinds
    ) throws(LoopError) -> FolderWatch {
        let watch = path.withUnsafeBytes {
            clinux_inotify_add(inotify, $0.assumingMemoryBound(to: CChar.self).baseAddress!, kinds.rawValue)
        }
        if watch >= 0 { return watch }
        let code = lastError
        let advice = code == ENOSPC ? "the limit of watches is fs.inotify.max_user_watches" : nil
        throw LoopError(
            call: "inotify_add_watch(\(String(decoding: path.dropLast(), as: UTF8.self).printable))", code: code,
            advice: advice)
    }

    /// Ends a watch; its last notice is `ended`.
    static func removeWatch(_ watch: FolderWatch, from inotify: Descriptor) { _ = inotify_rm_watch(inotify, watch) }

    /// Reads what a buffer holds. Empty if nothing waits.
    static func readNotices(of inotify: Descriptor) -> [FolderNotice] {
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 8) { buffer in
            let count = clinux_read(inotify, buffer.baseAddress, UInt(buffer.count))
            if count < 0, lastError != EAGAIN, lastError != EINTR { descriptorFailed("read(inotify \(inotify))") }
            var notices: [FolderNotice] = []
            var bytes = buffer[..<max(0, Int(count))]
            let header = MemoryLayout<inotify_event>.size
            while bytes.count >= header {
                let event = UnsafeRawBufferPointer(rebasing: bytes).loadUnaligned(as: inotify_event.self)
                let name = bytes.dropFirst(header).prefix(Int(event.len)).prefix { $0 != 0 }
                notices.append(
                    FolderNotice(
                        watch: event.wd, kind: FolderNoticeKinds(rawValue: event.mask), cookie: event.cookie,
                        name: Array(name)))
                bytes = bytes.dropFirst(header + Int(event.len))
            }
            return notices
        }
    }
}
