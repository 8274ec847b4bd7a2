/// What a folder source reads its events from: the tree of a folder; or, while that is gone, the folders above its
/// path, until there is one at the path again. Who has taken it from the source alone uses it.
final class FolderFollower {
    typealias Event = Loop.FolderSource.Event
    typealias Path = [UInt8]

    private let inotify: Descriptor
    private let options: Loop.FolderSource.Options
    private let exclusion: FolderExclusion
    /// Absolute if the path is to be followed: the current folder may change.
    private let path: Path
    // Exclusivity is unchecked, since a checked access costs 90 instructions: who has it alone uses it.
    @exclusivity(unchecked) private var tree: FolderTree
    /// While the folder is gone, and its path is followed.
    @exclusivity(unchecked) private var wait: FolderWait?

    init(
        _ inotify: Descriptor, _ path: Path, _ options: Loop.FolderSource.Options,
        _ exclusion: Loop.FolderSource.Exclusion?
    ) throws(LoopError) {
        (self.inotify, self.options, self.exclusion) = (inotify, options, FolderExclusion(exclusion))
        tree = try FolderTree(inotify, path, options, self.exclusion)
        let isRelative = options.contains(.followsPath) && path.first != UInt8(ascii: "/")
        self.path = isRelative ? FolderWalk.join(System.resolved([UInt8(ascii: "."), 0]) ?? [], path) : path
        if options.contains(.followsPath) { tree.watchAbove() }
    }

    /// Whether the folder is gone for good.
    var isGone: Bool { tree.isGone && !options.contains(.followsPath) }

    /// Whether the folder is gone, and its path is followed.
    var isAway: Bool { wait != nil }

    /// The number of watches, those above the folder included.
    var watchCount: Int { wait?.watchCount ?? tree.watchCount }

    /// The events of the notices that wait, up to some thousands.
    func readEvents() -> [Event] {
        if wait != nil { return wait!.mayBeOver() ? look() : [] }
        let events = tree.readEvents()
        guard tree.isGone, options.contains(.followsPath) else { return events }
        wait = FolderWait(inotify, for: path, or: tree.root)
        return events + look()
    }

    /// Looks whether there is a folder. The folders above it are watched first: what they tell later is a reason to
    /// look again.
    private func look() -> [Event] {
        let reason = wait!.watchFoldersAbove()
        do throws(LoopError) {
            tree = try FolderTree(inotify, path, options, exclusion)
        } catch {
            let news = wait!.news(System.saysNoFolder(error.errno) ? reason : error)
            return news.map { [.unwatched(.init([], isFolder: true), $0)] } ?? []
        }
        wait!.end { tree.has($0) }
        wait = nil
        tree.watchAbove()
        return [.lookAgain]
    }
}

/// The watches of the folders above a path, while there is no folder at it.
///
/// Each tells of the next name in the path, and whether it is moved or deleted itself. The folder is looked up after
/// them. If it is not there yet, its coming makes a notice, and each notice makes another look.
private struct FolderWait {
    typealias Path = [UInt8]

    private static let slash = UInt8(ascii: "/")
    private static let kinds: FolderNoticeKinds = [
        .created, .movedTo, .attributes, .folderMoved, .folderDeleted, .onlyFolders,
    ]

    private let inotify: Descriptor
    private let paths: [Path]
    /// The names that each watched folder is asked for.
    private var names: [FolderWatch: Set<Path>] = [:]
    /// Why the folder, or the last one above it, could not be watched.
    private var failure: LoopError?

    /// - Parameters:
    ///   - path: Absolute.
    ///   - other: What it was without links.
    init(_ inotify: Descriptor, for path: Path, or other: Path) {
        self.inotify = inotify
        paths = other == path || other.first != Self.slash ? [path] : [path, other]
    }

    var watchCount: Int { names.count }

    /// Reads the notices that wait. Returns whether one is a reason to look.
    func mayBeOver() -> Bool {
        System.readNotices(of: inotify).contains { notice in
            if notice.kind.contains(.overflow) { return true }
            guard let names = names[notice.watch] else { return false }
            return notice.name.isEmpty || names.contains(notice.name)
        }
    }

    /// Watches the folders above the paths that are there now, and no others.
    ///
    /// - Returns: Why the last one above the path cannot be watched; nil if it is.
    mutating func watchFoldersAbove() -> LoopError? {
        let old = names
        names = [:]
        let reasons = paths.map { watchFolders(above: $0) }
        for watch in old.keys where names[watch] == nil { System.removeWatch(watch, from: inotify) }
        return reasons[0]
    }

    private mutating func watchFolders(above path: Path) -> LoopError? {
        var folder: Path = [Self.slash]
        var reason: LoopError?
        for name in path.split(separator: Self.slash) {
            do throws(LoopError) {
                let watch = try System.addWatch(to: inotify, folder + [0], for: Self.kinds)
                names[watch, default: []].insert(Path(name))
                reason = nil
            } catch {
                if System.saysNoFolder(error.errno) { break }
                // Those in it may be watched nevertheless.
                reason = error
            }
            folder += folder.count > 1 ? [Self.slash] + name : name
        }
        return reason
    }

    /// The failure, if it was not there before. Keeps it.
    mutating func news(_ failure: LoopError?) -> LoopError? {
        defer { self.failure = failure }
        return failure == self.failure ? nil : failure
    }

    /// - Parameter isNeeded: Whether the tree has the watch, too, since a link leads to a folder above itself.
    func end(unless isNeeded: (FolderWatch) -> Bool) {
        for watch in names.keys where !isNeeded(watch) { System.removeWatch(watch, from: inotify) }
    }
}
