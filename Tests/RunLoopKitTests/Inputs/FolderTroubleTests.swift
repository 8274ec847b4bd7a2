import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@_silgen_name("unshare") private func unshare(_ what: Int32) -> Int32

/// Lost events, and trees that are deep or mounted: see `FolderSourceTests`.
@Suite(.timeBound) struct FolderTroubleTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FolderScene

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

    /// Calls `body` on a thread that has mounts of its own, if that is allowed.
    private func withOwnMounts(_ body: @escaping @Sendable () throws -> Void) throws {
        let thread = try System.startThread(stackSize: nil) {
            let isAllowed = unshare(0x20000) == 0  // CLONE_NEWNS
            guard isAllowed, mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0 else { return }
            #expect(throws: Never.self) { try body() }
        }
        System.join(thread)
    }

    @Test("After an unmount, what was below the file system is reported and watched", .enabled(if: geteuid() == 0))
    func unmount() throws {
        try withOwnMounts {
            let scene = try Scene(.subfolders) {
                $0.makeFolder("sub")
                $0.make("sub/below")
                #expect(mount("none", $0.path("sub"), "tmpfs", 0, nil) == 0)
                $0.makeFolder("sub/inner")
            }
            scene.make("sub/inner/a")
            #expect(scene.news(1) == ["created sub/inner/a"])
            #expect(umount(scene.path("sub")) == 0)
            #expect(scene.news(3) == ["deleted sub/", "created sub/", "created sub/below"])
            scene.make("sub/b")
            #expect(scene.news(1) == ["created sub/b"])
        }
    }

    /// The link leads into the root of a thread that has mounts of its own. Its path without links is that of another
    /// folder here.
    @Test(
        "A folder that has no path here is followed by a link of /proc", .enabled(if: geteuid() == 0),
        arguments: ["", "//"])
    func otherMounts(slashes: String) throws {
        let root = "link/inner/root"
        let scratch = Log<String>()
        let (isMounted, isOver) = (Gate(), Gate())
        let owner = try System.startThread(stackSize: nil) {
            defer { isMounted.open() }
            #expect(throws: Never.self) {
                try withOwnMounts {
                    let inner = try FollowingScene {
                        #expect(mount("none", $0.path("outer"), "tmpfs", 0, nil) == 0)
                        for name in ["outer/inner", "outer/inner/root"] { $0.makeFolder(name) }
                    }
                    scratch.add("/proc/\(System.threadIdentity.id)/root" + inner.path("outer"))
                    isMounted.open()
                    isOver.wait()
                    #expect(umount2(inner.path("outer"), 2) == 0)  // MNT_DETACH
                }
            }
        }
        isMounted.wait()
        if let target = scratch.entries.first {
            let scene = try FollowingScene(at: root + slashes) { #expect(symlink(target, $0.path("link")) == 0) }
            scene.make(root + "/a")
            #expect(scene.news() == ["created a"])
            scene.remove(root + "/a")
            // Its own watch says nothing of the end of a folder that a process holds.
            let holder = open(scene.path(root), O_RDONLY | O_CLOEXEC)
            defer { close(holder) }
            scene.remove(root)
            #expect(scene.news() == ["deleted a", FollowingScene.gone])
            scene.makeFolder(root)
            #expect(scene.news() == [FollowingScene.again])
        }
        isOver.open()
        System.join(owner)
    }

    @Test("A folder above that is mounted in the tree still tells of its move", .enabled(if: geteuid() == 0))
    func folderAboveInTree() throws {
        try withOwnMounts {
            let root = "outer/inner/root"
            let scene = try FollowingScene([.followsPath, .subfolders]) {
                for name in ["here", "old"] { $0.makeFolder(root + "/" + name) }
                #expect(mount($0.path("outer"), $0.path(root + "/here"), nil, UInt(MS_BIND), nil) == 0)
            }
            defer { #expect(umount2(scene.path("away/inner/root/here"), 2) == 0) }  // MNT_DETACH
            // The tree is checked.
            scene.move(root + "/old", to: root + "/new")
            scene.makeFolder(root + "/another")
            #expect(scene.news().contains("created another/"))
            scene.move("outer", to: "away")
            #expect(scene.news().last == FollowingScene.gone)
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
}
