import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@_silgen_name("unshare") private func unshare(_ what: Int32) -> Int32

/// What happens in real folders. A test changes files first, and then runs the loop: the kernel has the events by then.
/// Only a `written` may come later: another test that starts a program at that moment has the file open until then. So
/// nothing follows a `write` before its event was awaited.
@Suite(.timeBound) struct FolderSourceTests {
    private typealias Source = Loop.FolderSource

    /// A temporary folder, a source for it, and a log.
    private final class Scene {
        let outer: String
        let root: String
        let loop = Loop.inVirtualTime().0
        let log = Log<Loop.FolderSource.Event>()
        private(set) var source: Loop.FolderSource!
        private var open: [Int32] = []

        init(_ options: Loop.FolderSource.Options = [], _ prepare: (Scene) -> Void = { _ in }) throws {
            var template = Array("\(NSTemporaryDirectory())/folder-XXXXXX".utf8CString)
            outer = String(cString: mkdtemp(&template))
            root = outer + "/root"
            makeFolder("")
            prepare(self)
            source = try Loop.FolderSource(root, options: options) { [log] _, events in
                #expect(!events.isEmpty)
                for event in events { log.add(event) }
            }
            loop.add(source)
        }

        deinit {
            for file in open { close(file) }
            try? FileManager.default.removeItem(atPath: outer)
        }

        func path(_ name: String) -> String { name.isEmpty ? root : root + "/" + name }

