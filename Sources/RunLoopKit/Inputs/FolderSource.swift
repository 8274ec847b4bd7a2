extension Loop {
    /// A version-1 source: reports what happens in a folder, and in its subfolders if asked to. Any thread may use it;
    /// the handler runs on the loop's thread.
    ///
    /// ```swift
    /// let source = try Loop.FolderSource("/etc") { source, events in
    ///     for event in events { print(event) }  // created app.conf, written app.conf
    /// }
    /// Loop.current.add(source, in: .default)
    /// ```
    ///
    /// It watches from the moment it is made; what happens before it is in a loop and has a handler waits. A call gets
    /// all events since the last one, in their order, some thousands at most.
    ///
    /// - *Paths* are relative to the watched folder: `"sub/file.txt"`. Names that are not UTF-8 are kept as bytes:
    ///   ``Entry``.
    /// - *A file that is complete* is one that was `written`, or was `moved` or `created` there: many programs write
    ///   under another name, and then move the file. A ``KeyedDebounce`` waits until a path has come to rest. More:
    ///   <doc:TerminalsFilesAndSockets#A-folder-of-files-that-arrive>.
    /// - *What the program itself does* in the folder is reported as well: its own socket's file, or its log.
    /// - *What is left out:* the caller's ``Exclusion`` says it, such as what a build writes, or the program's own
    ///   files. A folder that is left out costs no watch.
    /// - *Subfolders:* each takes a watch of the kernel's. A new one is watched, and then listed: what it contains by
    ///   then is reported as `created`. One that is moved away is no longer watched. Symbolic links to folders are not
    ///   followed; the path of the watched folder may be one.
    /// - *Too many events:* the kernel drops some, and the source reports ``Event/lookAgain``.
    /// - *The folder itself is gone:* ``Event/gone``, and the source is invalid; or, with ``Options/followsPath``, it
    ///   waits until there is a folder at the path again. Without that option, if a folder above it is renamed, the
    ///   source is still valid, but watches no new subfolder; once events are dropped, it is gone.
    /// - *Where folders are moved while new ones are looked up*, some subfolders may not be watched at first. Once no
    ///   event waits, the source checks the whole tree; what it finds is `created`, and what is not there `deleted`. It
    ///   checks again after events that come meanwhile: where they never pause for as long as a check takes, it never
    ///   ends.
    /// - *A subfolder that may not be read*, whose path is longer than the kernel allows (4,095 bytes), or whose file
    ///   system fails, such as a mount whose program has died, is passed over when the source is made. Later it is
    ///   ``Event/unwatched(_:_:)``.
    /// - *File systems in the tree* are watched like the folders around them. One that is mounted later is not watched.
    ///   Once one is unmounted, its folder is `deleted`, and `created` with what was below it. A folder that is mounted
    ///   at two paths of the tree is reported at one of them, and the end of such a mount is not noticed.
    ///
    /// Inotify sees what programs on this machine do, not what comes over a network file system, and no changes of
    /// mapped memory. It has a descriptor until it is deallocated. The source can be in several modes of one loop, and
    /// keeps runs in them going.
    ///
    /// CF: none; on Apple's systems `FSEvents`. Dispatch: `DispatchSource.makeFileSystemObjectSource`, for one file.
    /// GLib: `g_file_monitor`.
    public final class FolderSource: Item, Source1, @unchecked Sendable {
        /// The type of the handler.
        public typealias Handler = @Sendable (_ source: FolderSource, _ events: [Event]) -> Void

        /// The type of the function that says what a source leaves out: true for a file that is not to be reported, and
        /// for a folder that is neither to be reported nor watched, with all that is in it.
        ///
        /// ```swift
        /// let names: Set = [".git", ".build", "node_modules"]
        /// let source = try Loop.FolderSource(
        ///     ".", options: .subfolders, excluding: { names.contains($0.name) }
        /// ) { _, events in
        ///     for event in events { print(event) }
        /// }
        /// ```
        ///
        /// - *It is asked* about each name that an event or a listing tells, once each time, and not about what is in a
        ///   folder that is left out. The path is relative to the watched folder, as in the events. The watched folder
        ///   itself, and those above, are no question.
        /// - *It answers* by the entry alone, always the same: the file may be gone by then, or be another one.
        /// - *It is called* on the thread that makes the source, before the initializer returns, and then on the loop's
        ///   thread, before the handler. No lock is held. It may invalidate the source, and is asked about the rest of
        ///   what was read. If it runs the loop, the source reports nothing in that run, which does not sleep while the
        ///   folder has news.
        /// - *A move* to a name that is left out is ``Event/deleted(_:)``. One from there is ``Event/created(_:)``,
        ///   with what a folder contains. The move of a folder is both if the answer about a folder in it changes with
        ///   the path. Files in it are not asked about.
        /// - *Before ``Event/lookAgain``* the tree is asked about again. So is the new folder at the path, with
        ///   ``Options/followsPath``.
        ///
        /// An event about a name that is left out wakes the loop, and counts among those that wait in the kernel. Those
        /// in a folder that is left out do neither.
        ///
        /// FSEvents: `FSEventStreamSetExclusionPaths`. chokidar: `ignored`.
        public typealias Exclusion = @Sendable (_ entry: Entry) -> Bool

        /// The path that the source was made with.
        public let path: String

        /// What it watches and reports.
        public let options: Options

        private let inotify: Descriptor
        private let process = ProcessMark.current

        // Guarded by the item's lock, and exclusivity is unchecked for that.

        /// Nil while the loop's thread reads, without a lock: it lists large folders, and calls the exclusion. Nil once
        /// the source is invalid.
        @exclusivity(unchecked) private var follower: FolderFollower?

        /// As it was when the follower was last there.
        @exclusivity(unchecked) private var lastWatchCount: Int

        /// Nil before it is set, and once the source is invalid.
        @exclusivity(unchecked) private var handler: Handler?

        /// Whether the folder is gone, and its path is followed, as the handler was told last.
        @exclusivity(unchecked) private var isAway = false

        /// Makes a source, and begins to watch. With `subfolders` it lists the whole tree before it returns.
        ///
        /// - Parameters:
        ///   - path: The path of a folder.
        ///   - options: What to watch and report besides the folder's own entries.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with what has happened; never with an empty array. Nil to set it
        ///     later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``:
        ///   - `ENOENT` if there is nothing at the path, `ENOTDIR` if it is no folder, `EACCES` if it may not be read,
        ///     `EINVAL` if it contains a NUL.
        ///   - `ENOSPC` if the user has no watch left: `fs.inotify.max_user_watches` is the limit.
        ///   - `EMFILE` if the process has no descriptor left, or the user no instance of inotify:
        ///     `fs.inotify.max_user_instances` is that limit, 128 as a rule.
        public convenience init(
            _ path: String, options: Options = [], label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            try self.init(path, options, exclusion: nil, label, Place(file, line), handler)
        }

        /// Makes a source that leaves out some files and folders, and begins to watch. With `subfolders` it lists the
        /// tree, without what is left out, before it returns.
        ///
        /// - Parameters:
        ///   - path: The path of a folder.
        ///   - options: What to watch and report besides the folder's own entries.
        ///   - exclusion: What to leave out: ``Exclusion`` says when it is called. It is released with the handler.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with what has happened; never with an empty array. Nil to set it
        ///     later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``, as `init(_:options:label:file:line:handler:)` does.
        public convenience init(
            _ path: String, options: Options = [], excluding exclusion: @escaping Exclusion, label: String? = nil,
            file: StaticString = #fileID, line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            try self.init(path, options, exclusion: exclusion, label, Place(file, line), handler)
        }

        init(
            _ path: String, _ options: Options, exclusion: Exclusion?, _ label: String?, _ place: Place,
            _ handler: Handler?
        ) throws(LoopError) {
            self.path = path
            self.options = options
            self.handler = handler
            guard !path.utf8.contains(0) else {
                throw LoopError(
                    call: "inotify_add_watch(\(path.printable))", code: System.invalidArgument,
                    advice: "the path contains a NUL")
            }
            let inotify = try System.makeInotify()
            do throws(LoopError) {
                let follower = try FolderFollower(inotify, Array(path.utf8), options, exclusion)
                lastWatchCount = follower.watchCount
                self.follower = follower
            } catch {
                System.close(inotify)
                throw error
            }
            self.inotify = inotify
            super.init(place, label, belongsToProcess: true)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next call on. What happens in the folder without a handler waits in the
        /// kernel, which keeps 16,384 events as a rule (`fs.inotify.max_queued_events`): what comes on top is
        /// ``Event/lookAgain``. Until then a new subfolder is not watched. ``Loop/Item`` has the rules: a call that
        /// runs finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread with what has happened; never with an empty array.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        deinit { System.close(inotify) }

        /// The number of folders that are watched, those above included; 0 once the source is invalid. A user may have
        /// `fs.inotify.max_user_watches` of all sources and programs together. The kernel counts those of an invalid
        /// source until it is deallocated, unless the folder is gone.
        public var watchCount: Int { isValid ? itemLock.withLock { lastWatchCount } : 0 }

        // MARK: Source1

        var watches: [Watch] { [Watch(descriptor: inotify, events: .read)] }

        /// An earlier call, or one in a nested run, may have read what the kernel has reported.
        func workBehind(_ report: Report) -> PollEvents? {
            report.age == .fresh || System.isReadable(inotify) ? report.events : nil
        }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            // Nil in a run of the exclusion.
            guard let follower = itemLock.withLock({ self.follower.take() }) else { return 0 }
            Lock.assertNoneHeld()
            let events = follower.readEvents()
            let isGone = follower.isGone
            let handler = giveBack(follower, hasNews: !events.isEmpty)
            guard let handler, !events.isEmpty else { return 0 }
            if isGone { invalidate() }
            handler(self, events)
            return 1
        }

        /// - Returns: The handler.
        private func giveBack(_ follower: FolderFollower, hasNews: Bool) -> Handler? {
            itemLock.withLock {
                // An invalid source has released its exclusion.
                guard isValid else { return nil }
                self.follower = follower
                lastWatchCount = follower.watchCount
                if hasNews { isAway = follower.isAway }
                return handler
            }
        }

        // MARK: Item

        override var kind: String { "folder source" }

        override var status: ItemStatus {
            let isAway = itemLock.withLock { self.isAway }
            return .waits(
                "folder \(path.printable)" + (options.contains(.subfolders) ? " and its subfolders" : "")
                    + (isAway ? ", which is gone, to be there again" : ""))
        }

        override var wasMadeByParent: Bool { !process.isCurrent }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }
        override func releaseHandlers() { releaseUnlocked { (handler.take(), follower.take()) } }
    }
}
