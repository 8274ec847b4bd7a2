#if DEBUG
    internal import CLinux
    import Synchronization

    /// Makes system calls of the library fail, for tests. In debug builds only: a release build has none of it.
    ///
    /// A plan counts the calls of the threads on which it is armed, and makes the chosen ones fail without being made.
    /// A thread that the library starts inherits the plan of the one that started it. Other threads, such as those of
    /// tests that run beside this one, are not affected. `FaultingCalls.swift` has the calls.
    package final class Faults: Sendable {
        /// A call fails with `error`, from its `first`th on and `count` times.
        package struct Fault: Sendable, Equatable {
            package let call: Call
            package let first: Int
            package let count: Int
            package let error: Int32

            /// - Parameter first: 1 is the plan's first call of that kind.
            package init(_ call: Call, first: Int = 1, count: Int = 1, error: Int32) {
                (self.call, self.first, self.count, self.error) = (call, first, count, error)
            }
        }

        private let fault: Fault?
        private let isOver = Synchronization.Atomic<Bool>(false)
        private let failures = Synchronization.Atomic<Int>(0)
        private let total = Synchronization.Atomic<Int>(0)
        private let limit: Int
        private let onLimit: @Sendable () -> Void
        private let atPoint: @Sendable () -> Void
        /// One for each kind of call. A pointer, since an array holds no atomics.
        private nonisolated(unsafe) let counts: UnsafeMutablePointer<Synchronization.Atomic<Int>>

        /// - Parameters:
        ///   - fault: Nil counts only.
        ///   - limit: How many calls are too many: `onLimit` is called for the next one, on the thread that makes it.
        ///   - atPoint: Called at each point where threads can meet, on the thread that is there: see ``Schedule``. A
        ///     slow machine waits here.
        package init(
            _ fault: Fault?, limit: Int = .max, onLimit: @escaping @Sendable () -> Void = {},
            atPoint: @escaping @Sendable () -> Void = {}
        ) {
            (self.fault, self.limit, self.onLimit, self.atPoint) = (fault, limit, onLimit, atPoint)
            counts = .allocate(capacity: Call.allCases.count)
            for index in Call.allCases.indices { (counts + index).initialize(to: Synchronization.Atomic(0)) }
        }

        deinit { counts.deallocate() }

        // MARK: Where it is in force

        /// Arms the plan on the calling thread while `body` runs.
        package func whileArmed<Result>(_ body: () throws -> Result) rethrows -> Result {
            let outer = Faults.ofThread
            Faults.ofThread = self
            defer { Faults.ofThread = outer }
            return try body()
        }

        /// Arms the plan on the calling thread, for as long as the thread lives.
        package func arm() {
            // A thread that has ended may have been the last one to have it.
            _ = Unmanaged.passRetained(self)
            Faults.ofThread = self
        }

        /// No call fails any more, or is counted, on whichever thread.
        package func end() { isOver.store(true, ordering: .relaxed) }

        private var isInForce: Bool { !isOver.load(ordering: .relaxed) }

        /// The plan of the calling thread, which the caller keeps alive.
        private static var ofThread: Faults? {
            get {
                guard let faults = System.faults else { return nil }
                return Unmanaged<Faults>.fromOpaque(faults).takeUnretainedValue()
            }
            set { System.faults = newValue.map { Unmanaged.passUnretained($0).toOpaque() } }
        }

        /// What a new thread is to run: `body`, under the plan of the calling thread.
        static func inherited(by body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
            guard let plan = ofThread else { return body }
            return { plan.whileArmed(body) }
        }

        // MARK: What has happened

        /// How often each kind of call was made, or would have been.
        package var callCounts: [Call: Int] {
            let counted = Call.allCases.map { ($0, counts[$0.index].load(ordering: .relaxed)) }
            return Dictionary(uniqueKeysWithValues: counted.filter { $0.1 > 0 })
        }

        package var failureCount: Int { failures.load(ordering: .relaxed) }

        // MARK: At a point, at a call

        /// Async-signal-safe.
        static func reachPoint() {
            guard let plan = ofThread, plan.isInForce else { return }
            plan.atPoint()
        }

        /// Whether the call that the thread is about to make fails; errno is set then. Async-signal-safe.
        static func fails(_ call: Call) -> Bool {
            Schedule.reach(.call(call))
            return ofThread?.countsAndFails(call) ?? false
        }

        /// The error of a call that returns its error's number; nil if it does not fail.
        static func error(of call: Call) -> Int32? { fails(call) ? clinux_errno() : nil }

        private func countsAndFails(_ call: Call) -> Bool {
            guard isInForce else { return false }
            if total.add(1, ordering: .relaxed).newValue > limit { onLimit() }
            let number = counts[call.index].add(1, ordering: .relaxed).newValue
            guard let fault, fault.call == call, number >= fault.first, number - fault.first < fault.count else {
                return false
            }
            failures.add(1, ordering: .relaxed)
            clinux_set_errno(fault.error)
            return true
        }
    }
#endif
