import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// What happens in real folders. A test changes files first, and then runs the loop: the kernel has the events by then.
/// Only a `written` may come later: another test that starts a program at that moment has the file open until then. So
/// nothing follows a `write` before its event was awaited.
@Suite(.timeBound) struct FolderSourceTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FolderScene

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
