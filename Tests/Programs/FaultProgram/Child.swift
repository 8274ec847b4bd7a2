#if DEBUG
    import RunLoopKit
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Hidden from Swift, because Swift concurrency does not work in a child of a process that has used it.
    @_silgen_name("fork") func fork() -> Int32

    @_silgen_name("gettid") private func threadID() -> Int32

    /// What a child has said, and how it ended.
    struct Outcome {
        /// Its wait status: 0 if it has played to the end.
        var status: Int32 = 0
        var hangs = false
        var text = ""

        private func lines(_ kind: String) -> [String] {
            text.split(separator: "\n").filter { $0.hasPrefix(kind + "\t") }.map {
                String($0.dropFirst(kind.count + 1))
            }
        }

        /// The errors that the program was answered: an errno, and the text.
        var answers: [(errno: Int32, text: String)] {
            lines("answer").map { line in
                let parts = line.split(separator: " ", maxSplits: 1)
                return (Int32(parts[0]) ?? -1, String(parts.last!))
            }
        }

        var complaints: [String] { lines("bad") }
        /// Of a program without a fault.
        var isBad: Bool { status != 0 || hangs || !complaints.isEmpty || !answers.isEmpty }
        var failures: Int { lines("failures").compactMap { Int($0) }.first ?? 0 }
        var descriptors: Int { lines("descriptors").compactMap { Int($0) }.first ?? 0 }

        var calls: [Faults.Call: Int] {
            var calls: [Faults.Call: Int] = [:]
            for line in lines("call") {
                let parts = line.split(separator: "\t")
                calls[Faults.Call(rawValue: String(parts[0]))!] = Int(parts[1])
            }
            return calls
        }

        /// What a trap has said.
        var trap: String {
            text.split(separator: "\n").last { $0.contains("RunLoopKit: ") || $0.contains("Fatal error") }
                .map(String.init) ?? ""
        }
    }

    /// A slow machine: at some of the points where threads can meet, the initial thread or the others stand still, for
    /// longer than a program's timers and intervals. The rest goes on meanwhile.
    final class Pauses: Sendable {
        let phase: Int
        let period: Int
        let isOfInitialThread: Bool
        private let points = Atomic(0)

        /// At each `period`th point, from the `phase`th on.
        init(_ phase: Int, of period: Int, ofInitialThread: Bool) {
            (self.phase, self.period, isOfInitialThread) = (phase, period, ofInitialThread)
        }

        func wait() {
            guard isOfInitialThread == (threadID() == getpid()) else { return }
            if points.wrappingAdd(1, ordering: .relaxed).oldValue % period == phase { usleep(3000) }
        }
    }

    /// What a child plays a program with, as arguments of its process.
    struct Conditions: Sendable {
        var fault: Faults.Fault?
        var pauses: Pauses?
        /// How many descriptors the program leaves open, if that is known.
        var kept = 0
        /// How many calls are too many.
        var limit = Int.max

        var arguments: [String] {
            let fault = fault.map { [$0.call.rawValue, "\($0.first)", "\($0.count)", "\($0.error)"] }
            let pauses = pauses.map { ["\($0.phase)", "\($0.period)", "\($0.isOfInitialThread)"] }
            return ["\(kept)", "\(limit)"] + (fault ?? ["none", "0", "0", "0"]) + (pauses ?? [])
        }
    }

    extension Conditions {
        init(_ arguments: [String]) {
            (kept, limit) = (Int(arguments[0])!, Int(arguments[1])!)
            fault = Faults.Call(rawValue: arguments[2]).map {
                Faults.Fault($0, first: Int(arguments[3])!, count: Int(arguments[4])!, error: Int32(arguments[5])!)
            }
            if arguments.count > 6 {
                pauses = Pauses(
                    Int(arguments[6])!, of: Int(arguments[7])!, ofInitialThread: Bool(arguments[8])!)
            }
        }
    }

    extension Scene {
        /// The most calls of a child with a fault. A descriptor that cannot be removed from its set is ready until
        /// it is closed. The loop spins until then, and the thread that closes it may wait for a processor.
        static func callLimit<Call>(_ calls: [Call: Int]) -> Int { 4 * calls.values.reduce(0, +) + 200_000 }

        /// Plays the program in a child. Not in a fork of this process: two threads of a forked child that meet at the
        /// first use of a global variable spin in Swift's runtime.
        func playInChild(_ conditions: Conditions = Conditions()) -> Outcome {
            var ends: [Int32] = [-1, -1]
            precondition(pipe(&ends) == 0)
            let folder = Folder()
            defer { folder.remove() }
            let arguments = [CommandLine.arguments[0], "child", name] + conditions.arguments
            var texts = arguments.map { strdup($0) } + [nil]
            defer { for text in texts { free(text) } }
            let child = fork()
            if child == 0 {
                folder.enter()
                close(ends[0])
                dup2(ends[1], STDERR_FILENO)
                close(ends[1])
                execv("/proc/self/exe", &texts)
                _exit(127)
            }
            close(ends[1])
            defer { close(ends[0]) }
            return Watch(child: child, output: ends[0]).outcome
        }

        /// Plays the program in this process, which is such a child.
        func playHere(_ conditions: Conditions) -> Never {
            let plan = Faults(
                conditions.fault, limit: conditions.limit,
                onLimit: {
                    say("bad\tmore than \(conditions.limit) calls")
                    _exit(0)
                }, atPoint: { conditions.pauses?.wait() })
            playHere(plan, conditions.kept)
        }

        private func playHere(_ plan: Faults, _ kept: Int) -> Never {
            var none = rlimit()
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
            // A spin that makes no call ends, too.
            var seconds = rlimit(rlim_cur: 8, rlim_max: 10)
            setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &seconds)
            let stage = Stage(plan)
            let before = openDescriptors()
            do { try play(stage) } catch { say("bad\tthrown without a fault: \(error)") }
            plan.end()
            // What other threads close.
            var after = openDescriptors()
            for _ in 0..<200 where after > before + kept || !stage.complaints.isEmpty {
                usleep(1000)
                after = openDescriptors()
            }
            for answer in stage.answers { say("answer\t\(answer)") }
            for complaint in stage.complaints { say("bad\t\(complaint)") }
            for (call, count) in plan.callCounts { say("call\t\(call.rawValue)\t\(count)") }
            say("failures\t\(plan.failureCount)")
            say("descriptors\t\(after - before)")
            _exit(0)
        }
    }

    /// Unbuffered.
    func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Waits for a child, and ends one that hangs.
    struct Watch {
        let child: Int32
        let output: Int32

        /// A child hangs if none of its threads has run between so many looks. Each program has a timer of a few
        /// milliseconds at most.
        private static let looks = 30
        /// One that never ends although it runs now and then. In looks that found nothing to read.
        private static let most = 300

        var outcome: Outcome {
            var outcome = Outcome()
            var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            var buffer = [UInt8](repeating: 0, count: 4096)
            var (idle, activity, looks) = (0, -1, 0)
            reading: while true {
                if poll(&request, 1, 100) > 0 {
                    let count = read(output, &buffer, buffer.count)
                    if count <= 0 { break reading }
                    outcome.text += String(decoding: buffer[..<count], as: UTF8.self)
                    continue
                }
                let now = switches
                idle = now == activity ? idle + 1 : 0
                activity = now
                looks += 1
                if idle == Watch.looks || looks == Watch.most {
                    outcome.hangs = true
                    kill(child, SIGKILL)
                }
            }
            waitpid(child, &outcome.status, 0)
            return outcome
        }

        /// How often threads of the child have run.
        private var switches: Int {
            var sum = 0
            guard let folder = opendir("/proc/\(child)/task") else { return 0 }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                guard let file = fopen("/proc/\(child)/task/\(name)/status", "r") else { continue }
                var line = [CChar](repeating: 0, count: 256)
                while fgets(&line, 256, file) != nil {
                    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                    if text.contains("ctxt_switches") {
                        sum += Int(text.split(separator: "\t").last?.dropLast() ?? "") ?? 0
                    }
                    if text.hasPrefix("State:\tR") { sum += 1_000_000 + Int.random(in: 0..<1000) }
                }
                fclose(file)
            }
            return sum
        }
    }
#endif
