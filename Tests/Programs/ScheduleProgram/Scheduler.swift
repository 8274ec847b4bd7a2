#if DEBUG && !PLAIN_ATOMICS
    import CLinux
    import RunLoopKit
    import ScheduleSeam

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Runs threads one at a time. It chooses who goes on at each point of the library's seam, by an `Order`.
    ///
    /// A thread that goes on has the token: only that thread, or the controller between two threads, touches the state
    /// here. A thread that begins does not have it yet, and reads nothing but `turns`. The token is handed over by
    /// semaphores of the C library, which are outside of the seam. The time is virtual. It passes a little with each
    /// look at a clock, and jumps to the next deadline when no thread can go on.
    final class Scheduler: ThreadScheduler, @unchecked Sendable {
        enum State: Equatable {
            /// The kernel has not started it yet.
            case reserved
            case canRun
            case word(UnsafeRawPointer, until: Int64?)
            case descriptor(Int32, until: Int64?)
            case joins(Int)
            case ended

            var deadline: Int64? {
                switch self {
                case .word(_, let deadline), .descriptor(_, let deadline): deadline
                default: nil
                }
            }
        }

        private final class Member {
            let number: Int
            var state = State.reserved
            var thread: UInt?
            /// Why its wait has ended; 0 if it was woken.
            var error: Int32 = 0
            /// The thread that it is about to start.
            var child: Int?
            /// The last step that it has reached.
            var step: Schedule.Step?

            init(_ number: Int) { self.number = number }
        }

        private var members: [Member] = []
        /// A member waits here for the token.
        private let turns = (0..<ThreadSet.capacity).map { _ in Semaphore() }
        private var order: any Order
        private let findings: Findings
        private(set) var choices: [Choice] = []
        private let stepLimit: Int

        static let startTime: Int64 = 1_000_000_000_000
        private(set) var now = Scheduler.startTime
        private static let timeOfALook: Int64 = 1000
        private var timers: [Int32: Int64] = [:]
        private var lastEnded = 0
        private let controller = Semaphore()

        /// See `Play.whileSleeping`.
        private let complaint: () -> String?
        /// See `Play.afterKill`.
        private let afterKill: () -> Void

        init(
            _ order: any Order, _ findings: Findings, stepLimit: Int = 20_000, complaint: @escaping () -> String?,
            afterKill: @escaping () -> Void = {}
        ) {
            (self.order, self.findings, self.stepLimit) = (order, findings, stepLimit)
            (self.complaint, self.afterKill) = (complaint, afterKill)
            choices.reserveCapacity(512)
        }

        // MARK: The controller, which takes no part

        /// Runs threads, and those that they start, until all have ended.
        func run(_ bodies: [@Sendable () -> Void]) {
            for body in bodies {
                let number = addMember()
                members[number].thread = startThread { [self] in
                    Schedule.join(self, as: number)
                    body()
                }
                set(members[number], .canRun)
            }
            while members.contains(where: { $0.state != .ended }) {
                turns[choose(for: nil)].post()
                guard controller.wait(forSeconds: 20) else {
                    findings.found("A thread waits outside of the seam. \(stateOfAll)")
                }
                joinThread(members[lastEnded].thread!)
                hasCalled = true
                set(members[lastEnded], .ended)
                for member in members where member.state == .joins(lastEnded) { set(member, .canRun) }
            }
        }

        private func addMember() -> Int {
            members.append(Member(members.count))
            return members.count - 1
        }

        // MARK: Choosing

        /// The thread that goes on. `current` is the one that has the token, and may be unable to go on.
        private func choose(for current: Int?, _ step: Schedule.Step? = nil) -> Int {
            guard choices.count < stepLimit else { findings.found("More than \(stepLimit) steps. \(stateOfAll)") }
            if hasCalled { lookAtDescriptors() }
            if case .descriptor = members.first?.state, let complaint = complaint() { findings.found(complaint) }
            if order.interruptsWaits(at: choices.count) { interruptWaits() }
            while enabled.isEmpty {
                guard jump() else { findings.found("No thread can go on. \(stateOfAll)") }
            }
            var choice = Choice(current: current, enabled: enabled, step)
            choice.chosen = order.pick(choice, at: choices.count)
            choices.append(choice)
            return choice.chosen
        }

        /// The threads that can go on.
        private var enabled = ThreadSet()

        private func set(_ member: Member, _ state: State) {
            member.state = state
            if state == .canRun { enabled.insert(member.number) } else { enabled.remove(member.number) }
        }

        /// Whether a descriptor may have become readable.
        private var hasCalled = true

        private func lookAtDescriptors() {
            hasCalled = false
            for member in members {
                guard case .descriptor(let descriptor, _) = member.state else { continue }
                var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                if poll(&request, 1, 0) > 0 { set(member, .canRun) }
            }
        }

        /// To the next deadline, and those close behind it, which are over together. Returns false if there is none.
        private func jump() -> Bool {
            let deadlines = members.compactMap(\.state.deadline) + timers.values
            guard let next = deadlines.min(), next != .max else { return false }
            now = max(now, deadlines.filter { $0 - 100_000 <= next }.max()!)
            fireTimers()
            for member in members {
                guard let deadline = member.state.deadline, deadline <= now else { continue }
                member.error = ETIMEDOUT
                set(member, .canRun)
            }
            lookAtDescriptors()
            return true
        }

        private func interruptWaits() {
            for member in members {
                switch member.state {
                case .word, .descriptor: break
                default: continue
                }
                member.error = EINTR
                set(member, .canRun)
            }
        }

        private func fireTimers() {
            for (descriptor, time) in timers where time <= now {
                timers[descriptor] = nil
                set(descriptor, to: 1)
                var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&request, 1, -1)
            }
        }

        /// Gives the token to the thread that is to go on, and waits for it.
        private func handOver(from thread: Int, to next: Int) {
            guard next != thread else { return }
            turns[next].post()
            turns[thread].wait()
        }

        private func block(_ thread: Int, _ state: State) {
            members[thread].error = 0
            set(members[thread], state)
            hasCalled = true
            handOver(from: thread, to: choose(for: thread))
        }

        // MARK: ThreadScheduler

        /// The calling thread is in the scheduler, where no release is a point.
        private struct Part {
            private let didTakePart = schedule_seam_take_part(false)

            func goOn() { _ = schedule_seam_take_part(didTakePart) }
        }

        /// Makes each release a point where a thread holds a lock of the library and the reference is not the last one.
        static func makeReleasesPoints() {
            schedule_seam_set_release { object in Schedule.willRelease(object) }
        }

        func reach(_ step: Schedule.Step, by thread: Int) {
            let part = Part()
            defer { part.goOn() }
            // The call that the thread was about to make is made by now.
            if case .call(let call) = members[thread].step {
                hasCalled = true
                if call == .kill { afterKill() }
            }
            members[thread].step = step
            handOver(from: thread, to: choose(for: thread, step))
        }

        func wait(at word: UnsafeRawPointer, while value: UInt32, until deadline: Int64?, by thread: Int) -> Int32 {
            let part = Part()
            defer { part.goOn() }
            guard word.load(as: UInt32.self) == value else { return EAGAIN }
            block(thread, .word(word, until: deadline))
            return members[thread].error
        }

        func wake(at word: UnsafeRawPointer, atMost count: Int32) -> Int {
            let part = Part()
            defer { part.goOn() }
            if Loss.planted == .wake { return 0 }
            var woken = 0
            for member in members where woken < count {
                guard case .word(word, _) = member.state else { continue }
                set(member, .canRun)
                woken += 1
            }
            return woken
        }

        func wait(untilReadable descriptor: Int32, forMilliseconds milliseconds: Int32, by thread: Int) {
            let part = Part()
            defer { part.goOn() }
            let deadline = milliseconds < 0 ? nil : now + Int64(milliseconds) * 1_000_000
            block(thread, .descriptor(descriptor, until: deadline))
        }

        func reserveThread(by thread: Int) -> Int {
            let part = Part()
            defer { part.goOn() }
            members[thread].child = addMember()
            return members.count - 1
        }

        func hasStarted(_ started: UInt?, by thread: Int) {
            let part = Part()
            defer { part.goOn() }
            guard let child = members[thread].child else { return }
            members[thread].child = nil
            members[child].thread = started
            set(members[child], started == nil ? .ended : .canRun)
        }

        func begin(_ thread: Int) {
            onOneCPU()
            ThreadEnd.whenEnding { [self] in
                _ = schedule_seam_take_part(false)
                Schedule.leave()
                lastEnded = thread
                controller.post()
            }
            turns[thread].wait()
            _ = schedule_seam_take_part(true)
        }

        func join(_ other: UInt, by thread: Int) -> Bool {
            let part = Part()
            defer { part.goOn() }
            guard let number = members.firstIndex(where: { $0.thread == other && $0.state != .ended }) else {
                return takesPart(other)
            }
            block(thread, .joins(number))
            return true
        }

        func takesPart(_ other: UInt) -> Bool { members.contains { $0.thread == other } }

        func nanoseconds(by thread: Int) -> Int64 {
            let part = Part()
            defer { part.goOn() }
            now += Scheduler.timeOfALook
            fireTimers()
            return now
        }

        func arm(timer descriptor: Int32, at nanoseconds: Int64) {
            let part = Part()
            defer { part.goOn() }
            set(descriptor, to: nanoseconds == 0 ? 0 : .max)
            timers[descriptor] = nanoseconds == 0 ? nil : nanoseconds
            fireTimers()
        }

        func losesWrites() -> Bool { Loss.planted == .write }

        func willClose(_ descriptor: Int32) {
            let part = Part()
            defer { part.goOn() }
            timers[descriptor] = nil
        }

        /// A time of the kernel's: zero is never, one has passed, and the last one is too far away.
        private func set(_ timer: Int32, to nanoseconds: Int64) {
            var setting = itimerspec()
            if nanoseconds == .max {
                setting.it_value.tv_sec = 9_000_000_000
            } else {
                setting.it_value.tv_nsec = Int(nanoseconds)
            }
            timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
        }

        // MARK: For findings

        private var stateOfAll: String {
            members.enumerated().map { number, member in
                let state =
                    switch member.state {
                    case .reserved: "has not begun"
                    case .canRun: "can go on"
                    case .word: "waits for a word"
                    case .descriptor(let descriptor, _): "waits for descriptor \(descriptor)"
                    case .joins(let other): "waits for the end of \(other)"
                    case .ended: "has ended"
                    }
                return "Thread \(number) \(state)."
            }
            .joined(separator: " ")
        }
    }

    /// What the kernel loses, so that tests can see that it is found.
    enum Loss: String {
        case write, wake

        nonisolated(unsafe) static var planted: Loss?
    }

    /// A point where the token may have changed its owner.
    struct Choice {
        let current: Int?
        let enabled: ThreadSet
        /// What the current thread does next. Zero if threads cannot meet there: see `isShared`.
        let address: UInt
        let changes: Bool
        var chosen = 0

        init(current: Int?, enabled: ThreadSet, _ step: Schedule.Step?) {
            (self.current, self.enabled) = (current, enabled)
            switch step {
            case .load(let word), .futexWait(let word): (address, changes) = (UInt(bitPattern: word), false)
            case .change(let word), .futexWake(let word): (address, changes) = (UInt(bitPattern: word), true)
            // All descriptors count as one place.
            case .call(let call): (address, changes) = (Choice.meeting.contains(call) ? 1 : 0, true)
            case .release: (address, changes) = (Choice.placeOfReleases, true)
            case .join, nil: (address, changes) = (0, false)
            }
        }

        /// All objects count as one.
        static let placeOfReleases: UInt = 2

        private static let meeting: Set<Faults.Call> = [
            .epollAdd, .epollModify, .epollDelete, .epollWait, .read, .write, .poll, .close, .timerSet,
            .timerSetOnWallClock,
        ]

        var currentCanGoOn: Bool { current.map(enabled.contains) ?? false }

        /// What goes on without a switch of the order's.
        var usual: Int { currentCanGoOn ? current! : enabled.first! }

        var others: ThreadSet { enabled.without(chosen) }
    }

    /// A bit for each thread. Most of an order's time would pass in sets and ranges of the standard library, which are
    /// slow where nothing is optimized.
    struct ThreadSet: Sequence, IteratorProtocol {
        static let capacity = UInt32.bitWidth
        private(set) var bits: UInt32 = 0

        var isEmpty: Bool { bits == 0 }
        var first: Int? { bits == 0 ? nil : bits.trailingZeroBitCount }

        func contains(_ thread: Int) -> Bool { bits & (1 << UInt32(thread)) != 0 }
        mutating func insert(_ thread: Int) { bits |= 1 << UInt32(thread) }
        mutating func remove(_ thread: Int) { bits &= ~(1 << UInt32(thread)) }

        func without(_ thread: Int) -> ThreadSet {
            var rest = self
            rest.remove(thread)
            return rest
        }

        mutating func next() -> Int? {
            guard let first else { return nil }
            bits &= bits - 1
            return first
        }
    }
#endif
