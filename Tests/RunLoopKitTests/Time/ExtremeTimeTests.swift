import Foundation
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// No time that a program can give makes the library overflow, in virtual and in real time: a law, on random programs
/// of every public call that takes a time. An overflow traps, so each law has a process; the last line that it writes
/// to stderr names the program.
@Suite(.timeBound) struct ExtremeTimeTests {
    private static let seed = ProcessInfo.processInfo.environment["EXTREME_SEED"].flatMap { UInt64($0) }

    @Test("One program, in this process", .enabled(if: seed != nil)) func oneProgram() async throws {
        for isVirtual in [true, false] { ExtremeProgram(Self.seed!, isVirtual: isVirtual).run() }
        try await ExtremeProgram(Self.seed!, isVirtual: false).runOnThreads()
    }

    @Test("No extreme time traps in virtual time")
    func virtualTime() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for seed: UInt64 in 0..<80 { ExtremeProgram(seed, isVirtual: true).run() }
            _exit(0)
        }
        expectNoTrap(result)
    }

    @Test("No extreme time traps in real time")
    func realTime() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for seed: UInt64 in 0..<40 { ExtremeProgram(seed, isVirtual: false).run() }
            _exit(0)
        }
        expectNoTrap(result)
    }

    @Test("No extreme time traps on threads, in sequences, or in a monitor")
    func threads() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for seed: UInt64 in 0..<12 { try await ExtremeProgram(seed, isVirtual: false).runOnThreads() }
            _exit(0)
        }
        expectNoTrap(result)
    }

    private func expectNoTrap(_ result: ExitTest.Result?) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(!text.contains("Fatal error"), "\(text.split(separator: "\n").suffix(40).joined(separator: "\n"))")
    }

    @Test("Arithmetic on instants saturates")
    func instants() {
        for nanoseconds in ExtremeProgram.numbers {
            let instant = Loop.Instant(nanoseconds: nanoseconds)
            for duration in ExtremeProgram.durations {
                let exact = Int128(duration.attoseconds)
                let up = exact.quotientAndRemainder(dividingBy: 1_000_000_000)
                let later = Int128(nanoseconds) + up.quotient + (up.remainder > 0 ? 1 : 0)
                #expect((instant + duration).nanoseconds == Int64(clamping: later))
                let earlier = Int128(nanoseconds) - up.quotient + (up.remainder < 0 ? 1 : 0)
                #expect((instant - duration).nanoseconds == Int64(clamping: earlier))
            }
            for other in ExtremeProgram.numbers {
                let exact = Int128(other) - Int128(nanoseconds)
                #expect((Loop.Instant(nanoseconds: other) - instant).attoseconds == exact * 1_000_000_000)
                #expect(nanoseconds.addingSaturating(other) == Int64(clamping: Int128(nanoseconds) + Int128(other)))
                #expect(
                    nanoseconds.subtractingSaturating(other) == Int64(clamping: Int128(nanoseconds) - Int128(other)))
            }
        }
    }

    /// The law calls all of these. A declaration that is new belongs into `ExtremeProgram`, and then into this table.
    @Test("The law knows every public declaration that takes a time")
    func declarations() throws {
        let known = [
            "Activities": 1, "AsyncLimiter": 3, "Backoff": 1, "ChildProcessEnd": 3, "ConnectionEnd": 2,
            "ConnectionIdleness": 1, "ConnectionSet": 2,
            "Debounce": 4, "DeprecatedHosting": 1, "DurationHistogram": 2, "Instant": 7,
            "IsolatedHandlers": 4, "KeyedDebounce": 4, "KeyedLimiter": 1, "KeyedQuota": 2, "KeyedThrottle": 3,
            "LoopAndClock": 1, "LoopClock": 1, "LoopHosting": 1, "LoopRun": 2, "LoopThread": 3, "LoopThreadOptions": 2,
            "LoopThreadPool": 3,
            "MainActorHandlers": 5, "MainActorLimiters": 9, "MethodLimiting": 3, "PacedQueue": 1, "PostingBlocks": 1,
            "Quota": 2, "QuotaWindow": 1,
            "RateLimitState": 5, "Limiter": 1, "Settling": 1, "Spinning": 1, "StallMonitor": 1, "SupervisedChild": 3,
            "Throttle": 3,
            "AnyMethodRule": 1, "LimitedMethod": 3, "Ticks": 2, "Timer": 4,
            "TimerSettings": 3, "VirtualClock": 2, "WaitingForALoop": 2,
        ]
        var found: [String: Int] = [:]
        for source in try librarySources() {
            let count = Self.countOfTimes(in: source.text)
            if count > 0 { found[source.name, default: 0] += count }
        }
        for name in Set(known.keys).union(found.keys).sorted() {
            let (found, known) = (found[name] ?? 0, known[name] ?? 0)
            #expect(found == known, "\(name).swift: see ExtremeProgram")
        }
    }

    /// The public functions, initializers and settable properties in a source file that take a time.
    private static func countOfTimes(in source: String) -> Int {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map { $0.drop { $0 == " " } }
        return lines.indices.count { index in
            guard lines[index].contains("public "), !lines[index].hasPrefix("//") else { return false }
            let rest = lines[index...].prefix(20)
            if let name = ["func ", "init(", "init<"].first(where: { lines[index].contains($0) }) {
                return takesTime(parameters(of: rest.joined(separator: " "), after: name))
            }
            guard lines[index].contains("var "), !lines[index].contains("(set)"), takesTime(lines[index]) else {
                return false
            }
            // Without accessors, or with a setter.
            return !lines[index].hasSuffix("}") && !lines[index].hasSuffix("{")
                || rest.prefix { $0 != "" }.contains { $0.hasPrefix("set {") }
        }
    }

    /// What is between the parentheses after the name.
    private static func parameters(of declaration: String, after name: String) -> Substring {
        let name = declaration.firstRange(of: name.dropLast())!
        let text = declaration[name.upperBound...].drop { $0 != "(" }
        var depth = 0
        return text.prefix { character in
            depth += character == "(" ? 1 : character == ")" ? -1 : 0
            return depth > 0
        }
    }

    private static func takesTime(_ text: some StringProtocol) -> Bool {
        let words = text.split { !$0.isLetter && !$0.isNumber }
        return words.contains { ["Duration", "Instant", "Int64", "percent"].contains($0) }
    }
}
