import Foundation
import NIOCore
import NIOPosix
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// The peers as loops that contain a thousand timers. (libevent fires early by design: it reads a coarse clock.)
enum ManyTimersOfPeers {
    @Sendable static func all() -> [any ManyTimersSubject] {
        var subjects: [any ManyTimersSubject] = [NIOManyTimers()]
        #if canImport(CLibUV)
            subjects.append(UVManyTimers())
        #endif
        #if canImport(CGLib)
            subjects.append(GLibManyTimers())
        #endif
        return subjects
    }
}

/// A task of the loop for each firing.
private final class NIOManyTimers: ManyTimersSubject {
    let name = "SwiftNIO"
    private let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    func fire(into log: FiringLog) {
        let round = Round(loop, log)
        loop.execute { for timer in 0..<FiringLog.timers { round.schedule(timer, log.due(timer)) } }
        round.isOver.wait()
    }

    private final class Round: @unchecked Sendable {
        let isOver = DispatchSemaphore(value: 0)
        private let loop: any EventLoop
        private let log: FiringLog
        /// Accessed by the loop's thread only.
        private var hasEnded = false

        init(_ loop: any EventLoop, _ log: FiringLog) { (self.loop, self.log) = (loop, log) }

        func schedule(_ timer: Int, _ due: Int64) {
            loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(due))) { [self] in fired(timer) }
        }

        private func fired(_ timer: Int) {
            if hasEnded { return }
            if let due = log.fired(timer) { return schedule(timer, due) }
            // The tasks that are left find that the round has ended.
            hasEnded = true
            isOver.signal()
        }
    }
}

#if canImport(CLibUV)
    private final class UVManyTimers: ManyTimersSubject {
        let name = "libuv"
        private let loop = UVLoop {}
        private let timers = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: FiringLog.timers)
        private var log: FiringLog!

        init() { for number in 0..<FiringLog.timers { uv_timer_init(loop.loop, timers + number) } }

        func fire(into log: FiringLog) {
            self.log = log
            uv_update_time(loop.loop)
            for number in 0..<FiringLog.timers {
                timers[number].data = Unmanaged.passUnretained(self).toOpaque()
                start(number)
            }
            loop.run(UV_RUN_DEFAULT)
            for number in 0..<FiringLog.timers { uv_timer_stop(timers + number) }
        }

        private func start(_ number: Int) {
            log.restart(number)
            uv_timer_start(
                timers + number,
                { timer in
                    let subject = Unmanaged<UVManyTimers>.fromOpaque(timer!.pointee.data).takeUnretainedValue()
                    subject.fired(timer! - subject.timers)
                }, UInt64(FiringLog.interval(number)), 0)
        }

        private func fired(_ number: Int) { if log.fired(number) != nil { start(number) } else { uv_stop(loop.loop) } }
    }
#endif

#if canImport(CGLib)
    /// Sources that repeat: GLib starts each again when it has fired.
    private final class GLibManyTimers: ManyTimersSubject {
        let name = "GLib"

        private final class Round {
            let log: FiringLog
            var isOver = false
            init(_ log: FiringLog) { self.log = log }
        }

        private struct Timer {
            let number: Int
            let round: Unmanaged<Round>
        }

        func fire(into log: FiringLog) {
            let context = g_main_context_new()
            let round = Round(log)
            let timers = UnsafeMutablePointer<Timer>.allocate(capacity: FiringLog.timers)
            for number in 0..<FiringLog.timers {
                (timers + number).initialize(to: Timer(number: number, round: .passUnretained(round)))
                let source = g_timeout_source_new(guint(FiringLog.interval(number)))
                g_source_set_callback(
                    source,
                    {
                        let timer = $0!.assumingMemoryBound(to: Timer.self).pointee
                        let round = timer.round.takeUnretainedValue()
                        if !round.isOver, round.log.fired(timer.number) == nil { round.isOver = true }
                        round.log.restart(timer.number)
                        return 1
                    }, timers + number, nil)
                log.restart(number)
                g_source_attach(source, context)
                g_source_unref(source)
            }
            while !round.isOver { g_main_context_iteration(context, 1) }
            g_main_context_unref(context)
            timers.deallocate()
        }
    }
#endif
