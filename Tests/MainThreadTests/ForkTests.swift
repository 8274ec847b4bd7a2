import ProgramSupport
import TestSupport
import Testing

/// Processes that fork without exec: whatever the child does with its parent's loop, the parent notices nothing.
@Suite(.timeBound) struct ForkTests {
    /// What the parent says when its loop works as before.
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

    @Test func aChildThatInvalidatesInheritedItemsLeavesItsParentsWatched() throws {
        #expect(try fork("invalidate").child == ["source0 leaves", "child: invalidated", "child ended"])
    }

    @Test func aChildThatChangesTimersAndWatchesLeavesItsParentsArmed() throws {
        #expect(try fork("retime").child == ["child: changed", "child ended"])
    }

    @Test func aChildThatRunsItsParentsLoopTrapsAndSaysWhatToDo() throws {
        let (child, errors) = try fork("run")
        #expect(child == ["child ended by a signal"])
        #expect(errors.contains("Loop.run was called in a forked child, on a loop of its parent's. Call exec or _exit"))
    }

    @Test func aChildThatReturnsFromTheHandlerThatForkedItTrapsAtOnceAndSaysWhatToDo() throws {
        let (child, errors) = try fork("return")
        #expect(child == ["child ended by a signal", "parent: job", "parent: next block"])
        #expect(errors.contains("returned from the handler that forked it"))
    }

    @Test func inAChildAnInheritedLoopRefusesWorkAndSaysSoOnce() throws {
        let (child, errors) = try fork("send")
        #expect(child == ["child: perform false, add false", "child: again false, end false", "child ended"])
        #expect(errors.split(separator: "\n").count == 1)
        #expect(errors.contains("a forked child gave work to a loop of its parent's"))
    }

    @Test func aChildMakesALoopAndThreadsOfItsOwn() throws {
        #expect(
            try fork("anew").child == [
                "child: block", "child: timer", "child: own true, ()", "child: worker 7", "child ended",
            ])
    }

    @Test func aChildDoesNotWaitForItsParentsThreads() throws {
        #expect(
            try fork("thread").child == [
                "child: perform false", "child: joined", "child ended", "parent: worker 7",
            ])
    }

    /// As a daemon is made: the parent has not used the library, and its child is a process like any other.
    @Test func aChildOfAParentWithoutLoopsHasAMainLoop() throws {
        let lines = try fork("first").child
        #expect(
            lines == [
                "child: is current true", "child: block", "child: job", "child: timer",
                "grandchild: refused true, own true", "grandchild: block", "child ended", "child: goes on",
                "child ended",
            ])
    }
}
