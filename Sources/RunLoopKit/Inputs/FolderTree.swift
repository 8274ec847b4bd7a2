/// The watches of a folder and its subfolders, and what the kernel's notices mean.
struct FolderTree {
    typealias Event = Loop.FolderSource.Event
    typealias Entry = Loop.FolderSource.Entry
    typealias Path = [UInt8]

    private static let slash = UInt8(ascii: "/")

    private let inotify: Descriptor
    /// Without links, and absolute.
    let root: Path
    private let rootWatch: FolderWatch
    /// Nil if the path is not followed.
    private var above: FoldersAbove?
    private let kinds: FolderNoticeKinds
    private let hasSubfolders: Bool
    private var exclusion: FolderExclusion
    /// The paths of the watched folders, in the watched one, whose path is empty.
    private var paths: [FolderWatch: Path]
    private(set) var isGone = false

    // Of one batch.

    private var events: [Event] = []
    /// The second halves of moves.
    private var arrivals: Set<UInt32> = []
    /// The first halves of these, until the second is read.
    private var moving: [UInt32: (entry: Entry, place: Int)] = [:]

    // A folder is watched at the path that a notice tells. It may have left it by then, and another one may be there,
    // as later notices tell. So these are kept until all notices have been read; what is missed then, until the check.

    /// The watches that were added.
    private var young: Set<FolderWatch> = []
    /// The paths at which there was no folder to watch, or not the one that was to be listed.
    private var missed: Set<Path> = []
    /// Whether a folder was looked up in this batch: it may have left, and the notice comes a moment later.
    private var hasLooked = false
    /// The names that the last listing of a folder has reported, and no notice yet.
    private var listed: [Path: Set<Path>] = [:]

    // What is looked up by its path while others move folders may be another folder. So after such a meeting the whole
    // tree is checked, at the first moment at which no notice waits, and again until nothing happens meanwhile.

    /// Whether notices have told of a folder that has left its path.
    private var hasMoved = false
    /// Whether a folder was looked up while notices waited, or was not found.
    private var hasLookedTooEarly = false
    private var mustBeChecked = false
    /// The watches of folders whose file system was unmounted.
    private var unmounted: Set<FolderWatch> = []
    /// What a check has watched that was not exact.
    private var strays: Set<FolderWatch> = []
    /// The names in missed folders that notices have told: these have a watch after all.
    private var told: [Path: Set<Path>] = [:]

    init(
        _ inotify: Descriptor, _ path: Path, _ options: Loop.FolderSource.Options,
        _ exclusion: FolderExclusion
    ) throws(LoopError) {
        (self.inotify, self.exclusion) = (inotify, exclusion)
        hasSubfolders = options.contains(.subfolders)
        var kinds: FolderNoticeKinds = [
            .created, .deleted, .movedFrom, .movedTo, .closedAfterWrite, .onlyFolders, .folderDeleted,
        ]
        if options.contains(.attributes) { kinds.insert(.attributes) }
        if options.contains(.everyWrite) { kinds.insert(.modified) }
        // One of the folders above may be mounted in the tree, too, and what is asked of it last counts.
        if options.contains(.followsPath) { kinds.insert(.folderMoved) }
        self.kinds = kinds
        rootWatch = try Self.addRootWatch(to: inotify, path + [0], kinds)
        root = Self.resolved(path, rootWatch, inotify, kinds)
        paths = [rootWatch: []]
        guard hasSubfolders else { return }
        watchContents(of: [], rootWatch, reports: false)
        // A limit that is reached at once is the caller's to know; the watched folder itself must be readable. Others
        // may choose the permissions, the depth, and what is mounted.
        for case .unwatched(let entry, let error) in events
        where System.concernsNoFolder(error.errno) || entry.bytes.isEmpty {
            for watch in paths.keys { System.removeWatch(watch, from: inotify) }
            throw error
        }
        events = []
        hasLooked = false
        settleIfAllIsRead()
    }

    /// The number of watches.
    var watchCount: Int { paths.count + (above?.count ?? 0) }

    func has(_ watch: FolderWatch) -> Bool { paths[watch] != nil }

    // MARK: Reading

