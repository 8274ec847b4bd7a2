import Foundation
import NIOCore
import NIOPosix
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// The peers as loops that call a handler every millisecond.
enum TickingPeers {
    @Sendable static func all() -> [any TimerSubject] {
        var subjects: [any TimerSubject] = [NIOTicks()]
        #if canImport(CLibUV)
            subjects.append(UVTicks())
        #endif
        #if canImport(CGLib)
            subjects.append(GLibTicks())
        #endif
        return subjects
    }
}

/// A task for each tick, at an absolute time.
private final class NIOTicks: TimerSubject, @unchecked Sendable {
    let name = "SwiftNIO"
    private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    func tick(into log: TickLog) {
        let isOver = DispatchSemaphore(value: 0)
        schedule(0, log, isOver)
        isOver.wait()
    }

    private func schedule(_ tick: Int, _ log: TickLog, _ isOver: DispatchSemaphore) {
        loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(log.time(of: tick)))) { [self] in
            let now = monotonicNow()
            log.record(tick: tick, at: now)
            if log.isComplete { isOver.signal() } else { schedule(log.tick(after: now), log, isOver) }
        }
    }
}

/// A repeating timer whose interval is counted from its last call: call n is for tick n, however late it is.
private final class RelativeTicks {
    private let log: TickLog
    private var tick = 0

    /// Waits until the timer has to start so that its first call is for tick 0.
    init(_ log: TickLog) {
        self.log = log
        while monotonicNow() < log.time(of: -1) {}
    }

    /// Returns true if this was the last call.
    func called() -> Bool {
        log.record(tick: tick, at: monotonicNow())
        tick += 1
        return log.isComplete
    }
}

#if canImport(CLibUV)
    private final class UVTicks: TimerSubject {
        let name = "libuv"
        private let loop = UVLoop {}
        private let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
        private var ticks: RelativeTicks!

        init() { uv_timer_init(loop.loop, timer) }

        func tick(into log: TickLog) {
            timer.pointee.data = Unmanaged.passUnretained(self).toOpaque()
            ticks = RelativeTicks(log)
            uv_update_time(loop.loop)
            uv_timer_start(
                timer,
                { timer in
                    let subject = Unmanaged<UVTicks>.fromOpaque(timer!.pointee.data).takeUnretainedValue()
                    if subject.ticks.called() {
                        uv_timer_stop(timer)
                        uv_stop(subject.loop.loop)
                    }
                }, 1, 1)
            loop.run(UV_RUN_DEFAULT)
        }
    }
#endif

#if canImport(CGLib)
    private final class GLibTicks: TimerSubject {
        let name = "GLib"

        private final class Round {
            let ticks: RelativeTicks
            var isOver = false
            init(_ log: TickLog) { ticks = RelativeTicks(log) }
        }

        func tick(into log: TickLog) {
            let context = g_main_context_new()
            let round = Round(log)
            let source = g_timeout_source_new(1)
            g_source_set_callback(
                source,
                {
                    let round = Unmanaged<Round>.fromOpaque($0!).takeUnretainedValue()
                    round.isOver = round.ticks.called()
                    return round.isOver ? 0 : 1
                }, Unmanaged.passUnretained(round).toOpaque(), nil)
            g_source_attach(source, context)
            g_source_unref(source)
            while !round.isOver { g_main_context_iteration(context, 1) }
            g_main_context_unref(context)
        }
    }
#endif
