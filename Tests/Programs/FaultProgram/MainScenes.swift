#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// The main loop, on the child's initial thread, and the main dispatch queue.
    let mainScenes: [Scene] = [
        Scene("main queue") { stage in
            try withHelper { helper in
                stage.armed {
                    // From asleep, and right behind another job.
                    helper.perform(after: .milliseconds(1)) { postToMain { stage.note("job") } }
                    runMain { stage.count(of: "job") == 1 }
                    postToMain {
                        stage.note("job")
                        helper.perform { postToMain { stage.note("job") } }
                    }
                    runMain { stage.count(of: "job") == 3 }
                    try stage.wait(for: "job", 3)
                }
            }
        },
        Scene("main queue, elsewhere") { stage in
            try withHelper { helper in
                stage.armed {
                    // A job arrives in a mode that does not serve the queue, and then one inside a job.
                    Loop.main.add(sleeper(stage, "first"), in: "other")
                    helper.perform { postToMain { stage.note("job") } }
                    Loop.main.run(mode: "other", for: .seconds(1000))
                    runMain { stage.count(of: "job") == 1 }
                    postToMain {
                        helper.perform { postToMain { stage.note("job") } }
                        Loop.main.addCommonMode("nested")
                        Loop.main.add(sleeper(stage, "second"), in: "nested")
                        Loop.main.run(mode: "nested", for: .seconds(1000))
                        stage.note("job")
                    }
                    runMain { stage.count(of: "job") == 3 }
                    try stage.wait(for: "job", 3)
                }
            }
        },
        Scene("main queue, hosted") { stage in
            try withHelper { helper in
                stage.armed {
                    let descriptor = try Loop.main.hosting.begin(in: .default)
                    helper.perform(after: .milliseconds(1)) { postToMain { stage.note("job") } }
                    while stage.count(of: "job") == 0 {
                        if Loop.main.hosting.willSleep() { waitUntilReadable(descriptor) }
                        Loop.main.hosting.didWake()
                        _ = Loop.main.hosting.pass()
                    }
                    Loop.main.hosting.end()
                    try stage.wait(for: "job")
                }
            }
        },
        Scene("main queue alone") { stage in
            try withHelper { helper in
                stage.armed {
                    // Each edge is answered by one call, as a host does that watches edge-triggered.
                    let descriptor = try Loop.mainQueueDescriptor()!
                    for count in 1...2 {
                        helper.perform(after: .milliseconds(1)) { postToMain { stage.note("job") } }
                        waitUntilReadable(descriptor)
                        Loop.serveMainQueue()
                        try stage.wait(for: "job", count)
                    }
                }
            }
        },
    ]

    /// A thread without faults.
    private func withHelper(_ body: (LoopThread) throws -> Void) throws {
        let helper = try LoopThread(name: "helper")
        try body(helper)
        helper.stop()
        helper.join()
    }

    private func runMain(until isOver: () -> Bool) {
        while !isOver() {
            Loop.main.run(mode: .default, for: .seconds(1000), returnAfterSourceHandled: true)
        }
    }

    /// Ends a run after two milliseconds. In that time a job arrives, on most machines; the program ends well in any
    /// case.
    private func sleeper(_ stage: Stage, _ name: String) -> Loop.Timer {
        stage.track(
            Loop.Timer(after: .milliseconds(2)) { _ in
                stage.note(name)
                Loop.main.stop()
            })
    }

    private func postToMain(_ job: @escaping @Sendable () -> Void) { Task { @MainActor in job() } }

    private func waitUntilReadable(_ descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
    }
#endif
