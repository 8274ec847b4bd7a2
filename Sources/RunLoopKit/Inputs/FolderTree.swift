/// The watches of a folder and its subfolders, and what the kernel's notices mean. Guarded by the source's lock.
struct FolderTree {
    typealias Event = Loop.FolderSource.Event
    typealias Entry = Loop.FolderSource.Entry
    typealias Path = [UInt8]

    private static let slash = UInt8(ascii: "/")

    private let inotify: Descriptor
    private let root: Path
    private let rootWatch: FolderWatch
    private let kinds: FolderNoticeKinds
    private let hasSubfolders: Bool
    /// The paths of the watched folders, in the watched one, whose path is empty.
    private var paths: [FolderWatch: Path]
    private(set) var isGone = false

    // Of one batch.

    private var events: [Event] = []
    /// The first halves of moves.
    private var moving: [UInt32: (entry: Entry, place: Int)] = [:]
    /// What a listing has reported, until the notices that may tell of the same have been read.
    private var listed: Set<Path> = []

    init(_ inotify: Descriptor, _ path: Path, _ options: Loop.FolderSource.Options) throws(LoopError) {
        self.inotify = inotify
        hasSubfolders = options.contains(.subfolders)
        var kinds: FolderNoticeKinds = [
            .created, .deleted, .movedFrom, .movedTo, .closedAfterWrite, .onlyFolders, .folderDeleted,
        ]
        if options.contains(.attributes) { kinds.insert(.attributes) }
        if options.contains(.everyWrite) { kinds.insert(.modified) }
        self.kinds = kinds
        rootWatch = try System.addWatch(to: inotify, path + [0], for: kinds.union(.folderMoved))
        // The current folder may change.
        root = System.resolved(path + [0]) ?? path
        paths = [rootWatch: []]
        guard hasSubfolders else { return }
        watchContents(of: [], reports: false)
        // A limit that is reached at once is the caller's to know; the watched folder itself must be readable.
        for case .unwatched(let entry, let error) in events
        where error.errno != System.accessDenied || entry.bytes.isEmpty {
            throw error
        }
        events = []
    }

    /// The number of watches.
    var watchCount: Int { paths.count }

    // MARK: Reading

    /// The events of the notices that wait, up to some thousands.
    mutating func readEvents() -> [Event] {
        repeat {
            let notices = System.readNotices(of: inotify)
            for notice in notices where !isGone { handle(notice) }
            if notices.isEmpty { break }
        } while !isGone && events.count < 4096 && System.unreadBytes(in: inotify) > 0
        for (entry, _) in moving.values { if entry.isFolder { unwatch(entry.bytes) } }
        moving = [:]
        // All notices of what was there when a folder was listed have been read.
        if System.unreadBytes(in: inotify) <= 0 { listed = [] }
        defer { events = [] }
        return events
    }

    private mutating func handle(_ notice: FolderNotice) {
        let kind = notice.kind
        if kind.contains(.overflow) { return lookAgain() }
        guard let folder = paths[notice.watch] else { return }
        if !kind.isDisjoint(with: [.folderDeleted, .folderMoved, .unmounted, .ended]) {
            if notice.watch == rootWatch {
                isGone = true
                events.append(.gone)
            } else if kind.contains(.ended) {
                paths[notice.watch] = nil
            }
            return
        }
        // A notice about the folder itself. For a subfolder, its parent's watch reports the same.
        guard !notice.name.isEmpty else { return }
        let path = folder.isEmpty ? notice.name : folder + [Self.slash] + notice.name
        let entry = Entry(path, isFolder: kind.contains(.isFolder))
        if kind.contains(.created) { return appeared(entry) }
        if kind.contains(.movedTo) { return movedTo(entry, notice.cookie) }
        if kind.contains(.movedFrom) {
            moving[notice.cookie] = (entry, events.count)
            listed.remove(path)
            events.append(.deleted(entry))
        } else if kind.contains(.deleted) {
            listed.remove(path)
            events.append(.deleted(entry))
        } else if kind.contains(.closedAfterWrite) {
            events.append(.written(entry))
        } else if kind.contains(.modified) {
            events.append(.modified(entry))
        } else if kind.contains(.attributes) {
            events.append(.attributesChanged(entry))
        }
    }

