#if DEBUG
    import Foundation
    import LoopTestSupport
    import TestSupport
    import Testing

    @testable import RunLoopKit

    /// Makes an eventfd and closes it.
    private func makePort() throws(LoopError) { try Loop.PortSource { _ in }.invalidate() }

    /// The faults of tests, and what they have found: `FaultProgram` plays all of them.
    @Suite(.timeBound) struct FaultsTests {
        @Test("A plan counts the calls of its threads, and of those that they start, and no other's")
        func threads() throws {
            let other = try LoopThread()
            let plan = Faults(nil)
            try plan.whileArmed {
                let thread = try LoopThread()
                try thread.performAndWait { try makePort() }
                try other.performAndWait { try makePort() }
                thread.stop()
                thread.join()
            }
            // A waker, and the port that the thread makes.
            #expect(plan.callCounts[.eventFD] == 2)
            #expect(plan.callCounts[.createThread] == 1 && plan.callCounts[.epollCreate] == 1)
            let counts = plan.callCounts
            try makePort()
            #expect(plan.callCounts == counts && plan.failureCount == 0)
        }

        @Test("A call fails from the first that is chosen on, as often as was chosen, until the plan is over")
        func which() throws {
            func errors(_ plan: Faults, of count: Int) -> [Int32?] {
                plan.whileArmed {
                    (0..<count).map { _ in
                        do throws(LoopError) {
                            try makePort()
                            return nil
                        } catch {
                            return error.errno
                        }
                    }
                }
            }
            let twice = Faults(.init(.eventFD, first: 2, count: 2, error: EMFILE))
            #expect(errors(twice, of: 5) == [nil, EMFILE, EMFILE, nil, nil] && twice.failureCount == 2)
            let always = Faults(.init(.eventFD, count: .max, error: ENFILE))
            #expect(errors(always, of: 3) == [ENFILE, ENFILE, ENFILE])
            always.end()
            #expect(errors(always, of: 1) == [nil] && always.callCounts[.eventFD] == 3)
            #expect(errors(Faults(.init(.epollCreate, error: EMFILE)), of: 1) == [nil])
        }

        @Test("A plan says when there are too many calls")
        func limit() throws {
            let log = Log<Int>()
            let plan = Faults(nil, limit: 2) { log.add(1) }
            plan.whileArmed { for _ in 0..<4 { try? makePort() } }
            // Each port is made and closed.
            #expect(log.entries.count == 6)
        }

        // MARK: What they have found

        @Test("A thread whose loop cannot watch its eventfd is not made, and says why", arguments: [ENOMEM, ENOSPC])
        func threadWithoutWatch(code: Int32) throws {
            let plan = Faults(.init(.epollAdd, error: code))
            let error = #expect(throws: LoopError.self) { try plan.whileArmed { try LoopThread() } }
            #expect(error?.errno == code && error?.call.hasPrefix("epoll_ctl(") == true)
        }

        @Test("A kernel that does not tell the CPUs of a thread has refused the option")
        func unknownAffinity() throws {
            func plan() -> Faults { Faults(.init(.getAffinity, error: EINVAL)) }
            let error = #expect(throws: LoopError.self) {
                try plan().whileArmed { try LoopThread(options: .init(cpus: [0])) }
            }
            #expect(error?.call == "sched_getaffinity" && error?.errno == EINVAL)
            let thread = try plan().whileArmed { try LoopThread(options: .init(cpus: [0], onRefusal: .runAnyway)) }
            #expect(thread.refusedOptions.map(\.call) == ["sched_getaffinity"])
        }

        @Test("A folder that cannot be listed is told, and not taken for an empty one")
        func unlistedFolder() throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "faults-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: path + "/inner", withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: path) }
            for call in 1...2 {
                let plan = Faults(.init(.openFolder, first: call, error: EMFILE))
                let error = #expect(throws: LoopError.self) {
                    try plan.whileArmed { try Loop.FolderSource(path, options: .subfolders) { _, _ in } }
                }
                #expect(error?.errno == EMFILE && error?.call.hasPrefix("opendir(\(path)") == true)
            }
            // A new one, while the loop runs.
            let loop = Loop.inVirtualTime().0
            let log = Log<Loop.FolderSource.Event>()
            let source = try Loop.FolderSource(path, options: .subfolders) { _, events in
                for event in events { log.add(event) }
            }
            loop.add(source)
            try FileManager.default.createDirectory(atPath: path + "/new", withIntermediateDirectories: false)
            Faults(.init(.openFolder, error: EMFILE)).whileArmed { _ = loop.run(mode: .default, for: .zero) }
            let new = Loop.FolderSource.Entry("new", isFolder: true)
            let error = LoopError(call: "opendir(\(path)/new)", code: EMFILE)
            #expect(log.entries == [.created(new), .unwatched(new, error)])
        }

        /// As if another program had moved it away for that moment.
        @Test("A folder that was not found is looked for again, and watched", arguments: [false, true])
        func folderThatWasNotFound(isMoved: Bool) throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "faults-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: path + "/p", withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: path) }
            let loop = Loop.inVirtualTime().0
            let log = Log<String>()
            let source = try Loop.FolderSource(path, options: .subfolders) { _, events in
                for event in events { log.add("\(event)") }
            }
            loop.add(source)
            #expect(mkdir(path + "/p/new", 0o755) == 0 && mkdir(path + "/p/new/sub", 0o755) == 0)
            if isMoved { #expect(rename(path + "/p", path + "/q") == 0) }
            // Once when it is made, and once when it has moved.
            Faults(.init(.inotifyAdd, count: isMoved ? 2 : 1, error: ENOENT)).whileArmed {
                _ = loop.run(mode: .default, for: .zero)
            }
            if !isMoved {
                #expect(log.entries == ["created p/new/"] && source.watchCount == 2)
                // The next event has it checked.
                #expect(mknod(path + "/file", S_IFREG | 0o644, 0) == 0)
                loop.run(mode: .default, for: .zero)
            }
            let news =
                isMoved
                ? ["created p/new/", "moved p/ to q/", "created q/new/sub/"]
                : ["created p/new/", "created file", "created p/new/sub/"]
            #expect(log.entries == news && source.watchCount == 4)
            #expect(mknod(path + (isMoved ? "/q" : "/p") + "/new/sub/last", S_IFREG | 0o644, 0) == 0)
            loop.run(mode: .default, for: .zero)
            #expect(log.entries.last == "created \(isMoved ? "q" : "p")/new/sub/last" && source.watchCount == 4)
        }
    }
#endif
