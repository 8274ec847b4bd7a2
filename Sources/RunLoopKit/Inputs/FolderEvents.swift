extension Loop.FolderSource {
    /// A file or folder, by its path in the watched folder.
    public struct Entry: Hashable, Sendable, CustomStringConvertible {
        /// The bytes of the path, such as those of `"sub/file.txt"`. File names are bytes, and need not be UTF-8.
        public let bytes: [UInt8]

        /// Whether it is a folder. A symbolic link is none.
        public let isFolder: Bool

        /// Makes an entry, for tests of handlers.
        public init(_ bytes: [UInt8], isFolder: Bool) { (self.bytes, self.isFolder) = (bytes, isFolder) }

        /// Makes an entry, for tests of handlers.
        public init(_ path: String, isFolder: Bool = false) { self.init(Array(path.utf8), isFolder: isFolder) }

        /// The path, such as `"sub/file.txt"`. What is not UTF-8 is replaced by U+FFFD: open such a file by
        /// ``Loop/FolderSource/Entry/bytes``.
        public var path: String { String(decoding: bytes, as: UTF8.self) }

        /// The last part of the path, such as `"file.txt"`.
        public var name: String {
            let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
            return String(decoding: bytes[start...], as: UTF8.self)
        }

        /// The path; that of a folder ends with a slash.
        public var description: String { path.printable + (isFolder ? "/" : "") }
    }

    /// What has happened in a folder.
    public enum Event: Equatable, Sendable, CustomStringConvertible {
        /// It was made, or moved in from a folder that is not watched. Also what a new subfolder was found to contain.
        case created(Entry)

        /// A file was closed by a program that had opened it to write. It may be complete now, and may be unchanged. If
        /// the program has children that inherited the descriptor, the last one to close it counts.
        case written(Entry)

        /// The contents have changed, while a program has the file open. Only with
        /// ``Loop/FolderSource/Options/everyWrite``.
        case modified(Entry)

        /// It was moved or renamed, with all that it contains. Another file at the new path is replaced.
        ///
        /// The kernel reports the two halves one after the other. They are `deleted` and `created` if another program's
        /// event comes between two reads, or another folder has taken the old path before the source could look.
        case moved(from: Entry, to: Entry)

        /// It was deleted, or moved to a folder that is not watched.
        case deleted(Entry)

        /// Its permissions, owner, times, attributes or number of links have changed. Only with
        /// ``Loop/FolderSource/Options/attributes``.
        case attributesChanged(Entry)

        /// The kernel has dropped events, since too many waited (`fs.inotify.max_queued_events`). Look again at
        /// everything. New subfolders are watched by then. ``gone`` follows if the watched folder is not at its path.
        ///
        /// Also after two moves by which two subfolders have exchanged their paths (`RENAME_EXCHANGE`).
        ///
        /// With ``Loop/FolderSource/Options/followsPath``, also: there is a folder at the path again, after ``gone``.
        case lookAgain

        /// A subfolder cannot be watched: what happens in it is not reported. The error is that of
        /// `inotify_add_watch`, `EACCES` or `ENOSPC` as a rule. If it is that of `opendir`, such as `EMFILE`, the
        /// folder is watched, but the folders in it are not; the path of the watched folder itself is empty.
        ///
        /// With ``Loop/FolderSource/Options/followsPath`` and an empty path, after ``gone``: the folder is there again,
        /// but cannot be watched; or the last existing folder above its path cannot be. The source tries again when
        /// something changes on the path. It does not learn that a limit leaves room again.
        case unwatched(Entry, LoopError)

        /// The watched folder itself was deleted, moved or unmounted. The last event: the source is invalid by then.
        ///
        /// The kernel tells of a deletion only when no process has a file of the folder open, or works in it. Until
        /// then a folder that a log's writer holds is silent. With ``Loop/FolderSource/Options/followsPath`` the event
        /// comes at once, if the folder above is watched.
        ///
        /// With that option the source stays valid. ``lookAgain`` follows once there is a folder at the path; in the
        /// same call, if it is there already.
        ///
        /// A debounce that earlier events have started still acts: cancel it.
        case gone

        /// What the event is about; of a move, where it is now. Nil for ``lookAgain`` and ``gone``.
        public var entry: Entry? {
            switch self {
            case .created(let entry), .written(let entry), .modified(let entry), .moved(from: _, to: let entry),
                .deleted(let entry), .attributesChanged(let entry), .unwatched(let entry, _):
                entry
            case .lookAgain, .gone: nil
            }
        }

        /// The kind of event, and the path.
        public var description: String {
            switch self {
            case .created(let entry): "created \(entry)"
            case .written(let entry): "written \(entry)"
            case .modified(let entry): "modified \(entry)"
            case .moved(let old, let new): "moved \(old) to \(new)"
            case .deleted(let entry): "deleted \(entry)"
            case .attributesChanged(let entry): "attributes of \(entry)"
            case .lookAgain: "look again at everything"
            case .unwatched(let entry, let error): "cannot watch \(entry): \(error)"
            case .gone: "the folder is gone"
            }
        }
    }

    /// What a source watches and reports.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8

        /// Makes options from their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Watch the subfolders too, at any depth, and those that are made or moved in later.
        public static let subfolders = Options(rawValue: 1)

        /// Report ``Loop/FolderSource/Event/attributesChanged(_:)``.
        public static let attributes = Options(rawValue: 2)

        /// Report ``Loop/FolderSource/Event/modified(_:)``, at each write.
        public static let everyWrite = Options(rawValue: 4)

        /// Wait, when the folder is gone, until there is one at the path again, and watch that:
        /// ``Loop/FolderSource/Event/gone`` and then ``Loop/FolderSource/Event/lookAgain`` are reported.
        ///
        /// ```swift
        /// let source = try Loop.FolderSource("/etc", options: .followsPath) { _, events in
        ///     if events.contains(.lookAgain) { work() }  // another folder, with what it contains by now
        /// }
        /// ```
        ///
        /// - When the source is made, there must be a folder. Then any number may go and come. While there is none, the
        ///   source is valid, and keeps runs going; then the folders above may go and come, too.
        /// - A folder above that is *moved* takes the folder with it: so it is gone. If it is back before the source
        ///   looks, nothing is reported.
        /// - Meanwhile the folders above the path are watched, each with one of the kernel's watches. Files that others
        ///   make there wake the loop, but call no handler.
        /// - While the folder is there, those above are watched, too, except where one may not be read, or no watch is
        ///   left. Only a move of one of them wakes the loop. But files that others delete right above, or move to
        ///   there, do so, too, and count among the events that wait. So beside a folder in a busy one, such as `/tmp`,
        ///   the kernel drops events sooner: ``Event/lookAgain``.
        /// - *Mounting* makes no event. A folder in a file system that is unmounted and mounted again is found once
        ///   something changes in the folders above, as they are without it; one that is hidden by a mount is still
        ///   watched.
        /// - A relative path counts from the folder that was current when the source was made.
        /// - If the path is a symbolic link, a folder is looked for at the link, and after it has gone, at both: the
        ///   link and what it named before. The folders above are those of what it names. A link that is changed, or
        ///   moved, while its old folder is still there is not followed; nor is a folder found that comes where a new
        ///   link points to already.
        public static let followsPath = Options(rawValue: 8)
    }
}