    private mutating func appeared(_ entry: Entry) {
        if listed.remove(entry.bytes) == nil { events.append(.created(entry)) }
        if hasSubfolders, entry.isFolder { watch(entry, reports: true) }
    }

    private mutating func movedTo(_ new: Entry, _ cookie: UInt32) {
        guard let (old, place) = moving.removeValue(forKey: cookie) else { return appeared(new) }
        // It takes the place of the second half: what came between happened before the new path was there.
        listed.remove(new.bytes)
        events.remove(at: place)
        for other in moving.keys where moving[other]!.place > place { moving[other]!.place -= 1 }
        events.append(.moved(from: old, to: new))
        guard hasSubfolders, new.isFolder else { return }
        for (watch, path) in paths where Self.isIn(path, old.bytes) {
            paths[watch] = new.bytes + path.dropFirst(old.bytes.count)
        }
        // One that is not watched yet is listed now.
        if !paths.values.contains(new.bytes) { watch(new, reports: true) }
    }

    // MARK: Watching

    private func full(_ path: Path) -> Path { (path.isEmpty ? root : root + [Self.slash] + path) + [0] }

    private static func isIn(_ path: Path, _ folder: Path) -> Bool {
        path.starts(with: folder) && (path.count == folder.count || path[folder.count] == slash)
    }

    /// Watches a subfolder, and what is in it. Does nothing if it is gone, or is no folder.
    private mutating func watch(_ entry: Entry, reports: Bool) {
        if addWatch(to: entry) { watchContents(of: entry.bytes, reports: reports) }
    }

    private mutating func addWatch(to entry: Entry) -> Bool {
        do throws(LoopError) {
            let watch = try System.addWatch(to: inotify, full(entry.bytes), for: kinds.union(.notThroughLinks))
            paths[watch] = entry.bytes
            return true
        } catch {
            if !System.saysNoFolder(error.errno) { events.append(.unwatched(entry, error)) }
            return false
        }
    }

    /// Watches what is in a watched folder, at any depth. Each folder is listed after it is watched, so that nothing in
    /// it is missed. No recursion: others may choose the depth.
    private mutating func watchContents(of folder: Path, reports: Bool) {
        var rest = [folder]
        while let folder = rest.popLast() {
            let first = rest.count
            for (name, isFolder) in contents(of: folder) {
                let path = folder.isEmpty ? name : folder + [Self.slash] + name
                let entry = Entry(path, isFolder: isFolder)
                if reports, listed.insert(path).inserted { events.append(.created(entry)) }
                if isFolder, addWatch(to: entry) { rest.append(path) }
            }
            // The first of them is listed next.
            rest[first...].reverse()
        }
    }

    /// What is in a watched folder. Reports one that cannot be listed, whose subfolders are unknown.
    private mutating func contents(of folder: Path) -> [(name: [UInt8], isFolder: Bool)] {
        do throws(LoopError) {
            return try System.contents(ofFolder: full(folder))
        } catch {
            if !System.saysNoFolder(error.errno) { events.append(.unwatched(Entry(folder, isFolder: true), error)) }
            return []
        }
    }

    private mutating func unwatch(_ folder: Path) {
        for (watch, path) in paths where Self.isIn(path, folder) {
            System.removeWatch(watch, from: inotify)
            paths[watch] = nil
        }
    }

    /// Watches what is there now. A folder that is watched already keeps the number of its watch.
    private mutating func lookAgain() {
        events.append(.lookAgain)
        moving = [:]
        guard hasSubfolders else { return }
        let old = paths
        paths = [rootWatch: []]
        watchContents(of: [], reports: false)
        for watch in old.keys where paths[watch] == nil { System.removeWatch(watch, from: inotify) }
    }
}
