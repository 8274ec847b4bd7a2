import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Programs that close a descriptor of the library's, or put another file in its place: each descriptor in turn.
@Suite(.timeBound) struct ClosedDescriptorTests {
    private static let advice = "; the program has closed a descriptor of a loop: close only those that it has opened"

    /// What a source of the user's descriptor cannot know: a pipe's end is in the place of its own. It is noticed if
    /// the source's own file stays open, once the source has left.
    private static let unnoticed = "pipe:"

    @Test(
        "A descriptor that the program has closed traps when it is used, and is named",
        arguments: ["asleep", "awake"], ["close", "null", "pipe"])
    func eachDescriptor(moment: String, way: String) throws {
        let list = try run([])
        #expect(list.status == 0 && endsWell(list, isUnnoticed: false), "\(list.output), \(list.errors)")
        let kinds = list.lines.dropLast(2)
        for kind in ["eventfd", "timerfd", "eventpoll", "pidfd", "pipe"] {
            #expect(kinds.contains { $0.contains(kind) }, "\(kind) is missing")
        }
        for index in kinds.indices {
            let program = try run([moment, way, "\(index)"])
            // Its number differs: a program inherits what others open at that moment.
            let descriptor = try #require(program.lines.first).split(separator: "\t").map(String.init)
            let isUnnoticed = way == "pipe" && descriptor[1].hasPrefix(Self.unnoticed)
            let isFine =
                program.status == 0
                ? endsWell(program, isUnnoticed: isUnnoticed)
                : program.status == -1
                    && (program.errors.contains(trap(naming: descriptor[0]))
                        || isUnnoticed && program.errors.contains(Self.lateTrap))
            #expect(isFine, "\(descriptor): \(program.status), \(program.output), \(program.errors)")
        }
    }

    private func run(_ arguments: [String]) throws -> Program {
        try Program.run("ClosedDescriptorProgram", arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    /// The call, with the descriptor, and its error.
    private func trap(naming descriptor: String) -> Regex<Substring> {
        try! Regex("RunLoopKit: [^;]*[a-z_]+\\((?:[^)]*[ ,])?\(descriptor)(?:,[^)]*)?\\): [^;]*\(Self.advice)")
    }

    private static let lateTrap =
        "RunLoopKit: epoll_wait, of a source that has left: Bad file descriptor (EBADF)" + advice

    /// Everything happened, and the loop sleeps when there is nothing to do.
    private func endsWell(_ program: Program, isUnnoticed: Bool) -> Bool {
        guard let waits = program.lines.last?.dropFirst("waits: ".count).components(separatedBy: ", ") else {
            return false
        }
        let happened = isUnnoticed || program.lines.suffix(2).first == "did not happen: "
        return happened && waits.allSatisfy { Int($0)! <= 5 }
    }
}
