import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Folders that take paths, and leave them, before the source or while it looks: see `FolderSourceTests`.
@Suite(.timeBound) struct FolderMoveTests {
    private typealias Source = Loop.FolderSource
    private typealias Scene = FolderScene

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

    @Test("Two subfolders that exchange their paths have their own watches", arguments: ["b", "c/b"])
    func exchangedSubfolders(_ second: String) throws {
        let scene = try Scene(.subfolders) {
            $0.makeFolder("a")
            $0.makeFolder("a/of-first")
            $0.makeFolder("c")
            $0.makeFolder(second)
            $0.makeFolder(second + "/of-second")
        }
        let count = scene.source.watchCount
        for _ in 1...2 {
            guard scene.exchange("a", second) else { return }
            #expect(scene.news(1).contains("look again at everything") && scene.source.watchCount == count)
        }
        guard scene.exchange("a", second) else { return }
        _ = scene.news(1)
        for name in ["a/x", "a/of-second/x", second + "/y", second + "/of-first/y"] {
            scene.make(name)
            #expect(scene.news(1) == ["created \(name)"])
        }
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

        func expectIsThere(_ scene: Scene, without exclusion: Source.Exclusion = { _ in false }) throws {
            var found = try FileManager.default.subpathsOfDirectory(atPath: scene.root)
            func isFolder(_ path: String) -> Bool {
                (try? FileManager.default.contentsOfDirectory(atPath: scene.path(path))) != nil
            }
            let leftOut = found.filter { exclusion(.init($0, isFolder: isFolder($0))) }
            found.removeAll { path in leftOut.contains { path == $0 || path.hasPrefix($0 + "/") } }
            #expect(paths == Set(found))
            #expect(scene.source.watchCount == found.count(where: isFolder) + 1)
        }
    }

    /// What a source leaves out. The paths are those of folders: an answer about a file must not change when a folder
    /// above is moved.
    private enum LeftOut: CaseIterable {
        case nothing, names, paths

        func contains(_ entry: Source.Entry) -> Bool {
            switch self {
            case .nothing: false
            case .names: entry.name == "c"
            case .paths: entry.isFolder && ["c", "a/b", "b/a", "a/c/a"].contains(entry.path)
            }
        }
    }

    /// Few names, so that most paths are taken again; and some changes at once, so that the source is late.
    @Test("Who follows the events knows the whole tree", arguments: UInt64(0)..<40, LeftOut.allCases)
    private func followedTree(seed: UInt64, leftOut: LeftOut) throws {
        var random = SplitMix(seed)
        let scene = try Scene(.subfolders, excluding: leftOut.contains) {
            #expect(mkdir("\($0.outer)/outside", 0o755) == 0)
        }
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
            try tree.expectIsThere(scene, without: leftOut.contains)
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
}
