#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Folders that change, while another thread changes who watches them.
    let folderPrograms: [Program] = [
        Program("a folder: a new file against an invalidation") { play in
            play.keepsDescriptors()
            play.thread {
                let folder = Folder()
                let captured = play.capture()
                let source = try! Loop.FolderSource(folder.path) { _, events in captured.value += events.count }
                let loop = Loop.current
                loop.add(source, in: .default)
                let threads = [
                    start { folder.makeFile() },
                    start {
                        source.invalidate()
                        loop.wakeUp()
                    },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished, "The run returned \(result).")
                folder.remove()
            }
        },
        Program("a folder: a new file against a handler") { play in
            play.keepsDescriptors()
            play.thread {
                let folder = Folder()
                let captured = play.capture()
                let loop = Loop.current
                let source = try! Loop.FolderSource(folder.path)
                let threads = [
                    start { folder.makeFile() },
                    start {
                        source.setHandler { source, events in
                            captured.value += events.count
                            source.invalidate()
                        }
                    },
                ]
                loop.add(source, in: .default)
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished && captured.value > 0, "The file is not reported: \(result).")
                folder.remove()
            }
        },
        Program("a folder: a new file against its move to another mode") { play in
            play.keepsDescriptors()
            play.thread {
                let folder = Folder()
                let captured = play.capture()
                let loop = Loop.current
                let source = try! Loop.FolderSource(folder.path) { source, events in
                    captured.value += events.count
                    source.invalidate()
                }
                loop.add(source, in: .default)
                let threads = [
                    start { folder.makeFile() },
                    start {
                        loop.add(source, in: "other")
                        loop.remove(source, in: .default)
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(10))
                for thread in threads { System.join(thread) }
                let result = loop.run(mode: "other", for: .seconds(1000))
                play.require(result == .finished && captured.value > 0, "The file is not reported: \(result).")
                folder.remove()
            }
        },
        Program("a folder goes, and its watches are asked for") { play in
            play.keepsDescriptors()
            play.thread {
                let folder = Folder()
                let loop = Loop.current
                let captured = play.capture()
                let source = try! Loop.FolderSource(folder.path, options: .subfolders) { _, events in
                    captured.value += events.count
                }
                loop.add(source, in: .default)
                let threads = [
                    start { folder.remove() },
                    start { play.require((0...1).contains(source.watchCount), "\(source.watchCount) watches.") },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .finished && captured.value > 0, "The end is not reported: \(result).")
            }
        },
    ]

    /// An empty folder.
    private final class Folder: Sendable {
        let path: String

        init() {
            var template = Array("/tmp/scheduled-XXXXXX".utf8CString)
            path = String(cString: mkdtemp(&template))
        }

        func makeFile() {
            // The scheduler looks at descriptors behind each call of the seam.
            _ = clinux_is_open(0)
            close(open(path + "/file", O_CREAT | O_WRONLY, 0o600))
        }

        func remove() {
            _ = RunLoopKit.unlink(path + "/file")
            _ = clinux_is_open(0)
            rmdir(path)
        }
    }
#endif
