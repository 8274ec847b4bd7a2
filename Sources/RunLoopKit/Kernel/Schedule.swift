#if DEBUG
    internal import CLinux

    /// Lets a test choose which thread goes on, at each point where threads can meet. In debug builds only: a release
    /// build has none of it.
    ///
    /// A point is in front of each access to an `Atomic`, and of each system call of the seam: see
    /// `FaultingCalls.swift` and `ScheduledCalls.swift`. Only threads that take part meet the scheduler: those that it
    /// has started, and those that they start. A thread that takes part never waits in the kernel. It tells the
    /// scheduler what it waits for, and gets the time from it.
    package protocol ThreadScheduler: AnyObject, Sendable {
        /// The thread is about to take a step. Returns when it may.
        func reach(_ step: Schedule.Step, by thread: Int)

        /// Waits at a word, as the kernel does, if it has this value. Returns 0, or an error's number.
        func wait(at word: UnsafeRawPointer, while value: UInt32, until deadline: Int64?, by thread: Int) -> Int32

        /// Wakes threads that wait at a word. Returns how many.
        func wake(at word: UnsafeRawPointer, atMost count: Int32) -> Int

        /// Waits until the descriptor is readable, or the time is up. Without limit if the number is negative.
        func wait(untilReadable descriptor: Int32, forMilliseconds milliseconds: Int32, by thread: Int)

        /// A number for a thread that `thread` is about to start.
        func reserveThread(by thread: Int) -> Int

        /// The kernel has started the pthread with the number that `thread` has reserved, or has not: nil.
        func hasStarted(_ started: UInt?, by thread: Int)

        /// Called on a new thread. Returns when it may go on.
        func begin(_ thread: Int)

        /// Waits until a thread has ended. Returns false if it does not take part.
        func join(_ other: UInt, by thread: Int) -> Bool

        /// Whether a thread takes part, which nothing but the scheduler joins.
        func takesPart(_ other: UInt) -> Bool

        /// The time of all clocks.
        func nanoseconds(by thread: Int) -> Int64

        /// A timerfd is to become readable at a time; never if it is zero.
        func arm(timer descriptor: Int32, at nanoseconds: Int64)

        /// A descriptor is about to be closed.
        func willClose(_ descriptor: Int32)

        /// Whether a write does nothing, and says that it has written: a mistake that the test must find.
        func losesWrites() -> Bool
    }

    /// The part of the calling thread in a schedule.
    package enum Schedule {
        /// What a thread is about to do.
        package enum Step: Equatable {
            case load(UnsafeRawPointer)
            /// Any access that may change the word.
            case change(UnsafeRawPointer)
            case futexWait(UnsafeRawPointer)
            case futexWake(UnsafeRawPointer)
            case call(Faults.Call)
            /// Of a reference that may become the last one, while the thread holds a lock.
            case release
            case join
        }

        private final class Seat {
            let scheduler: any ThreadScheduler
            let number: Int

            init(_ scheduler: any ThreadScheduler, _ number: Int) {
                (self.scheduler, self.number) = (scheduler, number)
            }
        }

        /// Called in front of the release of a reference that is not the last one.
        package static func willRelease(_ object: UnsafeRawPointer) {
            guard System.heldLockRanks.pointee != 0, let seat, object != UnsafeRawPointer(System.scheduleSeat),
                object != UnsafeRawPointer(Unmanaged<AnyObject>.passUnretained(seat.scheduler).toOpaque())
            else {
                return
            }
            reach(.release)
        }

        /// The calling thread takes part from now on, until it leaves.
        package static func join(_ scheduler: any ThreadScheduler, as number: Int) {
            System.scheduleSeat = Unmanaged.passRetained(Seat(scheduler, number)).toOpaque()
            scheduler.begin(number)
        }

        /// The calling thread, which is about to end, takes part no longer.
        package static func leave() {
            guard let seat = System.scheduleSeat else { return }
            System.scheduleSeat = nil
            Unmanaged<Seat>.fromOpaque(seat).release()
        }

        // Not by `map`: in a debug build its closure costs more than the rest.
        private static var seat: Seat? {
            guard let seat = System.scheduleSeat else { return nil }
            return Unmanaged<Seat>.fromOpaque(seat).takeUnretainedValue()
        }

        // MARK: Where threads meet

        static func reach(_ step: Step) {
            Faults.reachPoint()
            guard let seat else { return }
            seat.scheduler.reach(step, by: seat.number)
        }

        /// Nil if the thread takes no part, and is to ask the kernel.
        static func wait(at word: UnsafeRawPointer?, while value: UInt32, until deadline: Int64? = nil) -> Int? {
            guard let seat, let word else { return nil }
            seat.scheduler.reach(.futexWait(word), by: seat.number)
            let error = seat.scheduler.wait(at: word, while: value, until: deadline, by: seat.number)
            clinux_set_errno(error)
            return error == 0 ? 0 : -1
        }

        static func wake(at word: UnsafeRawPointer?, atMost count: Int32) {
            guard let seat, let word else { return }
            seat.scheduler.reach(.futexWake(word), by: seat.number)
            _ = seat.scheduler.wake(at: word, atMost: count)
        }

        /// Returns for how long the kernel is to wait.
        static func wait(untilReadable descriptor: Int32, forMilliseconds milliseconds: Int32) -> Int32 {
            guard milliseconds != 0, let seat else { return milliseconds }
            seat.scheduler.wait(untilReadable: descriptor, forMilliseconds: milliseconds, by: seat.number)
            return 0
        }

        // MARK: Threads

        /// What a new thread is to run: `body`, taking part if the calling thread does.
        static func inherited(by body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
            guard let seat else { return body }
            let (scheduler, number) = (seat.scheduler, seat.scheduler.reserveThread(by: seat.number))
            return {
                join(scheduler, as: number)
                body()
            }
        }

        static func hasStarted(_ thread: pthread_t?) {
            guard let seat else { return }
            seat.scheduler.hasStarted(thread.map(number), by: seat.number)
        }

        /// Returns false if the thread takes no part.
        static func waitForEnd(of thread: pthread_t) -> Bool {
            guard let seat else { return false }
            seat.scheduler.reach(.join, by: seat.number)
            return seat.scheduler.join(number(thread), by: seat.number)
        }

        static func takesPart(_ thread: pthread_t) -> Bool { seat?.scheduler.takesPart(number(thread)) ?? false }

        /// A pthread_t is an integer in some C libraries and a pointer in others.
        private static func number(_ thread: pthread_t) -> UInt {
            withUnsafeBytes(of: thread) { $0.load(as: UInt.self) }
        }

        // MARK: Time

        /// The time that threads outside get, while a program is made and when its threads have ended; nil for the
        /// kernel's. Set while the process has no thread that takes part.
        package nonisolated(unsafe) static var timeOutside: Int64?

        static var nanoseconds: Int64? { seat.map { $0.scheduler.nanoseconds(by: $0.number) } ?? timeOutside }

        /// Returns false if the thread takes no part.
        static func arm(timer descriptor: Int32, at time: itimerspec) -> Bool {
            guard let seat else { return false }
            let nanoseconds = Int64(time.it_value.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
            seat.scheduler.arm(
                timer: descriptor,
                at: nanoseconds.overflow ? .max : nanoseconds.partialValue + Int64(time.it_value.tv_nsec))
            return true
        }

        static var losesWrites: Bool { seat?.scheduler.losesWrites() ?? false }

        static func willClose(_ descriptor: Int32) { seat?.scheduler.willClose(descriptor) }
    }
#endif
