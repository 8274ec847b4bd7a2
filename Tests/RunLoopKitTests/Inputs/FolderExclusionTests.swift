import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// What a source leaves out. `FolderMoveTests` does so in random trees.
@Suite(.timeBound) struct FolderExclusionTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FolderScene

    private static let names: Set = ["out", "left"]
    @Sendable private static func isLeftOut(_ entry: Source.Entry) -> Bool { names.contains(entry.name) }

    @Test("An entry has a name")
    func entryName() {
        #expect(Source.Entry("file.txt").name == "file.txt")
        #expect(Source.Entry("sub/.git", isFolder: true).name == ".git")
        #expect(Source.Entry([0x61, 0x2F, 0xFF], isFolder: false).name == "\u{FFFD}")
        #expect(Source.Entry("").name == "")
    }

    @Test("A folder that is left out costs no watch, and makes no event that waits")
    func folders() throws {
        let scene = try Scene(.subfolders, excluding: Self.isLeftOut) {
            for name in ["out", "out/deep", "in", "in/left"] { $0.makeFolder(name) }
        }
        #expect(scene.source.watchCount == 2)
        for name in ["out/deep/a", "in/left/a"] { scene.write(name) }
        #expect(!System.isReadable(scene.source.watches[0].descriptor))
        #expect(scene.news() == [])
        // Later ones, made at once and one after the other.
        scene.makeFolder("new")
        scene.makeFolder("new/out")
        scene.make("new/out/a")
        scene.make("new/b")
        #expect(scene.news() == ["created new/", "created new/b"])
        scene.makeFolder("left")
        scene.makeFolder("left/deep")
        #expect(scene.news() == [] && scene.source.watchCount == 3)
        scene.make("left/deep/a")
        #expect(!System.isReadable(scene.source.watches[0].descriptor))
        scene.remove("new/out/a")
        scene.remove("new/out")
        scene.make("new/c")
        #expect(scene.news() == ["created new/c"])
    }

    @Test(
        "A file that is left out is not reported, whatever happens to it", arguments: [[], Source.Options.subfolders])
    private func files(_ options: Source.Options) throws {
        let scene = try Scene(options.union([.attributes, .everyWrite]), excluding: Self.isLeftOut)
        scene.write("out")
        #expect(chmod(scene.path("out"), 0o600) == 0)
        scene.move("out", to: "left")
        scene.remove("left")
        #expect(scene.news() == [])
        // It was no folder.
        scene.makeFolder("out")
        scene.make("out/a")
        scene.make("b")
        #expect(scene.news(1) == ["created b"])
    }

    @Test("It is asked about each name that is told, relative to the folder")
    func questions() throws {
        let asked = Log<String>()
        var count = 0
        func questions() -> [String] {
            defer { count = asked.entries.count }
            return Array(asked.entries.dropFirst(count))
        }
        let scene = try Scene(
            .subfolders,
            excluding: {
                asked.add("\($0)")
                return Self.isLeftOut($0)
            }
        ) {
            for name in ["out", "out/deep", "in"] { $0.makeFolder(name) }
            $0.make("in/file")
        }
        // Of what was there before, files are no question.
        #expect(questions().sorted() == ["in/", "out/"])
        scene.make("in/a")
        scene.makeFolder("new")
        scene.make("new/b")
        _ = scene.news()
        #expect(questions().sorted() == ["in/a", "new/", "new/b"] && scene.source.watchCount == 3)
        scene.make("out/deep/c")
        _ = scene.news()
        #expect(questions() == [])
    }

    @Test("A move to a name that is left out is a deletion, one from there a creation")
    func moves() throws {
        let scene = try Scene(.subfolders, excluding: Self.isLeftOut) {
            for name in ["a", "a/sub", "a/out"] { $0.makeFolder(name) }
            for name in ["file", "a/sub/x", "a/out/y"] { $0.make(name) }
        }
        scene.move("file", to: "out")
        scene.move("out", to: "other")
        #expect(scene.news() == ["deleted file", "created other"])
        scene.move("a", to: "left")
        #expect(scene.news() == ["deleted a/"] && scene.source.watchCount == 1)
        scene.make("left/sub/z")
        #expect(scene.news() == [])
        scene.move("left", to: "b")
        let created = scene.news()
        #expect(created.first == "created b/" && created.count == 4 && scene.source.watchCount == 3)
        #expect(created.contains("created b/sub/x") && created.contains("created b/sub/z"))
        // Between two that are watched, with what is left out in it.
        scene.move("b", to: "sub")
        scene.make("sub/sub/new")
        scene.make("sub/out/new")
        #expect(scene.news() == ["moved b/ to sub/", "created sub/sub/new"])
        // Out of what is watched, and back.
        scene.makeFolder("left")
        scene.move("sub", to: "left/sub")
        #expect(scene.news() == ["deleted sub/"] && scene.source.watchCount == 1)
        scene.move("left/sub", to: "sub")
        #expect(scene.news().contains("created sub/sub/new") && scene.source.watchCount == 3)
    }

    @Test("A folder that is left out and one that is watched exchange their paths")
    func exchange() throws {
        let scene = try Scene(.subfolders, excluding: Self.isLeftOut) {
            for name in ["out", "out/of-out", "in", "in/of-in"] { $0.makeFolder(name) }
        }
        guard scene.exchange("in", "out") else { return }
        #expect(scene.news() == ["deleted in/", "created in/", "created in/of-out/"])
        scene.make("in/of-out/a")
        scene.make("out/of-in/a")
        #expect(scene.news() == ["created in/of-out/a"] && scene.source.watchCount == 3)
    }

    @Test("A move that changes what is left out of the folder is a deletion and a creation")
    func pathsThatChange() throws {
        let scene = try Scene(.subfolders, excluding: { $0.path == "a/b" || $0.path == "c/d" }) {
            for name in ["a", "a/b", "a/d", "a/d/e"] { $0.makeFolder(name) }
            $0.make("a/b/file")
        }
        #expect(scene.source.watchCount == 4)
        scene.move("a", to: "c")
        #expect(scene.news() == ["deleted a/", "created c/", "created c/b/", "created c/b/file"])
        scene.make("c/d/e/unseen")
        scene.make("c/b/seen")
        #expect(scene.news() == ["created c/b/seen"] && scene.source.watchCount == 3)
        scene.move("c", to: "x")
        let news = scene.news()
        #expect(news.prefix(2) == ["deleted c/", "created x/"] && news.contains("created x/d/e/unseen"))
        scene.move("x", to: "y")
        #expect(scene.news() == ["moved x/ to y/"] && scene.source.watchCount == 5)
    }

    @Test("After lost events, the same is left out")
    func overflow() throws {
        let scene = try Scene(.subfolders, excluding: Self.isLeftOut) {
            for name in ["out", "out/deep", "in"] { $0.makeFolder(name) }
        }
        guard try scene.fillQueue() else { return }
        scene.makeFolder("in/left")
        scene.makeFolder("in/new")
        #expect(scene.news().last == "look again at everything" && scene.source.watchCount == 3)
        scene.make("in/left/a")
        scene.make("in/new/a")
        #expect(scene.news() == ["created in/new/a"])
    }

    @Test("In a folder that has come again, the same is left out")
    func followedPath() throws {
        let scene = try Scene([.subfolders, .followsPath], excluding: Self.isLeftOut)
        scene.remove("")
        #expect(scene.news() == ["the folder is gone"])
        for name in ["", "out", "in"] { scene.makeFolder(name) }
        #expect(scene.news() == ["look again at everything"])
        scene.make("out/a")
        scene.make("in/a")
        #expect(scene.news() == ["created in/a"])
    }

    @Test("It is called without a lock, and may use the source and the loop")
    func reentrancy() throws {
        let calls = Count()
        let (loop, source) = (Loop.inVirtualTime().0, LateSource())
        let scene = try Scene()
        source.value = try Source(
            scene.root,
            excluding: { _ in
                calls.up()
                guard let source = source.value else { return false }
                #expect(source.watchCount == 1)
                source.label = "\(source)"
                loop.run(mode: .default, for: .zero)
                return false
            },
            handler: { source, events in
                #expect(events == [.created(.init("a")), .created(.init("b"))])
                source.invalidate()
            })
        loop.add(source.value!)
        for name in ["a", "b"] { scene.make(name) }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished && calls.value == 2)
        source.value = nil
    }

    private final class LateSource: @unchecked Sendable { var value: Source? }
    private final class Captured: Sendable {}

    @Test("It is released with the handler, also when it invalidates the source itself", arguments: [true, false])
    func release(isByItself: Bool) throws {
        let scene = try Scene()
        let source = LateSource()
        weak var captured: Captured?
        func make() throws {
            let object = Captured()
            captured = object
            source.value = try Source(
                scene.root,
                excluding: { [unowned source] _ in
                    withExtendedLifetime(object) { source.value?.invalidate() }
                    return false
                }, handler: { _, _ in Issue.record("It is invalid.") })
        }
        try make()
        scene.loop.add(source.value!)
        if isByItself {
            scene.make("a")
            #expect(captured != nil && scene.news(1) == ["created a"])
        } else {
            source.value!.invalidate()
        }
        #expect(captured == nil && !source.value!.isValid)
    }

    private actor Desk {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var news: [Source.Event] = []

        init(_ thread: LoopThread) { self.thread = thread }

        func watch(_ path: String) throws {
            let source = try Source(path, excluding: FolderExclusionTests.isLeftOut, isolation: self) {
                desk, _, events in desk.news += events
            }
            thread.loop.add(source)
        }
    }

    @Test("The handler may belong to an actor")
    func isolation() async throws {
        let scene = try Scene()
        let desk = Desk(try LoopThread())
        try await desk.watch(scene.root)
        for name in ["out", "a"] { scene.make(name) }
        while await desk.news.isEmpty { await Task.yield() }
        #expect(await desk.news == [.created(.init("a"))])
    }

    @Test("The handler may belong to the main actor")
    func mainActor() throws {
        let scene = try Scene { for name in ["out", "in"] { $0.makeFolder(name) } }
        let source = try Source(scene.root, options: .subfolders, excluding: Self.isLeftOut, isolation: .shared) {
            _, _ in
        }
        #expect(source.watchCount == 2)
        #expect(!(try LoopThread()).loop.add(source))
    }
}
