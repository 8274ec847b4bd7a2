import RunLoopKit

/// Records what one loop does.
final class TraceMonitor: LoopMonitor, @unchecked Sendable {
    private let recorder: TraceRecorder
    /// The index of the loop in the tracer.
    private let index: UInt16
    /// Valid in callbacks on the loop's thread: it is the loop that calls them.
    private let loop: Unmanaged<Loop>

    // Accessed only by the loop's thread. So exclusivity is unchecked.
    @exclusivity(unchecked) private var modes: [(mode: Loop.Mode, name: UInt32)] = []
    /// The mode of the last event.
    @exclusivity(unchecked) private var lastMode: (mode: Loop.Mode, name: UInt32)?
    @exclusivity(unchecked) private var lengths: (blocks: Int, jobs: Int) = (0, 0)
    @exclusivity(unchecked) private var waste = DescriptorWaste()
    /// The time of beforeTimers, until something else happens.
    @exclusivity(unchecked) private var beforeTimers: Int64?

    init(_ recorder: TraceRecorder, _ loop: Loop, index: UInt16) {
        self.recorder = recorder
        self.loop = .passUnretained(loop)
        self.index = index
    }

    @inline(__always)
    private func record(_ code: TraceRecord.Code, at time: Int64? = nil, _ fill: (inout TraceRecord) -> Void) {
        recorder.record(code, at: time ?? recorder.now) {
            $0.loop = index
            fill(&$0)
        }
    }

    // MARK: On the loop's thread

    func reached(_ activity: Loop.Activity, in mode: Loop.Mode) {
        // The queues are longest before the pass serves them.
        if activity == .beforeTimers { recordQueueLengths() }
        let name = name(of: mode)
        // Without observers, nothing but the loop's own few instructions lies between the two.
        let time = activity == .beforeSources ? beforeTimers ?? recorder.now : recorder.now
        beforeTimers = activity == .beforeTimers ? time : nil
        record(.reached, at: time) {
            $0.name = name
            $0.small = UInt32(truncatingIfNeeded: activity.rawValue)
        }
    }

    func willCallOut(_ callout: Callout) {
        beforeTimers = nil
        let name = callout.item.map { recorder.names.entered($0) } ?? 0
        if callout.kind == .source1 { waste.willCall(callout) }
        record(.willCallOut) {
            $0.kind = callout.kind.rawValue
            $0.name = name
            $0.small = UInt32(truncatingIfNeeded: callout.activity.rawValue)
            $0.number = callout.cause
            $0.lateness = callout.lateness
            $0.place = callout.place
        }
    }

    func didCallOut(_ callout: Callout) {
        let wasted = callout.kind == .source1 ? waste.didCall(callout) : 0
        record(.didCallOut) {
            $0.kind = callout.kind.rawValue
            $0.small = wasted
        }
    }

    func willWait(until deadline: Int64, in mode: Loop.Mode) {
        let name = name(of: mode)
        record(.willWait) {
            $0.name = name
            $0.number = UInt64(bitPattern: deadline)
        }
    }

    func didWait(readyCount: Int, wasWoken: Bool) {
        record(.didWait) {
            $0.flag = wasWoken ? 1 : 0
            $0.number = UInt64(truncatingIfNeeded: readyCount)
        }
    }

    private func recordQueueLengths() {
        let (blocks, jobs) = loop._withUnsafeGuaranteedRef { ($0.waitingBlocks, $0.waitingJobs) }
        guard (blocks, jobs) != lengths else { return }
        lengths = (blocks, jobs)
        record(.queueLengths) {
            $0.small = UInt32(truncatingIfNeeded: blocks)
            $0.number = UInt64(truncatingIfNeeded: jobs)
        }
    }

    @inline(__always)
    private func name(of mode: Loop.Mode) -> UInt32 {
        if let lastMode, lastMode.mode == mode { return lastMode.name }
        return nameSlowly(of: mode)
    }

    @inline(never)
    private func nameSlowly(of mode: Loop.Mode) -> UInt32 {
        let known = modes.first { $0.mode == mode } ?? (mode, recorder.names.enter("\(mode)"))
        if !modes.contains(where: { $0.mode == mode }) { modes.append(known) }
        lastMode = known
        return known.name
    }

    // MARK: On any thread

    func wasWoken() { record(.wasWoken) { _ in } }

    func handedOver(_ handover: Handover) {
        record(.handedOver) {
            $0.kind = handover.kind.rawValue
            $0.name = handover.item.map { recorder.names.known($0) } ?? 0
            $0.place = handover.place
            $0.number = handover.number
        }
    }
}
