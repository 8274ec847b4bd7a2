#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Plays the cases of programs, and judges how each ends.
    struct Player {
        let isQuick: Bool
        let share: Int
        let of: Int

        init(isQuick: Bool, share: Int, of: Int) { (self.isQuick, self.share, self.of) = (isQuick, share, of) }

        /// Returns whether all ended well.
        func play(_ scenes: [Scene]) -> Bool {
            var (faults, unmet, bad, traps, thrown) = (0, 0, 0, 0, 0)
            var kinds: Set<Faults.Call> = []
            var number = 0
            for scene in scenes {
                let normal = scene.playInChild()
                let (counts, kept) = (normal.calls, normal.descriptors)
                if normal.isBad {
                    print("BAD \(scene.name) without a fault: \(normal)")
                    bad += 1
                    continue
                }
                bad += badPauses(scene, kept)
                let limit = Scene.callLimit(counts)
                for (fault, often) in cases(counts) where !fault.isUntrue(in: scene.name) {
                    number += 1
                    guard number % of == share else { continue }
                    let outcome = scene.playInChild(Conditions(fault: fault, kept: kept, limit: limit))
                    faults += 1
                    if outcome.status == 0, !outcome.hangs, outcome.failures == 0, outcome.complaints.isEmpty {
                        unmet += 1
                        continue
                    }
                    kinds.insert(fault.call)
                    if outcome.status != 0 { traps += 1 } else if !outcome.answers.isEmpty { thrown += 1 }
                    if let reason = fault.complaint(about: outcome, kept: kept, scene.name) {
                        bad += 1
                        print("BAD \(line(scene, fault, often)): \(reason)")
                    }
                }
            }
            print(
                "\(scenes.count) programs, \(kinds.count) kinds of calls, \(faults) faults: \(unmet) not met, "
                    + "\(faults - unmet - traps - thrown - bad) absorbed, \(thrown) thrown or told, "
                    + "\(traps) traps, \(bad) bad ends")
            return bad == 0
        }

        /// No end may depend on how fast the machine is: each point is slow in one of the phases. Returns the number of
        /// bad ends.
        func badPauses(_ scene: Scene, _ kept: Int) -> Int {
            let period = 16
            let phases = isQuick ? [4, 21] : Array(0..<2 * period)
            return phases.filter { $0 % of == share }.count { phase in
                let pauses = Pauses(phase % period, of: period, ofInitialThread: phase >= period)
                let outcome = scene.playInChild(Conditions(pauses: pauses, kept: kept))
                if outcome.isBad { print("BAD \(scene.name) with pauses \(phase): \(outcome)") }
                return outcome.isBad
            }
        }

        /// One case, with all that its child says.
        func play(_ scene: Scene, _ fault: Faults.Fault, _ often: String) -> Bool {
            let normal = scene.playInChild()
            let limit = Scene.callLimit(normal.calls)
            let outcome = scene.playInChild(Conditions(fault: fault, kept: normal.descriptors, limit: limit))
            print(outcome.text, terminator: "")
            let reason = fault.complaint(about: outcome, kept: normal.descriptors, scene.name)
            print("\(line(scene, fault, often)): status \(outcome.status), \(reason ?? "a good end")")
            return reason == nil
        }

        private func line(_ scene: Scene, _ fault: Faults.Fault, _ often: String) -> String {
            "\(scene.name) '\(fault.call.rawValue)' \(fault.first) \(fault.error) \(often) "
                + "(\(String(cString: strerror(fault.error))))"
        }

        /// The first three calls of each kind, and the last; each wait, since what it has not reported yet must not be
        /// lost. The quick ones: the first call, once.
        private func cases(_ counts: [Faults.Call: Int]) -> [(Faults.Fault, String)] {
            var cases: [(Faults.Fault, String)] = []
            for call in Faults.Call.allCases {
                guard let count = counts[call] else { continue }
                let isFirstOnly = isQuick || call == .accept
                let chosen = isFirstOnly ? [1] : call == .epollWait ? Set(1...count) : [1, 2, 3, count]
                let numbers = chosen.filter { $0 <= count }.sorted()
                for number in numbers {
                    for error in isQuick ? Array(call.errors.prefix(1)) : call.errors {
                        for often in isQuick ? ["once"] : ["once", "ever"] {
                            cases.append((Faults.Fault(call, first: number, often: often, error: error), often))
                        }
                    }
                }
            }
            return cases
        }
    }

    extension Faults.Fault {
        /// Whether the kernel never says so: of a pipe or an eventfd that it has just reported as readable, and nobody
        /// else reads. Or whether there is no way out: a child that may not be signalled goes on.
        func isUntrue(in scene: String) -> Bool {
            if scene == "ended child" { return call == .kill && count > 1 }
            let reads = ["signal", "main queue", "reads first", "end of a period"]
            return reads.contains { scene.contains($0) } && call == .read && error == EAGAIN
        }

        /// What is wrong with a case's end; nil if the documents say that it may end so.
        func complaint(about outcome: Outcome, kept: Int, _ scene: String) -> String? {
            if outcome.hangs { return "hangs" }
            if outcome.status != 0 {
                return isDocumented(trap: outcome.trap, scene) ? nil : "ended by \(outcome.status): \(outcome.trap)"
            }
            if let complaint = outcome.complaints.first { return complaint }
            if outcome.descriptors > kept { return "\(outcome.descriptors - kept) descriptors are left" }
            let isTold = outcome.answers.contains { isDocumented(answer: $0, scene) }
            for answer in outcome.answers where !isDocumented(answer: answer, scene) {
                // The other end of a connection that has failed has its own error.
                if isTold, [ECONNRESET, EPIPE].contains(answer.errno) { continue }
                return "an answer that no document has: \(answer)"
            }
            return nil
        }

        /// An error has the errno, and names the call.
        private func isDocumented(answer: (errno: Int32, text: String), _ scene: String) -> Bool {
            if answer.errno == error, call.names.contains(where: { answer.text.hasPrefix($0) }) { return true }
            return otherAnswers(scene).contains { answer.text.hasPrefix($0) }
        }

        /// What the documents say instead.
        private func otherAnswers(_ scene: String) -> [String] {
            switch call {
            // Reaped by other code, as it seems.
            case .wait: ["an exit of unknown status", "a child that seems reaped is not ended"]
            case .processFD:
                error == ESRCH ? ["an exit of unknown status", "a child that seems reaped is not ended"] : []
            // One that this user may not read, whose path is too long, that is gone, or a dead mount.
            case .inotifyAdd, .openFolder, .readFolder:
                [EACCES, ENAMETOOLONG, ENOENT, ENOTDIR, EIO, ENOTCONN, ESTALE].contains(error)
                    ? ["a subfolder is not watched"] : []
            case .ownAddress: ["a listener does not know its address"]
            // What is not open cannot be watched.
            case .isOpen: ["epoll_ctl("]
            // Whether a file has been left behind is not known, or it cannot be removed.
            case .connect, .unlink, .socket, .pathStatus: scene == "unix, left behind" ? ["bind(left"] : []
            default: []
            }
        }

        /// Programs whose every source has a caller to throw to: the initializer of a thread.
        private static let makingThreads = ["thread", "options", "pool", "end"]

        /// "When the kernel refuses", in the article on costs.
        private func isDocumented(trap: String, _ scene: String) -> Bool {
            // What the set still watches, although it said that it did not.
            if call == .epollDelete, error == ENOENT, trap.contains("epoll_wait, of a source that has left") {
                return true
            }
            guard call.names.contains(where: { trap.contains($0) }) else { return false }
            // A descriptor that is in the set, and then is not.
            let isOfSet = call == .epollAdd && error == EEXIST && trap.contains("(ENOENT)")
            let name = isOfSet || trap.contains("errno \(error)") || trap.contains(String(cString: strerror(error)))
            guard name else { return false }
            if trap.contains("the program has closed a descriptor of a loop: close only those that it has opened") {
                return [
                    .epollAdd, .epollModify, .epollDelete, .epollWait, .read, .write, .timerSet, .timerSetOnWallClock,
                    .poll, .wait, .accept, .shutDown,
                ]
                .contains(call) && isOfForeignClose
            }
            if trap.contains("RunLoopKit: running a loop in mode") {
                return [.epollCreate, .eventFD, .timerCreate, .epollAdd].contains(call)
            }
            if trap.contains("RunLoopKit: adding a timer on the ") { return [.timerCreate, .epollAdd].contains(call) }
            if trap.contains("RunLoopKit: poll(") { return call == .poll }
            if trap.contains("RunLoopKit: mmap(") { return call == .map }
            if [.makeKey, .atFork].contains(call) { return trap.contains("RunLoopKit: \(call.rawValue)") }
            if trap.contains("RunLoopKit: watching a source in mode ") {
                return call == .epollAdd && !Self.makingThreads.contains(scene)
            }
            return trap.contains("there is no thread of last resort") && call == .createThread
        }

        /// Whether the error says that a descriptor is closed, or another file.
        private var isOfForeignClose: Bool {
            // Another file has errors of its own.
            if call == .read || call == .write { return true }
            return [EBADF, EINVAL, ENOENT, EPERM, EEXIST, ENOTSOCK, ELOOP].contains(error)
        }
    }
#endif