    /// The events of the notices that wait, up to some thousands.
    mutating func readEvents() -> [Event] {
        hasLooked = false
        let notices = readNotices()
        for notice in notices where notice.kind.contains(.movedTo) { arrivals.insert(notice.cookie) }
        for notice in notices where !isGone { handle(notice) }
        settleIfAllIsRead()
        if mustBeChecked, !isGone, System.unreadBytes(in: inotify) <= 0 { check() }
        defer { events = [] }
        if !arrivals.isEmpty { (arrivals, moving) = ([], [:]) }
        return events
    }

    private func readNotices() -> [FolderNotice] {
        var notices = System.readNotices(of: inotify)
        while !notices.isEmpty, notices.count < 4096, System.unreadBytes(in: inotify) > 0 {
            let more = System.readNotices(of: inotify)
            if more.isEmpty { break }
            notices += more
        }
        return notices
    }

    private mutating func settleIfAllIsRead() {
        guard hasSubfolders else { return }
        let isRead = System.unreadBytes(in: inotify) <= 0
        if hasLooked, !isRead || !missed.isEmpty { hasLookedTooEarly = true }
        if hasMoved, hasLooked || hasLookedTooEarly { mustBeChecked = true }
        guard isRead else { return }
        if !listed.isEmpty { listed = [:] }
        if missed.isEmpty, !told.isEmpty { told = [:] }
        if !hasLookedTooEarly { hasMoved = false }
        guard !hasLooked else { return }
        // No notice has told why.
        if !missed.isEmpty { mustBeChecked = true }
        if !young.isEmpty { young = [] }
        (hasMoved, hasLookedTooEarly) = (false, false)
    }

    private mutating func handle(_ notice: FolderNotice) {
        let kind = notice.kind
        if kind.contains(.overflow) { return lookAgain() }
        switch above?.news(in: notice) {
        case .areOthers:
            // For a moment, other subfolders may have been at the paths that were looked up.
            hasMoved = true
            // Another folder is there, and may not be entered yet: who waits for it hears of its permissions.
            if let error = lookAbove(), !isGone, !System.concernsNoFolder(error.errno) { isNowGone() }
        case .mayHaveLeft: findRoot()
        case nil: break
        }
        guard !isGone else { return }
        guard let folder = paths[notice.watch] else {
            // It may be the second half of a move to a folder that is not watched any more.
            return movedOut(notice.cookie)
        }
        if !kind.isDisjoint(with: [.folderDeleted, .folderMoved, .unmounted, .ended]) {
            if notice.watch == rootWatch {
                isNowGone()
            } else if kind.contains(.unmounted) {
                // The check finds what was below it. Until then it keeps its path, so that it is reported.
                unmounted.insert(notice.watch)
                mustBeChecked = true
            } else if kind.contains(.ended), !unmounted.contains(notice.watch) {
                paths[notice.watch] = nil
                young.remove(notice.watch)
            }
            return
        }
        // A notice about the folder itself. For a subfolder, its parent's watch reports the same.
        guard !notice.name.isEmpty else { return }
        let path = FolderWalk.join(folder, notice.name)
        let entry = Entry(path, isFolder: kind.contains(.isFolder))
        if exclusion.leavesOut(entry) {
            if entry.isFolder, !kind.isDisjoint(with: [.deleted, .movedFrom]) { exclusion.forgetLeftOut(path) }
            return movedOut(notice.cookie)
        }
        let wasListed = !kind.isDisjoint(with: .names) && listed[folder]?.remove(notice.name) != nil
        if !missed.isEmpty, !kind.isDisjoint(with: .names), missed.contains(folder) {
            told[folder, default: []].insert(notice.name)
        }
        if kind.contains(.created) { return appeared(entry, wasListed: wasListed) }
        if kind.contains(.movedTo) { return movedTo(entry, notice.cookie, wasListed: wasListed) }
        if kind.contains(.movedFrom) {
            if entry.isFolder { hasMoved = true }
            if arrivals.contains(notice.cookie) {
                moving[notice.cookie] = (entry, events.count)
            } else if entry.isFolder {
                unwatch(path)
            }
            events.append(.deleted(entry))
        } else if kind.contains(.deleted) {
            missed.remove(path)
            events.append(.deleted(entry))
        } else if kind.contains(.closedAfterWrite) {
            events.append(.written(entry))
        } else if kind.contains(.modified) {
            events.append(.modified(entry))
        } else if kind.contains(.attributes) {
            events.append(.attributesChanged(entry))
        }
    }

