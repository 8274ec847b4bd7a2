/// The watches of the folders above a watched one. They tell that it has left its path, since one of them was moved.
/// The one right above tells of its deletion at once: its own watch does only when no process holds it.
///
/// Each is watched by its path, from the top. If another folder was there at that moment, it has left the path by the
/// time at which the watched one is found there. To leave, it or one above it was moved or deleted. That makes a
/// notice, and so another look; late if it was deleted while a process holds it.
struct FoldersAbove {
    typealias Path = [UInt8]

    private static let slash = UInt8(ascii: "/")

    private let inotify: Descriptor
    /// That of the watched folder: absolute, without links.
    private let path: Path
    private var watches: Set<FolderWatch> = []
    /// That of the folder right above. It is asked for more.
    private var parent: FolderWatch?

    init(of path: Path, _ inotify: Descriptor) { (self.inotify, self.path) = (inotify, path) }

    var count: Int { watches.count }

    /// Watches the folders that are above the path now, except those that may not be watched, and removes the other
    /// watches. The caller must then look whether the folder is at its path.
    ///
    /// - Parameter paths: The watches in the folder, one of which may be the same, by a mount.
    /// - Returns: False if one was not there: if the folder is at its path, the caller must call this again.
    mutating func watch(besides paths: [FolderWatch: Path]) -> Bool {
        let old = watches
        (watches, parent) = ([], nil)
        guard path.first == Self.slash, path.count > 1 else { return true }
        var areThere = true
        let last = path.lastIndex(of: Self.slash)
        for end in path.indices where path[end] == Self.slash && (end > 0 || end == last) {
            var kinds: FolderNoticeKinds = [.folderMoved, .onlyFolders, .besidesOthers]
            if end == last { kinds.formUnion([.deleted, .movedTo]) }
            let folder = end == 0 ? [Self.slash] : Path(path[..<end])
            do throws(LoopError) {
                let watch = try System.addWatch(to: inotify, folder + [0], for: kinds)
                watches.insert(watch)
                if end == last { parent = watch }
            } catch {
                if System.saysNoFolder(error.errno) { areThere = false }
            }
        }
        for watch in old.subtracting(watches) where paths[watch] == nil { System.removeWatch(watch, from: inotify) }
        return areThere
    }

    enum News { case mayHaveLeft, areOthers }

    /// What a notice tells: the folder may have left its path, or other folders may be above it, too.
    mutating func news(in notice: FolderNotice) -> News? {
        guard watches.contains(notice.watch) else { return nil }
        if notice.kind.contains(.ended) { watches.remove(notice.watch) }
        if !notice.kind.isDisjoint(with: [.folderMoved, .ended]) { return .areOthers }
        let name = path[(path.lastIndex(of: Self.slash)! + 1)...]
        return notice.watch == parent && notice.name.elementsEqual(name) ? .mayHaveLeft : nil
    }

    func end() {
        for watch in watches { System.removeWatch(watch, from: inotify) }
    }
}
