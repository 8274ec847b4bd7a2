import CLinux
import Foundation
#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CLibEvent)
    import CLibEvent
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// A pass that finds nothing to do. SwiftNIO has no call that makes one.
struct PassBesidePeers: Scenario {
    let name = "empty-pass"
    let summary = "A pass that finds nothing to do."

    func run(_ effort: Effort) throws -> Outcome {
        var subjects: [any OperationSubject] = [
            try ThreadOperation("epoll_wait(0)") {
                let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
                watch(check("eventfd", eventfd(0, Int32(EFD_CLOEXEC))), by: poll, CLINUX_EPOLLIN | CLINUX_EPOLLET)
                return { count in
                    var event = epoll_event()
                    for _ in 0..<count { check("epoll_wait", epoll_wait(poll, &event, 1, 0)) }
                }
            },
            try Operation.named("pass").onThread(Outcome.kit),
            try MainLoopPasses(),
            try Operation.named("pass-beside-pipe").onThread("RunLoopKit, with a pipe"),
            try Operation.named("run-for-zero").onThread("RunLoopKit, run for zero"),
        ]
        #if canImport(CLibUV)
            subjects.append(
                try ThreadOperation("libuv") {
                    // An unsent async handle keeps the loop alive.
                    let loop = UVLoop {}
                    return { count in for _ in 0..<count { loop.run(UV_RUN_NOWAIT) } }
                })
        #endif
        #if canImport(CLibEvent)
            subjects.append(
                try ThreadOperation("libevent") {
                    let base = EventBase()
                    base.addPersistentEvent {}
                    return { count in for _ in 0..<count { base.run(EVLOOP_NONBLOCK) } }
                })
        #endif
        #if canImport(CGLib)
            subjects.append(
                try ThreadOperation("GLib") {
                    let context = g_main_context_new()
                    return { count in for _ in 0..<count { g_main_context_iteration(context, 0) } }
                })
        #endif
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) passes",
            rows: subjects.measured(name, effort), bare: "epoll_wait(0)")
    }
}
