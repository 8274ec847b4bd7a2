import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Folders that go and come again. As in `FolderSourceTests`, the kernel has the events before the loop runs.
@Suite(.timeBound) struct FolderFollowingTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FollowingScene

    @Test(
        "A folder that comes again is watched", arguments: [Source.Options.followsPath, [.followsPath, .subfolders]])
    private func again(_ options: Source.Options) throws {
        let scene = try Scene(options)
        let root = "outer/inner/root"
        scene.make(root + "/a")
        scene.remove(root + "/a")
        scene.remove(root)
        #expect(scene.news() == ["created a", "deleted a", Scene.gone])
        #expect(scene.source.isValid && scene.news() == [])
        // Others come and go beside it.
        scene.make("outer/inner/other")
        scene.makeFolder("outer/inner/roo")
        #expect(scene.news() == [])
        scene.makeFolder(root)
        scene.make(root + "/b")
        #expect(scene.news() == [Scene.again])
        #expect(scene.source.watchCount == scene.depth(root))
        scene.make(root + "/c")
        scene.makeFolder(root + "/d")
        scene.make(root + "/d/e")
        let inner = options.contains(.subfolders) ? ["created d/e"] : []
        #expect(scene.news() == ["created c", "created d/"] + inner)
    }

    @Test("It may be there again before the source looks, and go more than once")
    func atOnce() throws {
        let scene = try Scene()
        let root = "outer/inner/root"
        for _ in 0..<3 {
            scene.remove(root)
            scene.makeFolder(root)
            scene.make(root + "/a")
            #expect(scene.news() == [Scene.gone, Scene.again])
            scene.make(root + "/b")
            #expect(scene.news() == ["created b"])
            scene.move(root, to: "elsewhere")
            scene.make("elsewhere/c")
            #expect(scene.news() == [Scene.gone])
            scene.move("elsewhere", to: root)
            scene.make(root + "/d")
            #expect(scene.news() == [Scene.again])
            for name in "abcd" { scene.remove("\(root)/\(name)") }
            #expect(scene.news().count == 4)
        }
        scene.source.invalidate()
        #expect(scene.source.watchCount == 0)
    }

    @Test("The folders above it may go and come, too, and files may be there instead")
    func foldersAbove() throws {
        let scene = try Scene()
        for name in ["outer/inner/root", "outer/inner", "outer"] { scene.remove(name) }
        #expect(scene.news() == [Scene.gone])
        scene.make("outer")
        #expect(scene.news() == [])
        scene.remove("outer")
        scene.makeFolder("outer")
        scene.makeFolder("outer/inner")
        #expect(scene.news() == [])
        // Another folder takes the place of one that the source waits in.
        scene.move("outer", to: "old")
        scene.makeFolder("outer")
        scene.makeFolder("old/inner/root")
        #expect(scene.news() == [])
        scene.remove("outer")
        scene.move("old", to: "outer")
        #expect(scene.news() == [Scene.again])
        scene.make("outer/inner/root/a")
        #expect(scene.news() == ["created a"])
    }

    /// What a random program finds at the path is what the source watches.
    @Test("Whatever goes and comes, the folder at the path is watched", arguments: UInt64(0)..<40)
    func random(_ seed: UInt64) throws {
        let scene = try Scene()
        var random = SplitMix(seed)
        let names = ["outer", "outer/inner", "outer/inner/root"]
        var isWatched = true
        // As a program that has a folder open: the kernel tells of the folder's deletion only later.
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        for step in 0..<100 {
            for _ in 0...random.next() % 3 {
                let name = names[Int(random.next() % 3)]
                let other = "other-\(random.next() % 3)"
                switch random.next() % 6 {
                case 0: _ = rename(scene.path(name), scene.path(other))
                case 1: _ = rename(scene.path(other), scene.path(name))
                case 2: try? FileManager.default.removeItem(atPath: scene.path(name))
                case 3: held += [open(scene.path(name), O_RDONLY | O_CLOEXEC)].filter { $0 >= 0 }
                case 4: held.popLast().map { _ = close($0) }
                default: for name in names { _ = mkdir(scene.path(name), 0o755) }
                }
            }
            let news = scene.news()
            if news.contains(Scene.gone) { isWatched = false }
            if let last = news.lastIndex(of: Scene.again), last > news.lastIndex(of: Scene.gone) ?? -1 {
                isWatched = true
            }
            let root = scene.path("outer/inner/root")
            guard mknod(root + "/file-\(step)", S_IFREG | 0o644, 0) == 0 else { continue }
            let created = scene.news()
            #expect(created == ["created file-\(step)"], "step \(step): \(created)")
            #expect(isWatched, "step \(step): there is a folder, and the source waits for it")
        }
    }

    @Test("A folder that is deleted, or replaced, while a process has a file of it open is gone at once")
    func held() throws {
        let scene = try Scene()
        let root = "outer/inner/root"
        for isReplaced in [false, true] {
            scene.make(root + "/a")
            let file = open(scene.path(root + "/a"), O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            #expect(file >= 0)
            scene.remove(root + "/a")
            if isReplaced {
                scene.makeFolder("outer/inner/other")
                scene.move("outer/inner/other", to: root)
            } else {
                scene.remove(root)
            }
            #expect(scene.news() == ["created a", "deleted a", Scene.gone] + (isReplaced ? [Scene.again] : []))
            if !isReplaced {
                scene.makeFolder(root)
                #expect(scene.news() == [Scene.again])
            }
            scene.make(root + "/b")
            scene.remove(root + "/b")
            #expect(scene.news() == ["created b", "deleted b"])
        }
    }

    @Test("What others do beside the folder wakes the loop, and is not reported")
    func beside() throws {
        let scene = try Scene()
        scene.make("outer/inner/root-")
        scene.makeFolder("outer/inner/roo")
        scene.remove("outer/inner/root-")
        scene.move("outer/inner/roo", to: "outer/inner/foo")
        #expect(scene.news() == [] && scene.source.isValid)
        scene.make("outer/inner/root/a")
        #expect(scene.news() == ["created a"])
    }

    @Test("A folder above that may not be watched is no failure", .enabled(if: geteuid() != 0))
    func unreadableAbove() throws {
        let scene = try Scene { #expect(chmod($0.path("outer/inner"), 0o311) == 0) }
        // Or it could not be removed.
        defer { chmod(scene.path("outer/inner"), 0o755) }
        #expect(scene.source.watchCount == scene.depth("outer/inner/root") - 1)
        scene.make("outer/inner/root/a")
        #expect(scene.news() == ["created a"])
    }

    @Test("A new folder above that may not be entered yet is one that is waited for", .enabled(if: geteuid() != 0))
    func closedAbove() throws {
        let scene = try Scene()
        defer { chmod(scene.path("outer"), 0o755) }
        scene.move("outer", to: "away")
        for name in ["outer", "outer/inner", "outer/inner/root"] { scene.makeFolder(name) }
        #expect(chmod(scene.path("outer"), 0) == 0)
        let news = scene.news()
        #expect(news.count == 2 && news.first == Scene.gone && news.last?.contains("EACCES") == true, "\(news)")
        #expect(chmod(scene.path("outer"), 0o755) == 0)
        #expect(scene.news() == [Scene.again])
        scene.make("outer/inner/root/b")
        #expect(scene.news() == ["created b"])
    }

    @Test("A folder that another thread deletes and makes at the same time is watched in the end")
    func concurrent() throws {
        let scene = try Scene()
        let thread = try LoopThread()
        let seen = Log<String>()
        let source = try Source(scene.path("outer/inner/root"), options: .followsPath) { _, events in
            for event in events { seen.add("\(event)") }
        }
        thread.loop.add(source)
        for round in 0..<100 {
            for name in ["outer/inner/root", "outer/inner", "outer"] { scene.remove(name) }
            if round % 3 == 0 { spin(until: seen.entries.last == Scene.gone) }
            for name in ["outer", "outer/inner", "outer/inner/root"] { scene.makeFolder(name) }
        }
        // The source may still watch a folder of an earlier round, and then look again at what is there by then.
        func isReported() -> Bool {
            scene.makeFolder("outer/inner/root/last")
            scene.remove("outer/inner/root/last")
            return seen.entries.last == "deleted last/"
        }
        spin(until: isReported())
        thread.stop()
        thread.joinBlocking()
    }

    @Test("A link is followed to another folder once its old one is gone, or to the old path")
    func links() throws {
        let scene = try Scene(at: "current") {
            $0.link("current", to: "outer/inner/root")
        }
        scene.makeFolder("next")
        scene.link("new", to: "next")
        scene.move("new", to: "current")
        scene.make("outer/inner/root/a")
        #expect(scene.news() == ["created a"])
        scene.remove("outer/inner/root/a")
        scene.remove("outer/inner/root")
        #expect(scene.news() == ["deleted a", Scene.gone, Scene.again])
        scene.make("next/b")
        #expect(scene.news() == ["created b"])
        scene.remove("next/b")
        scene.remove("next")
        #expect(scene.news() == ["deleted b", Scene.gone])
        scene.makeFolder("next")
        #expect(scene.news() == [Scene.again])
        scene.make("next/c")
        #expect(scene.news() == ["created c"])
    }

    /// The watch of the folder above is that of the folder itself.
    @Test("A link to a folder above itself is followed")
    func linkUpwards() throws {
        let scene = try Scene(at: "outer/up") { $0.link("outer/up", to: "outer/inner") }
        scene.remove("outer/inner/root")
        scene.remove("outer/inner")
        #expect(scene.news() == ["deleted root/", Scene.gone])
        scene.remove("outer/up")
        scene.link("outer/up", to: "outer")
        #expect(scene.news() == [Scene.again])
        scene.make("outer/a")
        #expect(scene.news() == ["created a"] && scene.source.watchCount == scene.depth("outer"))
    }

    @Test("A relative path counts from the folder that was current")
    func relativePath() throws {
        let up = String(
            repeating: "../", count: FileManager.default.currentDirectoryPath.split(separator: "/").count + 2)
        let scene = try Scene(at: up + ".")
        scene.remove("outer/inner/root")
        #expect(scene.news() == [Scene.gone])
        scene.makeFolder("outer/inner/root")
        #expect(scene.news() == [Scene.again])
        scene.make("outer/inner/root/a")
        #expect(scene.news() == ["created a"])
    }

    @Test("There must be a folder at first, and without the option the source ends")
    func misuse() throws {
        let scene = try Scene()
        let error = #expect(throws: LoopError.self) { try Source(scene.path("none"), options: .followsPath) }
        #expect(error?.errno == ENOENT)
        let plain = try Scene([])
        plain.remove("outer/inner/root")
        plain.makeFolder("outer/inner/root")
        #expect(plain.news() == [Scene.gone] && !plain.source.isValid)
    }

    @Test("A folder that may not be read is reported once, and watched when it may be", .enabled(if: geteuid() != 0))
    func unreadable() throws {
        let scene = try Scene()
        let root = "outer/inner/root"
        scene.remove(root)
        #expect(scene.news() == [Scene.gone])
        #expect(mkdir(scene.path(root), 0) == 0)
        scene.make("outer/inner/other")
        let news = scene.news()
        #expect(news.count == 1 && news[0].hasPrefix("cannot watch /: ") && news[0].contains("EACCES"))
        #expect(chmod(scene.path(root), 0o755) == 0)
        #expect(scene.news() == [Scene.again])
    }

    @Test("Its explanation says that the folder is gone")
    func explained() throws {
        let scene = try Scene()
        func explanation() -> String {
            let log = Log<String>()
            scene.loop.perform { [loop = scene.loop, source = scene.source!] in log.add("\(loop.explain(source))") }
            _ = scene.news()
            return log.entries[0]
        }
        #expect(explanation() == "It waits: folder \(scene.path("outer/inner/root")).")
        scene.remove("outer/inner/root")
        _ = scene.news()
        #expect(
            explanation() == "It waits: folder \(scene.path("outer/inner/root")), which is gone, to be there again.")
        scene.makeFolder("outer/inner/root")
        _ = scene.news()
        #expect(explanation() == "It waits: folder \(scene.path("outer/inner/root")).")
    }

    #if DEBUG
        /// ENOTCONN and EIO are what a mount answers whose program has died.
        @Test(
            "A subfolder that cannot be watched for a reason of its own is passed over; a limit is not",
            arguments: [
                (ENOTCONN, true), (EIO, true), (ESTALE, true), (EPERM, true), (ENOSPC, false), (ENOMEM, false),
            ], [Faults.Call.inotifyAdd, .openFolder])
        func deadMount(_ error: (code: Int32, isPassedOver: Bool), _ call: Faults.Call) throws {
            let scene = try Scene([.followsPath, .subfolders], at: "outer")
            // The folder itself is watched, and then by its path without links.
            let plan = Faults(.init(call, first: call == .inotifyAdd ? 3 : 2, error: error.code))
            let source = plan.whileArmed { try? Source(scene.path("outer"), options: [.followsPath, .subfolders]) }
            #expect((source != nil) == error.isPassedOver)
            guard call == .openFolder else { return }
            // As a folder that comes again.
            scene.move("outer", to: "away")
            #expect(scene.news() == [Scene.gone])
            scene.move("away", to: "outer")
            let news = Faults(.init(call, first: 2, error: error.code)).whileArmed { scene.news() }
            #expect((news == [Scene.again]) == error.isPassedOver, "\(news)")
        }
    #endif
}
