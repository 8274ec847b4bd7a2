import ProgramSupport
import TestSupport
import Testing

/// Processes that fork without exec: whatever the child does with its parent's loop, the parent's loop is unaffected.
@Suite(.timeBound) struct ForkTests {
    /// The parent's output if its loop works as before.
    private static let works: Set<String> = [
        "parent: block", "parent: source0", "parent: port 1", "parent: read 1", "parent: message 2", "parent: timer",
    ]

    private func fork(_ child: String) throws -> (child: [String], errors: String) {
        let program = try Program.run("ForkProgram", [child], environment: ["SWIFT_BACKTRACE": "enable=no"])
        #expect(program.status == 0)
        let parent = program.lines.suffix(Self.works.count)
        #expect(Set(parent) == Self.works)
        return (program.lines.dropLast(Self.works.count), program.errors)
    }

    @Test("A child that invalidates inherited items leaves the parent's watched")
    func childInvalidatesItems() throws {
        #expect(try fork("invalidate").child == ["source0 leaves", "child: invalidated", "child ended"])
    }

    @Test("A child that changes timers and watches leaves the parent's armed")
    func childChangesTimers() throws {
        #expect(try fork("retime").child == ["child: changed", "child ended"])
    }

    @Test("A child that runs its parent's loop traps with a message that says what to do")
    func childRunsParentsLoop() throws {
        let (child, errors) = try fork("run")
        #expect(child == ["child ended by a signal"])
        #expect(errors.contains("Loop.run was called in a forked child, on a loop of its parent's. Call exec or _exit"))
    }

    @Test("A child that returns from the handler that forked it traps at once and says what to do")
    func childReturnsFromHandler() throws {
        let (child, errors) = try fork("return")
        #expect(child == ["child ended by a signal", "parent: job", "parent: next block"])
        #expect(errors.contains("returned from the handler that forked it"))
    }

    @Test("A child that returns from a pool's piece that forked it traps before it runs another one")
    func childReturnsFromPiece() throws {
        let (child, errors) = try fork("piece")
        #expect(child == ["child ended by a signal", "parent: next piece"])
        #expect(errors.contains("returned from the handler that forked it"))
    }

    @Test("A child that returns from a job that forked it traps before it runs another one")
    func childReturnsFromJob() throws {
        let (child, errors) = try fork("job")
        #expect(child == ["child ended by a signal", "parent: next job"])
        #expect(errors.contains("returned from the handler that forked it"))
    }

    /// The parent's other thread holds the pool's lock, which the child would wait for. The limit is for that.
    @Test(
        "A child that returns from a pool's piece traps before it waits for the pool's lock",
        arguments: ["keyed", "awaited"])
    func childReturnsFromPiece(_ piece: String) throws {
        let (child, errors) = try fork(piece)
        #expect(child == ["child ended by a signal"])
        #expect(errors.contains("returned from the handler that forked it"))
    }

    @Test("In a child, an inherited loop refuses work and says so once")
    func inheritedLoopRefusesWork() throws {
        let (child, errors) = try fork("send")
        #expect(child == ["child: perform false, add false", "child: again false, end false", "child ended"])
        #expect(errors.split(separator: "\n").count == 1)
        #expect(errors.contains("a forked child gave work to a loop of its parent's"))
    }

    @Test("In a child, its loops refuse items that belong to the parent's kernel objects, and limiters refuse calls")
    func inheritedItemsAndLimiters() throws {
        let (child, errors) = try fork("inherited")
        let refused = ["port source", "signal source", "folder source"].map {
            "child: The loop refused the \($0) \"inherited\", which was made before the fork, and hears nothing in "
                + "the child: make a new one there."
        }
        #expect(
            child == refused + [
                "child: add [false, false, false]", "child: debounce false, throttle false, false, keyed false",
                "child: queue closed, flush false", "child ended",
            ])
        #expect(errors.contains("a forked child gave work to a loop of its parent's"))
    }

    @Test("A child makes a loop and threads of its own")
    func childMakesOwnLoop() throws {
        #expect(
            try fork("anew").child == [
                "child: block", "child: timer", "child: own true, ()", "child: worker 7", "child ended",
            ])
    }

    @Test("A child has a main loop and a main actor of its own, and so has its child")
    func childHasMainLoop() throws {
        func served(_ name: String) -> [String] {
            ["\(name): own true, current true", "\(name): block", "\(name): timer", "\(name): job"]
        }
        #expect(
            try fork("main").child == served("parent") + served("child") + served("grandchild")
                + ["child ended", "child: goes on", "child ended", "parent: job again"])
    }

    @Test("A child that another thread has forked has a main loop, which does not serve the main actor")
    func childOfWorkerHasMainLoop() throws {
        #expect(
            try fork("worker").child == [
                "child: own true, current true", "child: block", "child: timer", "child ended",
            ])
    }

    @Test("A child does not wait for its parent's threads")
    func childDoesNotWait() throws {
        #expect(
            try fork("thread").child == [
                "child: perform false", "child: joined", "child: pool refuses", "child: drained", "child ended",
                "parent: worker 7",
            ])
    }

    @Test(
        "A child forked while its parent requests a backtrace gets those that it requests",
        .disabled(if: isUnderThreadSanitizer, "there a signal waits for the thread's next call that it intercepts"))
    func childRequestsBacktrace() throws {
        #expect(
            try fork("backtrace").child == ["child: has answered true", "child ended", "parent: has answered true"])
    }

    @Test("A child forked by a signal handler inside a request for a backtrace waits for no answer")
    func childIsForkedInsideRequest() throws {
        #expect(
            try fork("interrupted backtrace").child
                == ["child: has answered false", "child ended", "parent: has answered true"])
    }

    /// The limit is for a child that hangs; one that does not ends within milliseconds on any machine.
    @Test(
        "A child of a busy parent finds no lock of the library held",
        .disabled(
            if: isUnderThreadSanitizer || isUnderAddressSanitizer, "a child may find a lock of the sanitizer's held"))
    func busyParent() throws {
        let environment = ["SWIFT_BACKTRACE": "enable=no"]
        let program = try Program.run("ForkProgram", ["busy", "20", "60"], environment: environment)
        #expect(program.lines == ["children that ended: 20 of 20"] && program.errors.isEmpty)
    }

    /// As daemons are made: the parent has not used the library, and its child is like any other process.
    @Test("A child of a parent without loops has a main loop")
    func parentWithoutLoops() throws {
        let lines = try fork("first").child
        #expect(
            lines == [
                "child: is current true", "child: block", "child: job", "child: timer",
                "grandchild: refused true, own true", "grandchild: block", "child ended", "child: goes on",
                "child ended",
            ])
    }
}
