import RunLoopKit

/// Makes a trace from the records of a ring: numbers become names.
struct TraceReading {
    private let recorder: TraceRecorder
    private let loops: [(name: String?, end: Int64?)]
    private let names: [TraceNames.Entry]
    /// The handlers of callouts, by what caused them.
    private var handlers: [LoopTrace.HandoverID: LoopTrace.Handler] = [:]

    /// - Parameter loops: The names as given at the attachments, and when the loops were detached.
    init(_ recorder: TraceRecorder, _ loops: [(name: String?, end: Int64?)]) {
        self.recorder = recorder
        self.loops = loops
        names = recorder.names.all
    }

    mutating func trace(of records: [TraceRecord], lost: LostEvents, at end: Int64) -> LoopTrace {
        for record in records where record.code == .willCallOut && record.number != 0 {
            handlers[record.handoverID] = handler(of: record)
        }
        // Stable: those of one thread keep their order. An event of another thread may have a number before its time.
        let sorted = records.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        let tracks = Set(records.map(Track.init)).sorted()
        let indices = Dictionary(uniqueKeysWithValues: tracks.enumerated().map { ($1, $0) })
        let known = tracks.map(thread(of:))
        let events = sorted.compactMap { event(of: $0.element, thread: indices[Track($0.element)]!) }
        return LoopTrace(
            events: events, threads: known, loops: nameLoops(events, known),
            detachments: loops.map { $0.end.map { Loop.Instant(nanoseconds: $0) } }, lost: lost,
            end: Loop.Instant(nanoseconds: end),
            names: Dictionary(names.map { ($0.text, $0) }, uniquingKeysWith: TraceNames.Entry.mostPatient))
    }

    /// A thread; or what a loop did on one for which there was no slot: with others in one, its spans would not nest.
    private struct Track: Hashable, Comparable {
        let thread: UInt16
        let loop: UInt16

        init(_ record: TraceRecord) {
            thread = record.thread
            let isOwn = record.code != .wasWoken && record.code != .handedOver
            loop = thread == TraceThreads.others && isOwn ? record.loop : TraceRecord.noLoop
        }

        static func < (first: Track, second: Track) -> Bool {
            (first.thread, first.loop) < (second.thread, second.loop)
        }
    }

    private func thread(of track: Track) -> LoopTrace.Thread {
        guard track.loop != TraceRecord.noLoop else { return recorder.threads.thread(at: track.thread) }
        return LoopTrace.Thread(name: "thread of loop \(track.loop + 1)", id: 0)
    }

    /// A loop without a name of its own has that of the first thread that was seen in one of its passes.
    private func nameLoops(_ events: [LoopTrace.Event], _ threads: [LoopTrace.Thread]) -> [String] {
        var names = loops.map(\.name)
        for event in events {
            guard let loop = event.loop, loop < names.count, names[loop] == nil else { continue }
            switch event.kind {
            case .woke, .handedOver: break
            case _ where threads[event.thread].id == 0: break
            default: names[loop] = threads[event.thread].name
            }
        }
        return names.enumerated().map { $1 ?? "loop \($0 + 1)" }
    }

    private func event(of record: TraceRecord, thread: Int) -> LoopTrace.Event? {
        guard let kind = kind(of: record) else { return nil }
        let loop = record.loop == TraceRecord.noLoop ? nil : Int(record.loop)
        return LoopTrace.Event(
            time: Loop.Instant(nanoseconds: record.time), thread: thread, loop: loop, kind: kind)
    }

    private func kind(of record: TraceRecord) -> LoopTrace.Event.Kind? {
        switch record.code {
        case .reached:
            return .reached(Loop.Activity(rawValue: UInt(record.small)), mode: text(record.name))
        case .willCallOut:
            guard let handler = handler(of: record) else { return nil }
            return .willCall(handler, cause: record.number, lateness: .nanoseconds(record.lateness))
        case .didCallOut:
            return .didCall(wastedCallsInARow: Int(record.small))
        case .willWait:
            let deadline = Int64(bitPattern: record.number)
            let time = deadline == LoopTime.never ? nil : Loop.Instant(nanoseconds: deadline)
            return .willWait(until: time, mode: text(record.name))
        case .didWait:
            return .didWait(readyCount: Int(truncatingIfNeeded: record.number), wasWoken: record.flag != 0)
        case .wasWoken:
            return .woke
        case .handedOver:
            // A sender does not know the name of an item that no loop has called yet.
            guard let handler = handlers[record.handoverID] ?? handler(of: record) else { return nil }
            return .handedOver(handler, number: record.number)
        case .queueLengths:
            return .queueLengths(blocks: Int(record.small), jobs: Int(truncatingIfNeeded: record.number))
        }
    }

    private func handler(of record: TraceRecord) -> LoopTrace.Handler? {
        guard let kind = Loop.HandlerKind(rawValue: record.kind) else { return nil }
        return LoopTrace.Handler(kind, name(of: record, kind))
    }

    private func name(of record: TraceRecord, _ kind: Loop.HandlerKind) -> String {
        switch kind {
        case .block where record.place == .unknown: "(posted before the trace)"
        case .block where record.place.description.hasPrefix("RunLoopKit/JobDrain.swift"): "(runs jobs)"
        case .block: record.place.isLabel ? "\"\(record.place)\"" : "(\(record.place))"
        case .job, .mainQueue: ""
        default: record.name == 0 ? "\(kind.inWords) without a name" : text(record.name)
        }
    }

    private func text(_ name: UInt32) -> String {
        name == 0 || name > names.count ? "" : names[Int(name) - 1].text
    }
}