        func makeFolder(_ name: String) { #expect(mkdir(path(name), 0o755) == 0) }

        /// Makes a file without opening it.
        func make(_ name: String) { #expect(mknod(path(name), S_IFREG | 0o644, 0) == 0) }

        func write(_ name: String, closing: Bool = true) {
            let file = Glibc.open(path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            #expect(file >= 0 && Glibc.write(file, "x", 1) == 1)
            if closing { close(file) } else { open.append(file) }
        }

        func move(_ old: String, to new: String) { #expect(rename(path(old), path(new)) == 0) }

        func remove(_ name: String) { #expect(Glibc.remove(path(name)) == 0) }

        /// Makes so many events that the kernel drops what comes next. False if it keeps too many for a test.
        func fillQueue() throws -> Bool {
            let text = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
            guard let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit <= 100_000 else {
                return false
            }
            // Equal events in a row are one: so two names in turn. What changes no folder takes the kernel less time.
            for name in ["a", "b"] { make(name) }
            for _ in 0...limit / 2 {
                for name in ["a", "b"] { close(Glibc.open(path(name), O_WRONLY | O_CLOEXEC)) }
            }
            for name in ["a", "b"] { remove(name) }
            return true
        }

        /// What has happened since the last call.
        ///
        /// - Parameter least: How many events to wait for.
        func news(_ least: Int = 0) -> [String] {
            let count = log.entries.count
            repeat { _ = loop.run(mode: .default, for: .seconds(1)) } while log.entries.count < count + least
            return log.entries.dropFirst(count).map(\.description)
        }
    }

    @Test("Files are created, written, moved and deleted")
    func files() throws {
        let scene = try Scene()
        #expect(scene.news() == [])
        scene.write("a")
        #expect(scene.news(2) == ["created a", "written a"])
        scene.write("a")
        #expect(scene.news(1) == ["written a"])
        scene.move("a", to: "b")
        scene.remove("b")
        #expect(scene.news(2) == ["moved a to b", "deleted b"])
        scene.makeFolder("c")
        scene.make("c/not-watched")
        #expect(scene.news(1) == ["created c/"])
        #expect("\(scene.loop)".contains("folder \(scene.root)"))
    }

    @Test("Moves in and out are what they look like from inside")
    func movesAcross() throws {
        let scene = try Scene()
        scene.make("../in")
        scene.move("../in", to: "in")
        scene.make("../new")
        scene.move("in", to: "../out")
        scene.move("../new", to: "in")
        #expect(scene.news(3) == ["created in", "deleted in", "created in"])
        scene.make("other")
        _ = scene.news()
        scene.move("in", to: "other")
        #expect(scene.news(1) == ["moved in to other"])
    }

    @Test("Attributes and single writes are reported where they are asked for")
    func options() throws {
        let scene = try Scene([.attributes, .everyWrite])
        scene.write("a", closing: false)
        #expect(scene.news(2) == ["created a", "modified a"])
        #expect(chmod(scene.path("a"), 0o600) == 0)
        #expect(scene.news(1) == ["attributes of a"])
        let plain = try Scene { $0.make("a") }
        plain.write("a", closing: false)
        #expect(chmod(plain.path("a"), 0o600) == 0)
        #expect(plain.news() == [])
    }

    @Test("Subfolders are watched, new ones too, and what was in these before")
    func subfolders() throws {
        let scene = try Scene(.subfolders) {
            $0.makeFolder("old")
            $0.makeFolder("old/deep")
            $0.make("old/known")
        }
        #expect(scene.source.watchCount == 3 && scene.news() == [])
        scene.write("old/deep/a")
        #expect(scene.news(2) == ["created old/deep/a", "written old/deep/a"])
        // All of this is there before the source can watch it.
        scene.makeFolder("new")
        scene.makeFolder("new/sub")
        scene.make("new/sub/file")
        #expect(scene.news(3) == ["created new/", "created new/sub/", "created new/sub/file"])
        scene.write("new/sub/file")
        #expect(scene.news(1) == ["written new/sub/file"])
        scene.write("new/sub/next")
        #expect(scene.news(2) == ["created new/sub/next", "written new/sub/next"])
        scene.remove("new/sub/file")
        scene.remove("new/sub/next")
        scene.remove("new/sub")
        #expect(scene.news(3) == ["deleted new/sub/file", "deleted new/sub/next", "deleted new/sub/"])
        #expect(scene.source.watchCount == 4)
    }

    @Test("A subfolder keeps its watch under a new name, and loses it when it is moved away")
    func movedSubfolders() throws {
        let scene = try Scene(.subfolders) {
            $0.makeFolder("a")
            $0.makeFolder("a/b")
            $0.makeFolder("ab")
        }
        scene.move("a", to: "c")
        scene.write("c/b/file")
        #expect(scene.news(3) == ["moved a/ to c/", "created c/b/file", "written c/b/file"])
        scene.write("ab/file")
        #expect(scene.news(2) == ["created ab/file", "written ab/file"])
        scene.move("c", to: "../away")
        #expect(scene.news(1) == ["deleted c/"] && scene.source.watchCount == 2)
        scene.make("../away/b/unseen")
        #expect(scene.news() == [])
        scene.move("../away", to: "back")
        let contents = scene.news()
        #expect(contents.first == "created back/" && contents.count == 4 && scene.source.watchCount == 4)
        #expect(contents.contains("created back/b/file") && contents.contains("created back/b/unseen"))
        scene.write("back/b/unseen")
        #expect(scene.news(1) == ["written back/b/unseen"])
        scene.move("ab", to: "../away")
        scene.move("back", to: "../away/back")
        #expect(scene.news() == ["deleted ab/", "deleted back/"] && scene.source.watchCount == 1)
    }

    /// The source looks at a path when its notice is read: another folder may be there by then.
    @Test("A folder that takes the path of another one is watched, and so is the other one")
    func pathsThatAreTakenAgain() throws {
        let scene = try Scene(.subfolders) { $0.makeFolder("a") }
        scene.move("a", to: "../old")
        scene.makeFolder("a")
        #expect(scene.news() == ["deleted a/", "created a/"] && scene.source.watchCount == 2)
        scene.make("a/x")
        #expect(scene.news() == ["created a/x"])
        scene.move("a", to: "../away")
        scene.move("../away", to: "a")
        #expect(scene.news() == ["deleted a/", "created a/", "created a/x"])
        scene.remove("a/x")
        #expect(scene.news() == ["deleted a/x"])
        scene.remove("a")
        scene.makeFolder("a")
        scene.remove("a")
        scene.makeFolder("a")
        scene.make("a/y")
        #expect(scene.news().suffix(3) == ["deleted a/", "created a/", "created a/y"])
        #expect(scene.source.watchCount == 2)
    }

    @Test("Folders that are made at one path and moved to others, one after the other, are all watched")
    func publishedFolders() throws {
        let scene = try Scene(.subfolders)
        for name in ["one", "two"] {
            scene.makeFolder("new")
            scene.make("new/\(name)")
            scene.move("new", to: name)
        }
        scene.makeFolder("new")
        let news = scene.news()
        #expect(scene.source.watchCount == 4)
        #expect(news.contains("created one/one") && news.contains("created two/two"))
        scene.make("one/later")
        scene.make("two/later")
        #expect(scene.news() == ["created one/later", "created two/later"])
        // It is made in a folder that has another path when the source looks.
        scene.makeFolder("one/sub")
        scene.move("one", to: "three")
        scene.make("three/sub/file")
        #expect(scene.news() == ["created one/sub/", "moved one/ to three/", "created three/sub/file"])
        scene.make("three/sub/next")
        #expect(scene.news() == ["created three/sub/next"] && scene.source.watchCount == 5)
    }

    /// What one who follows the events knows.
    private struct FollowedTree {
        private(set) var paths: Set<String> = []

        private func inside(_ folder: String) -> Set<String> {
            paths.filter { $0 == folder || $0.hasPrefix(folder + "/") }
        }

        mutating func follow(_ events: some Sequence<Source.Event>) {
            for event in events {
                switch event {
                case .created(let entry): paths.insert(entry.path)
                case .deleted(let entry): paths.subtract(inside(entry.path))
                case .moved(from: let old, to: let new):
                    let moved = inside(old.path)
                    paths.subtract(moved.union(inside(new.path)))
                    for path in moved { paths.insert(new.path + path.dropFirst(old.path.count)) }
                    paths.insert(new.path)
                default: Issue.record("\(event)")
                }
            }
        }

        func expectIsThere(_ scene: Scene) throws {
            let found = try FileManager.default.subpathsOfDirectory(atPath: scene.root)
            #expect(paths == Set(found))
            let folders = found.count { (try? FileManager.default.contentsOfDirectory(atPath: scene.path($0))) != nil }
            #expect(scene.source.watchCount == folders + 1)
        }
    }

    /// Few names, so that most paths are taken again; and some changes at once, so that the source is late.
    @Test("Who follows the events knows the whole tree", arguments: UInt64(0)..<40)
    func followedTree(seed: UInt64) throws {
        var random = SplitMix(seed)
        let scene = try Scene(.subfolders) { #expect(mkdir("\($0.outer)/outside", 0o755) == 0) }
        func anyPath() -> String {
            let names = (0..<random.below(3) + 1).map { _ in ["a", "b", "c"][random.below(3)] }.joined(separator: "/")
            return scene.path(random.below(8) == 0 ? "../outside/\(names)" : names)
        }
        var tree = FollowedTree()
        for _ in 0..<20 {
            let count = scene.log.entries.count
            for _ in 0...random.below(12) {
                switch random.below(10) {
                case 0..<3: mkdir(anyPath(), 0o755)
                case 3..<5: mknod(anyPath(), S_IFREG | 0o644, 0)
                case 5..<7: remove(anyPath())
                default: rename(anyPath(), anyPath())
                }
            }
            _ = scene.news()
            tree.follow(scene.log.entries.dropFirst(count))
            try tree.expectIsThere(scene)
        }
    }

    @Test("Folders that are made and moved while the source looks are followed", arguments: 0..<2)
    func movesMeanwhile(_: Int) throws {
        let scene = try Scene(.subfolders)
        let (root, isOver) = (scene.root, Gate())
        let thread = try System.startThread(stackSize: nil) {
            for number in 0..<300 {
                precondition(mkdir("\(root)/new", 0o755) == 0 && mkdir("\(root)/new/sub", 0o755) == 0)
                precondition(mknod("\(root)/new/sub/file", S_IFREG | 0o644, 0) == 0)
                precondition(rename("\(root)/new", "\(root)/\(number)") == 0)
            }
            isOver.open()
        }
        while !isOver.isOpenNow { scene.loop.run(mode: .default, for: .seconds(1)) }
        System.join(thread)
        _ = scene.news()
        var tree = FollowedTree()
        tree.follow(scene.log.entries)
        try tree.expectIsThere(scene)
    }

    /// Each to a path that nothing had before.
    @Test("Folders that move while the source looks for new ones in them are all watched", arguments: UInt64(0)..<20)
    func movesOfParents(seed: UInt64) throws {
        var random = SplitMix(seed)
        var folders = ["p"]
        var steps: [(old: String?, new: String)] = []
        for number in 0..<40 {
            let place = folders[random.below(folders.count)]
            if random.below(2) == 0 {
                folders.append("\(place)/\(number)")
                steps.append((nil, "\(place)/\(number)"))
                continue
            }
            let (old, new) = (folders[random.below(folders.count)], "\(place)/\(number)")
            if "\(place)/".hasPrefix("\(old)/") { continue }
            for (index, folder) in folders.enumerated() where "\(folder)/".hasPrefix("\(old)/") {
                folders[index] = new + folder.dropFirst(old.count)
            }
            steps.append((old, new))
        }
        let scene = try Scene(.subfolders) { $0.makeFolder("p") }
        let (root, isOver) = (scene.root, Gate())
        let thread = try System.startThread(stackSize: nil) { [steps] in
            for (old, new) in steps {
                if let old {
                    precondition(rename("\(root)/\(old)", "\(root)/\(new)") == 0)
                } else {
                    precondition(mkdir("\(root)/\(new)", 0o755) == 0)
                }
            }
            isOver.open()
        }
        while !isOver.isOpenNow { scene.loop.run(mode: .default, for: .seconds(1)) }
        System.join(thread)
        _ = scene.news()
        #expect(scene.source.watchCount == folders.count + 1)
        for folder in folders { scene.make("\(folder)/file") }
        #expect(scene.news() == folders.map { "created \($0)/file" })
    }

    @Test("Symbolic links are not followed, except to the watched folder")
    func links() throws {
        let scene = try Scene(.subfolders) { $0.makeFolder("../target") }
        #expect(symlink(scene.path("../target"), scene.path("link")) == 0)
        #expect(scene.news(1) == ["created link"] && scene.source.watchCount == 1)
        scene.make("../target/unseen")
        #expect(scene.news() == [])
        let log = Log<String>()
        let through = try Source(scene.path("link")) { _, events in for event in events { log.add("\(event)") } }
        scene.loop.add(through)
        scene.make("../target/seen")
        #expect(scene.news() == [])
        #expect(log.entries == ["created seen"])
    }

    @Test("An event has what it is about, if that is not the whole folder")
    func entryOfAnEvent() {
        let (old, new) = (Source.Entry("old"), Source.Entry("new", isFolder: true))
        let error = LoopError(call: "inotify_add_watch", code: EACCES)
        let events: [Source.Event] = [
            .created(new), .written(new), .modified(new), .moved(from: old, to: new), .deleted(new),
            .attributesChanged(new), .unwatched(new, error),
        ]
        #expect(events.allSatisfy { $0.entry == new })
        #expect(Source.Event.lookAgain.entry == nil && Source.Event.gone.entry == nil)
    }

    @Test("Names are bytes")
    func names() throws {
        let scene = try Scene(.subfolders)
        let name: [UInt8] = [0x66, 0xFF, 0x0A]  // f, no UTF-8, a line feed
        func full(_ path: [UInt8]) -> [CChar] {
            scene.path("/").utf8CString.dropLast() + (path + [0]).map(CChar.init(bitPattern:))
        }
        #expect(mkdir(full(name), 0o755) == 0)
        #expect(mkdir(full(name + Array("/sub".utf8)), 0o755) == 0)
        _ = scene.news()
        #expect(
            scene.log.entries == [
                .created(.init(name, isFolder: true)), .created(.init(name + Array("/sub".utf8), isFolder: true)),
            ])
        guard case .created(let entry) = scene.log.entries[0] else { return }
        #expect(entry.path == "f\u{FFFD}\n" && !entry.description.contains("\n"))
        #expect(rmdir(full(name + Array("/sub".utf8))) == 0)
        #expect(scene.news().count == 1)
        #expect(scene.log.entries.last == .deleted(.init(name + Array("/sub".utf8), isFolder: true)))
        let long = String(repeating: "n", count: 255)
        scene.write(long)
        #expect(scene.news(2) == ["created \(long)", "written \(long)"])
    }

    @Test("The watched folder itself can go", arguments: [true, false])
    func gone(isMoved: Bool) throws {
        let scene = try Scene(.subfolders)
        scene.make("a")
        if isMoved {
            scene.move("", to: "../elsewhere")
        } else {
            scene.remove("a")
            scene.remove("")
        }
        #expect(scene.source.watchCount == 1)
        let news = scene.news()
        #expect(news.first == "created a" && news.last == "the folder is gone")
        #expect(!scene.source.isValid && scene.loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(scene.source.watchCount == 0)
    }

    @Test("Errors say what to do")
    func errors() throws {
        let scene = try Scene { $0.make("file") }
        for (path, code, name) in [
            (scene.path("none"), ENOENT, "ENOENT"), (scene.path("file"), ENOTDIR, "ENOTDIR"),
            (scene.path(String(repeating: "n", count: 300)), ENAMETOOLONG, "ENAMETOOLONG"),
        ] {
            let error = #expect(throws: LoopError.self) { try Source(path) { _, _ in } }
            #expect(error?.errno == code && "\(error!)".contains("(\(name))") && "\(error!)".contains(path))
        }
        #expect(throws: LoopError.self) { try Source("") { _, _ in } }
        let error = #expect(throws: LoopError.self) { try Source("\(scene.root)\0/none") { _, _ in } }
        #expect(error?.errno == EINVAL && "\(error!)".contains("the path contains a NUL"))
        if geteuid() != 0 {
            #expect(mkdir(scene.path("closed"), 0) == 0)
            let error = #expect(throws: LoopError.self) { try Source(scene.path("closed")) { _, _ in } }
            #expect(error?.errno == EACCES)
        }
    }

    @Test("Errors show names escaped, which others may choose")
    func escapedErrors() throws {
        let scene = try Scene()
        let error = #expect(throws: LoopError.self) { try Source(scene.path("\u{1B}[31m\n")) { _, _ in } }
        #expect("\(error!)".contains("/\\u{1B}[31m\\n): "))
    }

    @Test("A subfolder whose path is too long is passed over when the source is made")
    func tooDeep() throws {
        let name = String(repeating: "n", count: 250)
        var open: [Int32] = []
        let scene = try Scene(.subfolders) {
            open.append(Glibc.open($0.root, O_DIRECTORY | O_CLOEXEC))
            for _ in 0..<20 {
                #expect(mkdirat(open.last!, name, 0o755) == 0)
                open.append(openat(open.last!, name, O_DIRECTORY | O_CLOEXEC))
            }
        }
        scene.make("top")
        #expect(scene.news(1) == ["created top"])
        close(open.removeLast())
        while let folder = open.popLast() {
            #expect(unlinkat(folder, name, AT_REMOVEDIR) == 0)
            close(folder)
        }
    }

    /// The loop runs on a thread that has mounts of its own.
    @Test("After an unmount, what was below the file system is reported and watched", .enabled(if: geteuid() == 0))
    func unmount() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            Thread.detachNewThread {
                defer { done.resume() }
                let isAllowed = unshare(0x20000) == 0  // CLONE_NEWNS
                guard isAllowed, mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0 else { return }
                let scene = try? Scene(.subfolders) {
                    $0.makeFolder("sub")
                    $0.make("sub/below")
                    #expect(mount("none", $0.path("sub"), "tmpfs", 0, nil) == 0)
                    $0.makeFolder("sub/inner")
                }
                guard let scene else {
                    Issue.record("There is no source.")
                    return
                }
                scene.make("sub/inner/a")
                #expect(scene.news(1) == ["created sub/inner/a"])
                #expect(umount(scene.path("sub")) == 0)
                #expect(scene.news(3) == ["deleted sub/", "created sub/", "created sub/below"])
                scene.make("sub/b")
                #expect(scene.news(1) == ["created sub/b"])
            }
        }
    }

    @Test("Lost events are told, and new subfolders watched all the same")
    func overflow() throws {
        let scene = try Scene(.subfolders) { $0.makeFolder("old") }
        guard try scene.fillQueue() else { return }
        scene.makeFolder("old/new")
        #expect(scene.news().last == "look again at everything")
        #expect(scene.source.watchCount == 3)
        scene.write("old/new/b")
        #expect(scene.news(2) == ["created old/new/b", "written old/new/b"])
    }

    private enum End: CaseIterable { case deleted, replaced, moved, movedWithFolderAbove }

    @Test(
        "The watched folder is gone, even if the events that say so are lost", arguments: End.allCases,
        [[], Source.Options.subfolders])
    private func goneInOverflow(_ end: End, _ options: Source.Options) throws {
        let scene = try Scene(options) { if options.contains(.subfolders) { $0.makeFolder("old") } }
        guard try scene.fillQueue() else { return }
        switch end {
        case .deleted, .replaced:
            if options.contains(.subfolders) { scene.remove("old") }
            scene.remove("")
            if end == .replaced { scene.makeFolder("") }
        case .moved: scene.move("", to: "../elsewhere")
        case .movedWithFolderAbove: #expect(rename(scene.outer, scene.outer + "-moved") == 0)
        }
        defer { if end == .movedWithFolderAbove { _ = rename(scene.outer + "-moved", scene.outer) } }
        #expect(scene.news().suffix(2) == ["look again at everything", "the folder is gone"])
        #expect(!scene.source.isValid && scene.source.watchCount == 0)
    }

    @Test("A folder that is still there is not gone, but watched on after lost events")
    func overflowWithoutSubfolders() throws {
        let scene = try Scene()
        guard try scene.fillQueue() else { return }
        #expect(scene.news().last == "look again at everything" && scene.source.watchCount == 1)
        scene.make("b")
        #expect(scene.news() == ["created b"])
        scene.source.invalidate()
        #expect(scene.source.watchCount == 0)
    }

    /// Whoever may write into a watched folder chooses how deep it is: as deep as a path can be long.
    @Test("Folders of any depth fit into a small stack, there at first or moved in")
    func depth() throws {
        let thread = try System.startThread(stackSize: 128 * 1024) {
            let deepest = 600
            func makeDeepFolder(_ scene: Scene) {
                for depth in 1...deepest {
                    #expect(mkdir(scene.outer + String(repeating: "/d", count: depth), 0o755) == 0)
                }
            }
            do {
                let scene = try Scene(.subfolders, makeDeepFolder)
                scene.move("../d", to: "d")
                #expect(scene.news().count == deepest && scene.source.watchCount == deepest + 1)
                let inner = try Source(scene.root, options: .subfolders)
                #expect(inner.watchCount == deepest + 1)
                inner.invalidate()
            } catch {
                Issue.record(error)
            }
        }
        System.join(thread)
    }

    @Test("Thousands of events come in order, in some calls")
    func many() throws {
        let scene = try Scene(.subfolders)
        let calls = Count()
        let other = try Source(scene.root) { _, _ in calls.up() }
        scene.loop.add(other)
        for number in 0..<6000 { scene.make("\(number)") }
        let expected = (0..<6000).map { "created \($0)" }
        #expect(scene.news() == expected && calls.value < 10)
    }

    @Test("Events wake a sleeping loop, and an invalid source reports nothing")
    func sleepingLoop() throws {
        let scene = try Scene()
        let thread = try LoopThread()
        let log = Log<String>()
        let source = try Source(scene.root) { _, events in for event in events { log.add("\(event)") } }
        thread.loop.add(source)
        spin(until: thread.loop.waker.isAsleep)
        scene.makeFolder("a")
        spin(until: !log.entries.isEmpty)
        source.invalidate()
        scene.makeFolder("b")
        try thread.performAndWait {}
        #expect(log.entries == ["created a/"])
        #expect(!thread.loop.add(source))
    }

    @Test("The handler may invalidate its source, run the loop, and change files")
    func reentrancy() throws {
        let scene = try Scene()
        let log = Log<String>()
        let source = try Source(scene.root) { [loop = scene.loop, path = scene.path("nested")] source, events in
            log.add(events.map(\.description).joined(separator: ", "))
            if log.entries.count == 1 {
                #expect(mkdir(path, 0o755) == 0)
                loop.run(mode: .default, for: .zero)
            } else {
                source.invalidate()
            }
        }
        scene.loop.add(source)
        scene.makeFolder("first")
        _ = scene.news()
        scene.makeFolder("last")
        _ = scene.news()
        #expect(log.entries == ["created first/", "created nested/"] && !source.isValid)
    }

    private actor Desk {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var news: [Loop.FolderSource.Event] = []

        init(_ thread: LoopThread) { self.thread = thread }

        func watch(_ path: String) throws {
            thread.loop.add(
                try Source(path, isolation: self) { desk, _, events in desk.news += events })
        }
    }

    @Test("The handler may belong to an actor")
    func isolation() async throws {
        let scene = try Scene()
        let thread = try LoopThread()
        let desk = Desk(thread)
        try await desk.watch(scene.root)
        scene.makeFolder("a")
        while await desk.news.isEmpty { await Task.yield() }
        #expect(await desk.news == [.created(.init("a", isFolder: true))])
        let ofMain = try Source(scene.root, isolation: .shared) { _, _ in }
        #expect(!thread.loop.add(ofMain))
    }
}
