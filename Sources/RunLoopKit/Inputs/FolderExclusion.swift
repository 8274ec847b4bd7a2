/// What a folder source leaves out: the user's function, and the folders for which it has said so.
struct FolderExclusion {
    typealias Entry = Loop.FolderSource.Entry
    typealias Path = [UInt8]
    typealias Contents = [(name: Path, isFolder: Bool)]

    private let exclusion: Loop.FolderSource.Exclusion?
    /// The paths of the folders that are left out of watched ones: where a folder above is moved, they are asked about
    /// again.
    private var folders: Set<Path> = []

    init(_ exclusion: Loop.FolderSource.Exclusion?) { self.exclusion = exclusion }

    /// Asks about what a notice tells, or a listing.
    mutating func leavesOut(_ entry: Entry) -> Bool {
        guard let exclusion, exclusion(entry) else { return false }
        if entry.isFolder { folders.insert(entry.bytes) }
        return true
    }

    /// What of a listed folder is not left out.
    ///
    /// - Parameter reports: Whether files are of interest, too.
    mutating func included(of contents: Contents, in folder: Path, reports: Bool) -> Contents {
        guard exclusion != nil else { return contents }
        return contents.filter { name, isFolder in
            (reports || isFolder) && !leavesOut(Entry(FolderWalk.join(folder, name), isFolder: isFolder))
        }
    }

    /// Asks about the subfolders of a folder that has moved. Returns whether other ones are left out than before.
    ///
    /// - Parameter watched: The paths of the other ones, as they were.
    func isChanged(by move: (old: Path, new: Path), of watched: @autoclosure () -> Set<Path>) -> Bool {
        guard let exclusion else { return false }
        func isLeftOutNow(_ path: Path) -> Bool {
            exclusion(Entry(move.new + path.dropFirst(move.old.count), isFolder: true))
        }
        return watched().contains { $0 != move.old && FolderWalk.isIn($0, move.old) && isLeftOutNow($0) }
            || folders.contains { FolderWalk.isIn($0, move.old) && !isLeftOutNow($0) }
    }

    /// The folders that are left out of a folder that has moved keep their places in it.
    mutating func moved(from old: Path, to new: Path) {
        if folders.isEmpty { return }
        folders = Set(folders.map { FolderWalk.isIn($0, old) ? new + $0.dropFirst(old.count) : $0 })
    }

    /// A folder that is left out is no longer there. Nothing in it is known.
    mutating func forgetLeftOut(_ folder: Path) { folders.remove(folder) }

    /// A folder is no longer there, or not watched any more.
    mutating func forget(_ folder: Path) {
        if !folders.isEmpty { folders = folders.filter { !FolderWalk.isIn($0, folder) } }
    }

    mutating func forgetAll() { folders = [] }
}
