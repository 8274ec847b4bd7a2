import Testing

@testable import RunLoopKit

@Suite struct FileDescriptorSourceTests {
    private typealias Source = Loop.FileDescriptorSource

    // MARK: Triggers

    @Test func aPartialReadIsCalledAgainForTheRest() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { source, ready in
            log.add("\(ready) \(readText(source.descriptor, 2)!)")
        }
        loop.add(source, in: .default)
        pipe.send("abcde")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["readable ab", "readable cd", "readable e"])
    }

    @Test func anEdgeIsReportedOnceUntilMoreArrives() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Source.Readiness>()
        let source = try Source(pipe.reader, trigger: .edge) { _, ready in log.add(ready) }
        loop.add(source, in: .default)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable])
        pipe.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.readable, .readable])
        source.rearm()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 3, "still unread")
    }

    @Test func aOneShotSourceReportsOnceForEachRearming() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, isOneShot: true) { source, _ in
            #expect(!source.isArmed)
            calls.up()
        }
        loop.add(source, in: .default)
        loop.add(source, in: "other")
        loop.perform(in: "other") {}
        loop.run(mode: "other", for: .zero)
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(loop.run(mode: "other", for: .zero) == .timedOut, "it keeps the loop alive, disarmed")
        #expect(calls.value == 1)
        pipe.hangUp()
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.value == 1, "not even a hang-up")
        source.rearm()
        loop.run(mode: .default, for: .seconds(1))
        loop.run(mode: "other", for: .zero)
        #expect(calls.value == 2)
    }

    // MARK: Interest

    @Test func theInterestDecidesWhatIsReportedAndCanBeChanged() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<Source.Readiness>()
        let source = try Source(sockets.reader) { _, ready in
            log.add(ready)
            Loop.current.stop()
        }
        loop.add(source, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        source.interest = [.read, .write]
        loop.run(mode: .default, for: .seconds(1))
        sockets.send("a")
        loop.run(mode: .default, for: .seconds(1))
        source.interest = .read
        loop.run(mode: .default, for: .seconds(1))
        source.interest = []
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [.writable, [.readable, .writable], .readable])
    }

    /// What was fetched before the interest was changed goes by the new interest.
    @Test func aFetchedReportOfNoInterestAnyMoreIsDropped() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = [Ends.pipe(), Ends.pipe(), Ends.pipe()]
        let log = Log<Int>()
        var sources: [Source] = []
        let all = LoopBound([Source](), on: loop)
        for (index, pipe) in pipes.enumerated() {
            sources.append(
                try Source(pipe.reader) { source, _ in
                    log.add(index)
                    all.value[(index + 1) % 3].interest = []
                    all.value[(index + 2) % 3].disarm()
                    source.invalidate()
                })
            loop.add(sources[index], in: .default)
            pipe.send("a")
        }
        all.value = sources
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [0])
        sources[1].interest = .read
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [0, 1])
        all.value = []
    }

    @Test func aSleepingLoopTakesNoticeOfAChangeFromAnotherThread() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        let calls = Count()
        let source = try Source(pipe.reader, interest: []) { source, _ in
            calls.up()
            source.disarm()
        }
        thread.loop.add(source, in: .default)
        pipe.send("a")
        spin(until: thread.loop.isWaiting)
        #expect(calls.value == 0)
        source.interest = .read
        spin(until: calls.value == 1)
        spin(until: thread.loop.isWaiting)
        source.rearm()
        spin(until: calls.value == 2)
    }

    // MARK: Hang-ups and errors

    @Test func hangUpsAndErrorsAreReportedWithoutBeingAskedFor() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        func watch(_ descriptor: Int32, _ interest: Source.Interest) throws {
            let source = try Source(descriptor, interest: interest) { source, ready in
                log.add("\(source.interest): \(ready)")
                source.invalidate()
            }
            loop.add(source, in: .default)
            loop.run(mode: .default, for: .seconds(1))
        }
        let (deserted, unread, half) = (Ends.pipe(), Ends.pipe(), Ends.sockets())
        deserted.hangUp()
        try watch(deserted.reader, [])
        unread.stopReading()
        try watch(unread.writer, [])
        finishWriting(half.writer)
        try watch(half.reader, .read)
        half.hangUp()
        try watch(half.reader, .write)
        #expect(
            log.entries == [
                "nothing: hangUp", "nothing: error", "read: readable|readHangUp", "write: writable|hangUp",
            ])
    }

    // MARK: Several modes, several sources, several loops

    /// The rest of what was fetched belongs to the mode; what another mode has served meanwhile is nothing any more.
    @Test func readinessThatAnotherModeHasServedIsPassedOver() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (first, second) = (Ends.pipe(), Ends.pipe())
        let log = Log<String>()
        let both = try Source(second.reader) { _, _ in
            log.add("\(Loop.current.currentMode!.name): \(second.take() ?? "nothing")")
        }
        let nesting = try Source(first.reader) { _, _ in
            _ = first.take()
            Loop.current.run(mode: "inner", for: .zero)
        }
        loop.add(nesting, in: .default)
        loop.add(both, in: .default)
        loop.add(both, in: "inner")
        first.send("a")
        second.send("b")
        let passes = loop.counters.passes
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["inner: b"])
        #expect(loop.counters.passes == passes + 3, "one that nests, the nested one, and one that times out")
        second.send("c")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["inner: b", "default: c"])
    }

    @Test func whatAStopLeftUnservedIsServedByTheNextRun() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<3).map { _ in Ends.pipe() }
        let log = Log<Int>()
        for (index, pipe) in pipes.enumerated() {
            let source = try Source(pipe.reader) { _, _ in
                _ = pipe.take()
                log.add(index)
                Loop.current.stop()
            }
            loop.add(source, in: .default)
            pipe.send("a")
        }
        for count in 1...3 {
            #expect(loop.run(mode: .default, for: .seconds(1)) == .stopped)
            #expect(log.entries.count == count)
        }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == [0, 1, 2])
    }

    @Test func oneDescriptorCanHaveASourceForReadingAndOneForWriting() throws {
        let (loop, _) = Loop.inVirtualTime()
        let sockets = Ends.sockets()
        let log = Log<String>()
        let writing = try Source(sockets.reader, interest: .write) { source, ready in
            log.add("\(ready)")
            source.disarm()
        }
        let reading = try Source(sockets.reader) { source, ready in log.add("\(ready) \(readText(source.descriptor)!)")
        }
        loop.add(writing, in: .default)
        loop.add(reading, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        sockets.send("a")
        loop.run(mode: .default, for: .seconds(1))
        writing.invalidate()
        sockets.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["writable", "readable a", "readable b"])
    }

    @Test func aSourceIsInOneLoopAtATime() throws {
        let (one, _) = Loop.inVirtualTime()
        let (two, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<ObjectIdentifier>()
        let source = try Source(pipe.reader) { _, _ in
            _ = pipe.take()
            log.add(ObjectIdentifier(Loop.current))
        }
        #expect(one.add(source, in: .default))
        #expect(!two.add(source, in: .default))
        one.end()
        #expect(source.isValid && two.add(source, in: .default))
        pipe.send("a")
        two.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [ObjectIdentifier(two)])
    }

    // MARK: Identity and lifetime

    @Test func aNumberReusedBehindTheSourcesBackWakesNobodyWrong() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (old, new) = (Ends.pipe(), Ends.pipe())
        let log = Log<String>()
        let stale = try Source(old.reader, trigger: .edge) { _, _ in log.add("old") }
        loop.add(stale, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        reuse(old.reader, for: new.reader)
        let fresh = try Source(old.reader) { source, _ in log.add("new \(readText(source.descriptor)!)") }
        loop.add(fresh, in: .default)
        new.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a"])
        old.send("b")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a", "old"], "its file is still watched")
        stale.interest = .write
        stale.invalidate()
        new.send("c")
        let waits = loop.counters.waits
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["new a", "old", "new c"], "what concerned the old file left the new one alone")
        #expect(loop.counters.waits - waits <= 3, "nothing stale keeps the loop busy")
    }

    @Test func aSourceInvalidatedByAnothersHandlerIsNotCalled() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<Int>()
        let all = LoopBound([Source](), on: loop)
        all.value = try (0..<2).map { index in
            try Source(pipe.reader) { source, _ in
                log.add(index)
                for source in all.value { source.invalidate() }
                #expect(!source.isValid)
            }
        }
        for source in all.value { loop.add(source, in: .default) }
        pipe.send("a")
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [0])
        all.value = []
    }

    @Test func anOwnedDescriptorIsClosedWithItsSource() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<2).map { _ in Ends.pipe() }
        for pipe in pipes { pipe.isWriterGone = true }
        var dropped: Source? = try Source(owning: pipes[0].writer, interest: .write) { _, _ in }
        #expect(pipes[0].take() == nil && dropped?.descriptor == pipes[0].writer)
        dropped = nil
        #expect(pipes[0].take() == "", "closed")

        let invalidated = try Source(owning: pipes[1].writer, interest: .write) { source, _ in
            source.invalidate()
            #expect(source.descriptor >= 0 && pipes[1].take() == nil, "not closed under the handler's feet")
        }
        loop.add(invalidated, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(invalidated.descriptor == -1 && pipes[1].take() == "")
    }

    @Test func anOwnedDescriptorStaysOpenWhileItsHandlerRunsOnAnotherThread() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        pipe.isWriterGone = true
        let (begun, invalidated) = (Gate(), Gate())
        let wasOpen = Log<Bool>()
        let source = try Source(owning: pipe.writer, interest: .write) { source, _ in
            begun.open()
            invalidated.wait()
            wasOpen.add(isOpen(source.descriptor))
        }
        thread.loop.add(source, in: .default)
        begun.wait()
        source.invalidate()
        invalidated.open()
        spin(until: source.descriptor == -1)
        #expect(wasOpen.entries == [true] && pipe.take() == "")
    }

    @Test func aBorrowedDescriptorIsLeftOpenAndItsFileIsLetGo() throws {
        let pipe = Ends.pipe()
        let source = try Source(pipe.writer, interest: .write) { _, _ in }
        pipe.hangUp()
        #expect(pipe.take() == nil, "the source still has it open")
        source.invalidate()
        source.invalidate()
        #expect(pipe.take() == "")
        #expect(isOpen(pipe.reader))
        _ = try Source(pipe.reader) { _, _ in }
        #expect(isOpen(pipe.reader))
    }

    @Test func whatTheHandlerCapturedGoesWithTheSource() throws {
        let pipe = Ends.pipe()
        weak var captured: Count?
        let source = try { () throws in
            let count = Count()
            captured = count
            return try Source(pipe.reader) { _, _ in count.up() }
        }()
        #expect(captured != nil)
        source.invalidate()
        #expect(captured == nil)
        source.interest = .write
        source.rearm()
        #expect(!source.isValid && source.descriptor == pipe.reader)
    }

    // MARK: What cannot be watched, and what can

    @Test func whatIsAlwaysReadyIsRefusedWithTheWayOut() throws {
        for path in [#filePath, "/", "/dev/null"] {
            let file = openFile(path)
            defer { closeFile(file) }
            let error = #expect(throws: LoopError.self) { try Source(file) { _, _ in } }
            #expect(error?.description.hasPrefix("epoll_ctl(\(file)): Operation not permitted (EPERM); ") ?? false)
            #expect(error?.advice?.contains("read or write it directly") ?? false)
            #expect(throws: LoopError.self) { try Source(owning: file) { _, _ in } }
            #expect(isOpen(file))
        }
    }

    /// Closing any descriptor of a file gives up the process's POSIX locks on it, a duplicate that was tried too.
    @Test func aRefusedFileKeepsItsLocks() throws {
        let file = LockedFile()
        #expect(throws: LoopError.self) { try Source(file.descriptor) { _, _ in } }
        #expect(throws: LoopError.self) { try Source(owning: file.descriptor) { _, _ in } }
        #expect(file.isLocked)
    }

    @Test func aDuplicateIsNotInherited() throws {
        let pipe = Ends.pipe()
        let source = try Source(pipe.reader) { _, _ in }
        #expect(source.watches[0].descriptor != pipe.reader && closesOnExec(source.watches[0].descriptor))
    }

    @Test(arguments: [-1, Int32.min, Int32.max]) func whatIsNoDescriptorIsRefused(_ number: Int32) {
        let borrowed = #expect(throws: LoopError.self) { try Source(number) { _, _ in } }
        let owned = #expect(throws: LoopError.self) { try Source(owning: number) { _, _ in } }
        for error in [borrowed, owned] {
            #expect(error?.description == "epoll_ctl(\(number)): Bad file descriptor (EBADF)")
        }
    }

    /// A loop hosts somebody else's epoll set by its descriptor.
    @Test func anEpollSetCanBeASource() throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let foreign = try Poller()
        let pipe = Ends.pipe()
        try foreign.set(Watch(descriptor: pipe.reader, events: .read), token: 7)
        let log = Log<UInt64>()
        let source = try Source(foreign.descriptor) { _, _ in
            for index in 0..<foreign.wait(blocking: false) { log.add(foreign.token(at: index)) }
            _ = pipe.take()
        }
        loop.add(source, in: .default)
        loop.run(mode: .default, for: .seconds(1))
        pipe.send("a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [7])
    }

    // MARK: In a loop

    @Test func virtualTimeWaitsForWhatIsReady() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { _, _ in log.add("\(pipe.take()!) at \(clock.now)") }
        loop.add(source, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in pipe.send("x") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(2)) { _ in Loop.current.stop() }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(9)) == .stopped)
        #expect(log.entries == ["x at \(seconds(1))"])
    }

    @Test func moreReadyDescriptorsThanOneFetchTakesAreAllServed() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipes = (0..<(3 * Poller.capacity)).map { _ in Ends.pipe() }
        let log = Log<Int>()
        for (index, pipe) in pipes.enumerated() {
            let source = try Source(pipe.reader) { _, _ in
                _ = pipe.take()
                log.add(index)
            }
            loop.add(source, in: .default)
            pipe.send("a")
        }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.sorted() == Array(pipes.indices))
    }

    @Test func aDescriptorThatStaysReadyKeepsNobodyElseWaiting() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let port = try Loop.PortSource { _ in log.add("port") }
        let busy = try Source(pipe.reader) { _, _ in
            log.add("busy")
            clock.advance(by: .seconds(1))
        }
        loop.add(busy, in: .default)
        loop.add(port, in: .default)
        loop.add(Loop.Timer(after: .seconds(3)) { _ in log.add("timer") }, in: .default)
        pipe.send("a")
        port.send()
        loop.run(mode: .default, for: .seconds(6))
        #expect(Set(log.entries) == ["busy", "port", "timer"])
    }

    @Test func aHostSeesTheLoopReadableForAsLongAsTheDescriptorIs() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let log = Log<String>()
        let source = try Source(pipe.reader) { _, _ in log.add(pipe.take(2) ?? "nothing") }
        let descriptor = try loop.beginHosting()
        func serve() -> [Loop.HostedResult] {
            var results: [Loop.HostedResult] = []
            while System.isReadable(descriptor), results.count < 100 { results.append(loop.hostedPass()) }
            return results
        }
        loop.add(source, in: .default)
        _ = serve()
        pipe.send("abc")
        #expect(serve() == [.more, .idle])
        // Found by the pass, and read by somebody else while the host slept.
        pipe.send("defg")
        #expect(loop.hostedPass() == .more)
        _ = pipe.take()
        #expect(serve() == [.idle])
        #expect(log.entries == ["ab", "c", "de"])
        loop.endHosting()
    }

    @Test func theDescriptionSaysWhatIsWatched() throws {
        let (loop, _) = Loop.inVirtualTime()
        let pipe = Ends.pipe()
        let source = try Source(pipe.reader, interest: [.read, .priority], isOneShot: true) { _, _ in }
        source.disarm()
        loop.add(source, in: .default)
        #expect("\(loop)".contains("descriptor \(pipe.reader): read|priority, level-triggered, one-shot, disarmed"))
    }

    @Test func manyThreadsMayChangeASourceWhileItIsServed() throws {
        let thread = try LoopThread()
        let pipe = Ends.pipe()
        pipe.send("a")
        let calls = Count()
        let source = try Source(pipe.reader) { _, _ in calls.up() }
        thread.loop.add(source, in: .common)
        let workers = try (0..<3).map { index in
            let worker = try LoopThread()
            worker.perform {
                for round in 0..<300 {
                    switch (index + round) % 4 {
                    case 0: source.disarm()
                    case 1: source.interest = [.write]
                    case 2: thread.loop.remove(source, in: .common)
                    default: thread.loop.add(source, in: .common)
                    }
                }
            }
            return worker
        }
        for worker in workers {
            worker.stop()
            worker.join()
        }
        thread.loop.add(source, in: .common)
        source.interest = .read
        source.rearm()
        let before = calls.value
        spin(until: calls.value > before + 1)
        source.invalidate()
    }
}
