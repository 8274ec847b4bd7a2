import RunLoopKit

extension Operation {
    /// Runs and passes without any work to do.
    static let passes = [
        // An observer wakes the loop, so that it makes another pass instead of sleeping.
        Operation("pass") { loop in
            let passes = Countdown()
            loop.add(try Loop.PortSource { _ in })
            loop.add(Loop.Observer(.beforeWaiting) { _, _ in if passes.next() { loop.wakeUp() } else { loop.stop() } })
            return { count in
                passes.start(count)
                loop.run(for: .anHour)
            }
        },
        // Only the kernel knows whether the pipe has anything to read.
        Operation("pass-beside-pipe") { loop in
            let passes = Countdown()
            let pipe = try BytePipe()
            loop.add(try Loop.FileDescriptorSource(pipe.output) { _, _ in })
            loop.add(Loop.Observer(.beforeWaiting) { _, _ in if passes.next() { loop.wakeUp() } else { loop.stop() } })
            return { count in
                passes.start(count)
                withExtendedLifetime(pipe) { _ = loop.run(for: .anHour) }
            }
        },
        Operation("pass-beside-timer") { loop in
            let passes = Countdown()
            loop.add(Loop.Timer(after: .anHour) { _ in })
            loop.add(try Loop.PortSource { _ in })
            loop.add(Loop.Observer(.beforeWaiting) { _, _ in if passes.next() { loop.wakeUp() } else { loop.stop() } })
            return { count in
                passes.start(count)
                loop.run(for: .anHour)
            }
        },
        Operation("run-for-zero") { loop in
            loop.add(try Loop.PortSource { _ in })
            return { count in for _ in 0..<count { loop.run(for: .zero) } }
        },
        Operation("nested-run") { loop in
            loop.add(try Loop.PortSource { _ in }, in: "nested")
            return { count in
                loop.perform { for _ in 0..<count { loop.run(mode: "nested", for: .zero) } }
                loop.run(for: .zero)
            }
        },
        Operation("hosted-pass") { loop in
            loop.add(try Loop.PortSource { _ in })
            _ = try loop.hosting.begin()
            return { count in for _ in 0..<count { loop.hosting.pass() } }
        },
        // As in a context of GLib: the host says when it sleeps.
        Operation("post-and-announced-pass") { loop in
            _ = try loop.hosting.begin()
            loop.hosting.pass()
            return { count in
                for _ in 0..<count {
                    loop.perform {}
                    if !loop.hosting.willSleep() { loop.hosting.pass() }
                }
            }
        },
        Operation("post-and-hosted-pass") { loop in
            _ = try loop.hosting.begin()
            return { count in
                for _ in 0..<count {
                    loop.perform {}
                    loop.hosting.pass()
                }
            }
        },
    ]
}