    /// - Parameter wasListed: Whether a listing has reported it, and watches it.
    private mutating func appeared(_ entry: Entry, wasListed: Bool) {
        if wasListed { return }
        events.append(.created(entry))
        if hasSubfolders, entry.isFolder { watch(entry, reports: true) }
    }

    /// What was moved has left the tree, if it was in it: the first half stays `deleted`.
    private mutating func movedOut(_ cookie: UInt32) {
        if let (old, _) = moving.removeValue(forKey: cookie), old.isFolder { unwatch(old.bytes) }
    }

    private mutating func movedTo(_ new: Entry, _ cookie: UInt32, wasListed: Bool) {
        if let (old, _) = moving[cookie], hasSubfolders, new.isFolder,
            exclusion.isChanged(by: (old.bytes, new.bytes), of: missed.union(paths.values))
        {
            movedOut(cookie)
        }
        guard let (old, place) = moving.removeValue(forKey: cookie) else {
            return appeared(new, wasListed: wasListed)
        }
        // It takes the place of the second half: what came between happened before the new path was there.
        events.remove(at: place)
        for other in moving.keys where moving[other]!.place > place { moving[other]!.place -= 1 }
        events.append(.moved(from: old, to: new))
        if hasSubfolders, new.isFolder { moveWatches(old, new, wasListed: wasListed) }
    }

    /// Gives the watches of a folder that has moved their new paths, and watches what was not, or may not have been,
    /// watched at the old ones. The last event is that of the move.
    ///
    /// - Parameter wasListed: Whether a listing has reported it at its new path, and watches it.
    private mutating func moveWatches(_ old: Entry, _ new: Entry, wasListed: Bool) {
        func moved(_ path: Path) -> Path { new.bytes + path.dropFirst(old.bytes.count) }
        let watches = paths.filter { FolderWalk.isIn($0.value, old.bytes) }
        // Two folders have exchanged their paths, which the kernel reports as two moves. The first has brought one to
        // the path of the other, which the second leaves: whose watches are whose is not known any more. The young ones
        // are looked at below.
        if watches.count(where: { $0.value == old.bytes && !young.contains($0.key) }) > 1 { return lookAgain() }
        for (watch, path) in watches { paths[watch] = moved(path) }
        exclusion.moved(from: old.bytes, to: new.bytes)
        let missedHere = missed.filter { FolderWalk.isIn($0, old.bytes) }
        missed.subtract(missedHere)
        /// The young watches of each path.
        var unsure: [Path: Set<FolderWatch>] = [:]
        if !wasListed, !watches.values.contains(old.bytes) { unsure[new.bytes] = [] }
        for path in missedHere { unsure[moved(path)] = [] }
        for (watch, path) in watches where young.contains(watch) { unsure[moved(path), default: []].insert(watch) }
        var known: Path?
        for (path, found) in unsure.sorted(by: { Self.isBefore($0.key, $1.key) }) {
            if let known, FolderWalk.isIn(path, known) { continue }
            let entry = Entry(path, isFolder: true)
            guard let watch = addWatch(to: entry) else { continue }
            let oldPath = old.bytes + path.dropFirst(new.bytes.count)
            if found == [watch], !missedHere.contains(oldPath) { continue }
            if found.contains(where: { $0 != watch }) {
                // What was watched and reported is of a folder that has come to the old path after the move.
                for (other, path) in watches
                where other != watch && young.contains(other) && FolderWalk.isIn(path, oldPath) {
                    paths[other] = path
                }
                if path == new.bytes { events.removeLast() }
                events += [.deleted(path == new.bytes ? old : entry), .created(entry)]
            }
            watchContents(of: path, watch, reports: true)
            known = path
        }
    }

    // MARK: Watching

    private func full(_ path: Path) -> Path { (path.isEmpty ? root : root + [Self.slash] + path) + [0] }

    /// The order in which a folder is followed by what is in it.
    private static func isBefore(_ path: Path, _ other: Path) -> Bool {
        path.lexicographicallyPrecedes(other) { ($0 == slash ? 0 : $0) < ($1 == slash ? 0 : $1) }
    }

    /// Watches a subfolder, and what is in it. Does nothing if it is gone, or is no folder.
    private mutating func watch(_ entry: Entry, reports: Bool) {
        if let watch = addWatch(to: entry) { watchContents(of: entry.bytes, watch, reports: reports) }
    }

