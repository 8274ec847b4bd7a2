extension Loop.SupervisedChild {
    /// When a child that has ended is started again.
    public enum Restart: Hashable, Sendable {
        /// Unless it has exited with 0. systemd: `on-failure`.
        case onFailure
        /// However it has ended. systemd: `always`.
        case always
        /// Only by ``SupervisedChild/restart(within:)``: for a command that runs again when a file has changed, and
        /// for a development server. However a child has ended, and if it could not be started, the object rests
        /// until then. It is over only after ``SupervisedChild/end(within:)``. systemd: `no`, and
        /// `systemctl restart`.
        ///
        /// ``SupervisedChild/start(_:)`` starts the first child, as for the others. The pauses and the limits count
        /// for nothing: neither `backoff` nor `settlingTime`, `quickEndLimit` and `quickEndPeriod`.
        case onDemand
    }

    /// What has happened.
    public enum Event: Sendable, CustomStringConvertible {
        /// A child was started, and is in the loop. Set the handlers of its pipes here; its own is taken.
        case started(_ child: Loop.ChildProcess)

        /// The child has ended. Another one is started after a pause; nil if none is, and ``over(_:)`` follows, or
        /// the object rests: ``Restart/onDemand``. ``SupervisedChild/lastEndWasAskedFor`` tells a restart on purpose
        /// from a crash.
        case ended(_ exit: Loop.ChildProcess.Exit, restartsAfter: Duration?)

        /// The closure has thrown: a ``LoopError`` as a rule. It is called again after a pause; nil if it is not,
        /// and ``over(_:)`` follows, or the object rests: ``Restart/onDemand``.
        case notStarted(_ error: any Error, restartsAfter: Duration?)

        /// The last event.
        case over(_ reason: Reason)

        /// In words: `exited with 1, restarts after 0.5 seconds`.
        public var description: String {
            switch self {
            case .started(let child): "started \(child.process)"
            case .ended(let exit, let pause): "\(exit)" + Event.restart(after: pause)
            case .notStarted(let error, let pause): "not started: \(error)" + Event.restart(after: pause)
            case .over(let reason): "over: \(reason)"
            }
        }

        private static func restart(after pause: Duration?) -> String {
            pause.map { ", restarts after \($0)" } ?? ", is not restarted"
        }
    }

    /// Why no other child is started.
    public enum Reason: Hashable, Sendable, CustomStringConvertible {
        /// The child has exited with 0, which is final.
        case succeeded
        /// There were too many ends: as many in a row as `quickEndLimit` says, or in a `quickEndPeriod`.
        case gaveUp
        /// ``SupervisedChild/end(within:)`` was called; or the loop takes no other child, since it is stopped; or
        /// the program has taken the child away: it has invalidated it, given it another handler, or added it to
        /// another loop, where it has ended.
        case ended

        /// In words.
        public var description: String {
            switch self {
            case .succeeded: "exited with 0, which is final"
            case .gaveUp: "gave up after too many ends"
            case .ended: "ended by the program"
            }
        }
    }
}
