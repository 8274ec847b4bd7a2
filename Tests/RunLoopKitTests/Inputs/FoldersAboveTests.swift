import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Folders that leave their paths, since one above is moved. `FolderFollowingTests` has random programs.
@Suite(.timeBound) struct FoldersAboveTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FollowingScene

    private static let root = "outer/inner/root"

    @Test("A folder above that is moved takes the folder from its path", arguments: ["outer", "outer/inner"])
    func moved(_ name: String) throws {
        let scene = try Scene([.followsPath, .subfolders])
        let count = scene.depth(Self.root)
        for _ in 0..<2 {
            scene.make(Self.root + "/a")
            scene.move(name, to: "away")
            #expect(scene.news() == ["created a", Scene.gone])
            scene.make("away/other")
            #expect(scene.news() == [])
            scene.move("away", to: name)
            #expect(scene.news() == [Scene.again] && scene.source.watchCount == count)
            scene.remove(Self.root + "/a")
            scene.remove(name + "/other")
            #expect(scene.news() == ["deleted a"])
        }
    }

    @Test("Another folder may be at the path before the source looks", arguments: [false, true])
    func replaced(isRelative: Bool) throws {
        let up = String(
            repeating: "../", count: FileManager.default.currentDirectoryPath.split(separator: "/").count + 2)
        let scene = try isRelative ? Scene(at: up + ".") : Scene()
        scene.move("outer", to: "away")
        for name in ["outer", "outer/inner", Self.root] { scene.makeFolder(name) }
        scene.make(Self.root + "/a")
        scene.make("away/inner/root/b")
        #expect(scene.news() == [Scene.gone, Scene.again])
        scene.make("away/inner/root/c")
        scene.make(Self.root + "/d")
        #expect(scene.news() == ["created d"])
        // The new ones above are watched, and the old ones are not.
        scene.move("away", to: "elsewhere")
        #expect(scene.news() == [])
        scene.move("outer/inner", to: "away")
        #expect(scene.news() == [Scene.gone])
    }

    @Test("A folder that is moved away and back is still watched, and so are those above")
    func movedBack() throws {
        let scene = try Scene()
        let count = scene.source.watchCount
        for _ in 0..<3 {
            scene.move("outer", to: "away")
            scene.make("away/inner/root/a")
            scene.move("away/inner", to: "inner")
            scene.move("inner", to: "away/inner")
            scene.move("away", to: "outer")
            scene.remove(Self.root + "/a")
            #expect(scene.news() == ["created a", "deleted a"] && scene.source.watchCount == count)
        }
        // Into another folder at the same path.
        scene.makeFolder("next")
        scene.move("outer/inner", to: "next/inner")
        scene.move("outer", to: "away")
        scene.move("next", to: "outer")
        #expect(scene.news() == [] && scene.source.watchCount == count)
        scene.move("outer", to: "next")
        #expect(scene.news() == [Scene.gone])
    }

    @Test("Without the option, the source goes on with the folder")
    func notFollowed() throws {
        let scene = try Scene([])
        scene.move("outer", to: "away")
        scene.make("away/inner/root/a")
        #expect(scene.news() == ["created a"] && scene.source.watchCount == 1)
    }

    @Test("The folders above are those of what a link in the path names")
    func links() throws {
        let scene = try Scene(at: "link/root") { $0.link("link", to: "outer/inner") }
        scene.move("outer", to: "away")
        #expect(scene.news() == [Scene.gone])
        scene.move("away", to: "outer")
        scene.make(Self.root + "/a")
        #expect(scene.news() == [Scene.again])
        // A new link, and its folder, are found once the old folder has gone.
        scene.makeFolder("next")
        scene.makeFolder("next/root")
        scene.remove("link")
        scene.link("link", to: "next")
        #expect(scene.news() == [])
        scene.move("outer/inner", to: "away")
        #expect(scene.news() == [Scene.gone, Scene.again])
        scene.make("next/root/b")
        #expect(scene.news() == ["created b"])
    }

    /// The exclusion is called after the folder is watched, and before those above are.
    @Test("A folder above may move while the source begins to watch")
    func movedAtFirst() throws {
        let scene = try Scene { $0.makeFolder(Self.root + "/sub") }
        let (log, hasMoved) = (Log<String>(), Gate())
        let (old, new) = (scene.path("outer"), scene.path("away"))
        let source = try Source(
            scene.path(Self.root), options: [.followsPath, .subfolders],
            excluding: { _ in
                if !hasMoved.isOpenNow { #expect(rename(old, new) == 0) }
                hasMoved.open()
                return false
            },
            handler: { _, events in for event in events { log.add("\(event)") } })
        scene.loop.add(source)
        #expect(hasMoved.isOpenNow)
        _ = scene.news()
        #expect(log.entries == [Scene.gone])
        scene.move("away", to: "outer")
        _ = scene.news()
        scene.make(Self.root + "/a")
        _ = scene.news()
        #expect(log.entries == [Scene.gone, Scene.again, "created a"])
    }

    #if DEBUG
        /// As one that is moved away, and back before the source looks for the folder itself.
        @Test("A folder above that is not there for a moment is watched nevertheless", arguments: 2...4)
        func missingForAMoment(_ call: Int) throws {
            let scene = try Scene()
            let plan = Faults(.init(.inotifyAdd, first: call, error: ENOENT))
            let source = try plan.whileArmed { try Source(scene.path(Self.root), options: .followsPath) }
            #expect(source.watchCount == scene.depth(Self.root))
            source.invalidate()
        }
    #endif

    @Test("A folder that another thread moves with those above, and back, is watched in the end", arguments: 0..<3)
    func concurrent(_: Int) throws {
        let scene = try Scene()
        let thread = try LoopThread()
        let seen = Log<String>()
        let isOver = Gate()
        let mover = try System.startThread(stackSize: nil) { [scratch = scene.scratch] in
            func move(_ old: String, _ new: String) { _ = rename("\(scratch)/\(old)", "\(scratch)/\(new)") }
            for round in 0..<300 {
                move("outer", "away")
                if round % 2 == 0 { move("away/inner", "inner") }
                if round % 3 == 0 { mkdir("\(scratch)/outer", 0o755) }
                if round % 3 == 0 { rmdir("\(scratch)/outer") }
                move("inner", "away/inner")
                move("away", "outer")
            }
            isOver.open()
        }
        // Made while it moves.
        var source: Source?
        while source == nil {
            source = try? Source(scene.path(Self.root), options: .followsPath) { _, events in
                for event in events { seen.add("\(event)") }
            }
        }
        thread.loop.add(source!)
        System.join(mover)
        #expect(isOver.isOpenNow)
        func isReported() -> Bool {
            scene.makeFolder(Self.root + "/last")
            scene.remove(Self.root + "/last")
            return seen.entries.last == "deleted last/"
        }
        spin(until: isReported())
        scene.move("outer/inner", to: "away")
        spin(until: seen.entries.last == Scene.gone)
        #expect(source!.isValid)
        thread.stop()
        thread.joinBlocking()
    }
}