    /// Returns nil if there is no folder, or it cannot be watched.
    private mutating func addWatch(to entry: Entry) -> FolderWatch? {
        do throws(LoopError) {
            let watch = try System.addWatch(to: inotify, full(entry.bytes), for: kinds.union(.notThroughLinks))
            if watch == rootWatch {
                // The watched folder is mounted in itself, too. This has changed what its watch reports.
                _ = try Self.addRootWatch(to: inotify, full([]), kinds)
                return nil
            }
            paths[watch] = entry.bytes
            young.insert(watch)
            missed.remove(entry.bytes)
            hasLooked = true
            return watch
        } catch {
            hasMissed(entry, error)
            return nil
        }
    }

    private mutating func hasMissed(_ entry: Entry, _ error: LoopError) {
        if System.saysNoFolder(error.errno) {
            missed.insert(entry.bytes)
            hasLooked = true
        } else {
            events.append(.unwatched(entry, error))
        }
    }

    /// Watches what is in a watched folder, at any depth. Each folder is listed after it is watched, so that nothing in
    /// it is missed. No recursion: others may choose the depth.
    private mutating func watchContents(of folder: Path, _ watch: FolderWatch, reports: Bool) {
        var rest = [(folder, watch)]
        while let (folder, watch) = rest.popLast() {
            // Of an earlier folder at the path.
            listed[folder] = nil
            guard let contents = contents(of: folder, reports: reports) else { continue }
            // Unless another folder has taken the path: its own notice will list it, and the notice of this one's move
            // will list this one.
            guard folder.isEmpty || addWatch(to: Entry(folder, isFolder: true)) == watch else {
                missed.insert(folder)
                continue
            }
            if reports { listed[folder] = Set(contents.map(\.name)) }
            let first = rest.count
            for (name, isFolder) in contents {
                let path = FolderWalk.join(folder, name)
                let entry = Entry(path, isFolder: isFolder)
                if reports { events.append(.created(entry)) }
                if isFolder, let watch = addWatch(to: entry) { rest.append((path, watch)) }
            }
            // The first of them is listed next.
            rest[first...].reverse()
        }
    }

    /// What is in a watched folder, and not left out; nil if it is gone. Reports one that cannot be listed, whose
    /// subfolders are unknown.
    ///
    /// - Parameter reports: Whether files are of interest, too.
    private mutating func contents(of folder: Path, reports: Bool) -> FolderWalk.Contents? {
        do throws(LoopError) {
            let contents = try System.contents(ofFolder: full(folder))
            return exclusion.included(of: contents, in: folder, reports: reports)
        } catch {
            hasMissed(Entry(folder, isFolder: true), error)
            return nil
        }
    }

    private mutating func unwatch(_ folder: Path) {
        for (watch, path) in paths where FolderWalk.isIn(path, folder) {
            System.removeWatch(watch, from: inotify)
            paths[watch] = nil
            young.remove(watch)
        }
        missed = missed.filter { !FolderWalk.isIn($0, folder) }
        exclusion.forget(folder)
    }

    private static func addRootWatch(
        to inotify: Descriptor, _ path: Path, _ kinds: FolderNoticeKinds
    ) throws(LoopError) -> FolderWatch {
        try System.addWatch(to: inotify, path, for: kinds.union(.folderMoved))
    }

    /// The path without links, and absolute, since the current folder may change; unless it leads elsewhere: links in
    /// `/proc` may lead to a folder that has no path here, such as one of another container.
    private static func resolved(
        _ path: Path, _ watch: FolderWatch, _ inotify: Descriptor, _ kinds: FolderNoticeKinds
    ) -> Path {
        var path = path
        while path.last == slash, path.count > 1 { path.removeLast() }
        guard let resolved = System.resolved(path + [0]) else { return path }
        do throws(LoopError) {
            let other = try addRootWatch(to: inotify, resolved + [0], kinds)
            if other == watch { return resolved }
            System.removeWatch(other, from: inotify)
        } catch {
            if !System.saysNoFolder(error.errno) { return resolved }
        }
        return path
    }

    /// Watches the folders above, too, from now on.
    mutating func watchAbove() {
        // No folder is above the root. The root of a container has the same path.
        guard root.count > 1 else { return }
        above = FoldersAbove(of: root, inotify)
        lookAbove()
    }

