public import Logging
public import RunLoopDiagnostics
public import RunLoopKit

extension Loop.MistakeHandling {
    /// Logs each mistake as a warning, with its kind in the metadata: `refusedItem`, `droppedThread` and so on.
    ///
    /// ```swift
    /// Loop.mistakeHandling = .logging(to: Logger(label: "RunLoopKit"))
    /// ```
    ///
    /// The default, `report`, writes a mistake to stderr the first time only; this logs it each time.
    public static func logging(to logger: Logger) -> Self {
        .call { logger.warning("\($0)", metadata: ["runloop.mistake": "\($0.kind)"]) }
    }
}

extension Loop.Mistake {
    /// The name of the case.
    fileprivate var kind: String {
        switch self {
        case .refusedItem: "refusedItem"
        case .neverAdded: "neverAdded"
        case .loopThatNeverRuns: "loopThatNeverRuns"
        case .mainLoopThatNeverRuns: "mainLoopThatNeverRuns"
        case .droppedThread: "droppedThread"
        case .runInCommonModes: "runInCommonModes"
        case .emptyRun: "emptyRun"
        case .droppedLimiter: "droppedLimiter"
        case .refusedCall: "refusedCall"
        case .refusedBlock: "refusedBlock"
        case .refusedMessage: "refusedMessage"
        case .leftMessages: "leftMessages"
        case .mainBodyEndsAtOnce: "mainBodyEndsAtOnce"
        case .mainBodyGoesOn: "mainBodyGoesOn"
        case .unreadOutput: "unreadOutput"
        case .stopBeforeRun: "stopBeforeRun"
        case .advanceWithoutRun: "advanceWithoutRun"
        case .descriptorLeftReady: "descriptorLeftReady"
        case .lostSignals: "lostSignals"
        case .pausedListener: "pausedListener"
        case .resetConnections: "resetConnections"
        case .mainLoopWithoutThread: "mainLoopWithoutThread"
        case .jobsOfEndedLoop: "jobsOfEndedLoop"
        case .rulesNotApplied: "rulesNotApplied"
        }
    }
}

extension StallMonitor {
    /// A handler that logs stalls: a warning when a stall exceeds a threshold, with the backtrace in the metadata, and
    /// a notice when it has ended. A stall whose only report is that of its end has a warning, too.
    ///
    /// ```swift
    /// let monitor = try StallMonitor(handler: StallMonitor.logging(to: logger))
    /// ```
    public static func logging(to logger: Logger) -> @Sendable (StallReport) -> Void {
        { report in
            var metadata: Logger.Metadata = [
                "runloop.loop": "\(report.loop)", "runloop.handler": "\(report.label)",
                "runloop.mode": "\(report.mode)", "runloop.duration": "\(report.duration)",
                "runloop.stall": "\(report.number)",
            ]
            if report.lostStalls > 0 { metadata["runloop.lostStalls"] = "\(report.lostStalls)" }
            switch report.stage {
            case .exceeded:
                metadata["runloop.waiting"] = "\(report.waiting)"
                if !report.backtrace.frames.isEmpty {
                    metadata["runloop.backtrace"] = .array(report.backtrace.frames.map { "\($0)" })
                }
                logger.warning("a handler stalls its loop", metadata: metadata)
            case .ended:
                logger.log(level: report.isFirst ? .warning : .notice, "a stalled loop continues", metadata: metadata)
            }
        }
    }
}

extension FeedbackLoopDetector.Action {
    /// Logs a feedback loop as a warning.
    public static func logging(to logger: Logger) -> Self {
        .call { logger.warning("\($0)", metadata: ["runloop.mode": "\($0.mode)"]) }
    }
}

extension LoopTrace {
    /// Logs what a trace shows: a warning for each probable mistake, and the longest stalls at the level `info`.
    ///
    /// - Parameters:
    ///   - logger: Any.
    ///   - count: How many stalls at most, the longest first; there are ten at most.
    public func log(to logger: Logger, stalls count: Int = 3) {
        for finding in findings {
            let metadata: Logger.Metadata = [
                "runloop.loop": "\(loops[finding.loop])", "runloop.finding": "\(finding.kind.rawValue)",
                "runloop.handler": "\(finding.handler)", "runloop.count": "\(finding.count)",
            ]
            logger.warning("\(finding.text)", metadata: metadata)
        }
        for span in longestStalls.prefix(count) {
            guard let handler = span.handler else { continue }
            let metadata: Logger.Metadata = [
                "runloop.loop": "\(loops[span.loop])", "runloop.handler": "\(handler)",
                "runloop.duration": "\(span.ownTime)",
            ]
            logger.info("a handler kept its loop busy", metadata: metadata)
        }
    }
}
