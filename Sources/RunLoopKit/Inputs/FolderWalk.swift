/// A walk through the whole tree of a watched folder, which watches each folder in it that is not left out, and finds
/// those that are news.
///
/// A folder is watched, then listed, and then looked up once more. Who makes, moves or deletes a folder keeps the
/// folders locked that have its names, until the notice can be read; and a listing waits for this lock. So the walk is
/// exact if it finds each folder, and no notice waits at its end.
struct FolderWalk {
    typealias Path = [UInt8]
    typealias Contents = FolderExclusion.Contents

    struct Folder {
        let path: Path
        let watch: FolderWatch
        /// Nil if it is no news.
        let contents: Contents?
    }

    private let inotify: Descriptor
    private let root: Path
    private let kinds: FolderNoticeKinds

    private(set) var isExact = false
    /// Each before those that are in it.
    private(set) var folders: [Folder] = []
    /// What cannot be watched or listed, and why.
    private(set) var failures: [(path: Path, error: LoopError)] = []
    /// Those of the folders, and others if it is not exact.
    private(set) var watches: Set<FolderWatch> = []
    /// With the folders that are left out.
    private(set) var exclusion: FolderExclusion

    /// - Parameter isNews: Whether the contents of a folder are not known.
    init(
        _ inotify: Descriptor, _ root: Path, _ rootWatch: FolderWatch, _ kinds: FolderNoticeKinds,
        _ exclusion: FolderExclusion, isNews: (Path, FolderWatch) -> Bool
    ) {
        (self.inotify, self.root, self.kinds, self.exclusion) = (inotify, root, kinds, exclusion)
        self.exclusion.forgetAll()
        do throws(LoopError) {
            guard try watch([]) == rootWatch else { return }
            var rest: [(Path, FolderWatch)] = [([], rootWatch)]
            while let (path, watch) = rest.popLast() {
                // No use to go on.
                if folders.count % 64 == 63, System.unreadBytes(in: inotify) > 0 { return }
                let isNews = isNews(path, watch)
                let contents = self.exclusion.included(of: try contents(of: path), in: path, reports: isNews)
                guard try self.watch(path) == watch else { return }
                folders.append(Folder(path: path, watch: watch, contents: isNews ? contents : nil))
                for (name, isFolder) in contents.reversed() where isFolder {
                    let inner = Self.join(path, name)
                    // The watched folder may be mounted in itself, too.
                    if let watch = try watchIfAllowed(inner), watch != rootWatch { rest.append((inner, watch)) }
                }
            }
            isExact = try watch([]) == rootWatch && System.unreadBytes(in: inotify) <= 0
        } catch {}  // There was no folder.
    }

    static func join(_ folder: Path, _ name: Path) -> Path {
        folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
    }

    static func isIn(_ path: Path, _ folder: Path) -> Bool {
        path.starts(with: folder) && (path.count == folder.count || path[folder.count] == UInt8(ascii: "/"))
    }

    private func full(_ path: Path) -> Path { Self.join(root, path) + [0] }

    private mutating func watch(_ path: Path) throws(LoopError) -> FolderWatch {
        let (path, kind) = path.isEmpty ? (root + [0], FolderNoticeKinds.folderMoved) : (full(path), .notThroughLinks)
        let watch = try System.addWatch(to: inotify, path, for: kinds.union(kind))
        watches.insert(watch)
        return watch
    }

    /// Throws only if there is no folder.
    private mutating func watchIfAllowed(_ path: Path) throws(LoopError) -> FolderWatch? {
        do throws(LoopError) {
            return try watch(path)
        } catch {
            try hasFailed(path, error)
            return nil
        }
    }

    /// Throws only if there is no folder.
    private mutating func contents(of path: Path) throws(LoopError) -> Contents {
        do throws(LoopError) {
            return try System.contents(ofFolder: path.isEmpty ? root + [0] : full(path))
        } catch {
            try hasFailed(path, error)
            return []
        }
    }

    private mutating func hasFailed(_ path: Path, _ error: LoopError) throws(LoopError) {
        if System.saysNoFolder(error.errno) { throw error }
        failures.append((path, error))
    }
}