    /// The watched folder may have gone before there were these watches. Returns why that cannot be known.
    @discardableResult
    private mutating func lookAbove() -> LoopError? {
        while true {
            let areThere = above?.watch(besides: paths) ?? true
            let error = findRoot()
            if areThere || isGone || error != nil { return error }
        }
    }

    private mutating func isNowGone() {
        isGone = true
        above?.end()
        above = nil
        for watch in paths.keys { System.removeWatch(watch, from: inotify) }
        paths = [:]
        events.append(.gone)
    }

    /// Reports it if the watched folder is not at its path any more. Returns why that cannot be known.
    @discardableResult
    private mutating func findRoot() -> LoopError? {
        do throws(LoopError) {
            let watch = try Self.addRootWatch(to: inotify, full([]), kinds)
            if watch == rootWatch { return nil }
            System.removeWatch(watch, from: inotify)
        } catch {
            guard System.saysNoFolder(error.errno) else { return error }
        }
        isNowGone()
        return nil
    }

    /// Watches what is there now. A folder that is watched already keeps the number of its watch.
    private mutating func lookAgain() {
        events.append(.lookAgain)
        (moving, young, missed, listed, told) = ([:], [], [], [:], [:])
        exclusion.forgetAll()
        // The notice of its end may have been dropped. With subfolders, what cannot be listed is reported below.
        if let error = lookAbove(), !hasSubfolders { events.append(.unwatched(Entry([], isFolder: true), error)) }
        guard hasSubfolders, !isGone else { return }
        hasMoved = true
        let old = paths
        paths = [rootWatch: []]
        watchContents(of: [], rootWatch, reports: false)
        for watch in old.keys where paths[watch] == nil { System.removeWatch(watch, from: inotify) }
    }

    // MARK: Checking

    /// Watches what is there now, reports what was not known, and forgets what is not there. Reports nothing if events
    /// have come meanwhile: another pass reads them, and checks again.
    private mutating func check() {
        let old = paths
        let missed = missed
        let walk = FolderWalk(inotify, root, rootWatch, kinds, exclusion) { path, watch in
            old[watch] != path || missed.contains(path)
        }
        strays.formUnion(walk.watches.subtracting(old.keys))
        guard walk.isExact else { return }
        paths = [:]
        for folder in walk.folders { paths[folder.watch] = folder.path }
        for (folder, _) in walk.failures {
            for (watch, path) in old where paths[watch] == nil && FolderWalk.isIn(path, folder) { paths[watch] = path }
        }
        for watch in strays.union(old.keys) where paths[watch] == nil { System.removeWatch(watch, from: inotify) }
        reportMissing(old)
        reportNews(walk, old)
        exclusion = walk.exclusion
        (young, self.missed, strays, unmounted, told) = ([], [], [], [], [:])
        (mustBeChecked, hasMoved, hasLookedTooEarly) = (false, false, false)
    }

    /// - Parameter old: The paths before the check.
    private mutating func reportMissing(_ old: [FolderWatch: Path]) {
        let wrong = old.filter { paths[$0.key] != $0.value }.values
        if wrong.isEmpty { return }
        let right = old.filter { paths[$0.key] == $0.value }.values
        var last: Path?
        for path in wrong.sorted(by: Self.isBefore) {
            if let last, FolderWalk.isIn(path, last) { continue }
            // Another folder has its path, and is known.
            if right.contains(where: { FolderWalk.isIn($0, path) }) { continue }
            events.append(.deleted(Entry(path, isFolder: true)))
            last = path
        }
    }

    /// - Parameter old: The paths before the check.
    private mutating func reportNews(_ walk: FolderWalk, _ old: [FolderWatch: Path]) {
        var reported = missed
        for folder in walk.folders {
            guard let contents = folder.contents else { continue }
            if reported.insert(folder.path).inserted { events.append(.created(Entry(folder.path, isFolder: true))) }
            for (name, isFolder) in contents {
                let path = FolderWalk.join(folder.path, name)
                let isTold = told[folder.path]?.contains(name) ?? false
                if !isTold { events.append(.created(Entry(path, isFolder: isFolder))) }
                if isFolder { reported.insert(path) }
            }
        }
        let known = Set(old.values)
        for (path, error) in walk.failures where reported.contains(path) && !known.contains(path) {
            events.append(.unwatched(Entry(path, isFolder: true), error))
        }
    }
}
