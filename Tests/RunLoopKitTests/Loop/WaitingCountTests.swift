#if DEBUG
    import LoopTestSupport
    import TestSupport
    import Testing

    @testable import RunLoopKit

    /// What diagnostics count of the work that waits for a loop.
    @Suite(.timeBound) struct WaitingCountTests {
        @Test("The ready descriptors of a loop are counted by one system call")
        func oneCall() throws {
            let loop = Loop.inVirtualTime().0
            let (ready, idle) = (Ends.pipe(), Ends.pipe())
            ready.send("x")
            var sources = try (0..<12).map { _ in try Loop.FileDescriptorSource(ready.reader) { _, _ in } }
            sources += try (0..<12).map { _ in try Loop.FileDescriptorSource(idle.reader) { _, _ in } }
            sources.append(try Loop.FileDescriptorSource(ready.reader, trigger: .edge) { _, _ in })
            sources.append(try Loop.FileDescriptorSource(ready.reader))
            for source in sources { loop.add(source) }
            let signalled = Loop.Source0 {}
            loop.add(signalled)
            signalled.signal()
            let (plan, log) = (Faults(nil), Log<[Int]>())
            loop.perform {
                let counts = plan.whileArmed { loop.countsOfWaitingWork }
                log.add([counts.sources, plan.callCounts[.poll] ?? 0])
                loop.stop()
            }
            loop.run(mode: .default, for: .seconds(1))
            #expect(log.entries == [[13, 1]])
            for source in sources { source.invalidate() }
        }

        @Test("Many descriptors are asked for in pieces")
        func pieces() {
            let (ready, idle) = (Ends.pipe(), Ends.pipe())
            ready.send("x")
            for count in [0, 1, 256, 257, 1000] {
                var requests = (0..<count).map { index in
                    System.ReadinessRequest(index % 3 == 0 ? ready.reader : idle.reader, .read)
                }
                let plan = Faults(nil)
                plan.whileArmed { System.answer(&requests) }
                #expect(requests.indices.allSatisfy { requests[$0].isReady == ($0 % 3 == 0) })
                #expect(plan.callCounts[.poll] ?? 0 == (count + 255) / 256)
            }
        }
    }
#endif
