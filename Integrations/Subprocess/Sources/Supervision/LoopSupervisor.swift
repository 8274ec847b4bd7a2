import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The way with sources of the loop: the loop's thread does everything.
actor LoopSupervisor {
    private nonisolated let loop: Loop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let supervision: Supervision
    private var backOff: BackOff
    private var lines = Lines()

    /// A child, and what watches it.
    private struct Watched {
        let process: Int32
        let start: Loop.Instant
        let output: Loop.FileDescriptorSource
    }

    /// What the supervisor waits for.
    private enum State {
        case nothing
        case end(of: Watched)
        case restart(Loop.Timer)
        /// The child has got SIGTERM. The timer sends SIGKILL.
        case lastEnd(of: Watched, Loop.Timer)
    }
    private var state = State.nothing
    private var completion: CheckedContinuation<Void, any Error>?

    init(_ supervision: Supervision) {
        self.supervision = supervision
        loop = supervision.loop
        backOff = supervision.backOff
    }

    func run() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                completion = $0
                start()
            }
        } onCancel: {
            Task { await stop() }
        }
    }

    private func start() {
        do {
            let child = try watched(Child(running: supervision.command))
            state = .end(of: child)
            supervision.report(.started(process: child.process))
        } catch {
            complete(.failure(error))
        }
    }

    private func watched(_ child: Child) throws -> Watched {
        do {
            let exit = try Loop.ProcessSource(child.process, isolation: self) { $0.childHasEnded($2) }
            // The last that can fail: from then on the source owns the pipe's end.
            let output = try Loop.FileDescriptorSource(owning: child.output, isolation: self) { supervisor, source, _ in
                if supervisor.readPart(of: source) == 0 { source.invalidate() }
            }
            loop.add(exit, in: .common)
            loop.add(output, in: .common)
            return Watched(process: child.process, start: loop.now, output: output)
        } catch {
            child.abandon()
            throw error
        }
    }

    /// Reads a part of the output. Returns the number of bytes, or -1 if there is nothing to read yet.
    private func readPart(of output: Loop.FileDescriptorSource) -> Int {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(output.descriptor, &bytes, bytes.count)
        for line in lines.append(bytes.prefix(max(0, count))) { supervision.report(.line(line)) }
        return count
    }

    /// Reads what is left of the output.
    private func finish(_ output: Loop.FileDescriptorSource) {
        // What a pipe holds, and no more: a process that the child has started may still write to it.
        var parts = 0
        while parts < 16, readPart(of: output) > 0 { parts += 1 }
        for line in lines.finish() { supervision.report(.line(line)) }
        output.invalidate()
    }

    private func childHasEnded(_ exit: Loop.ProcessSource.Exit) {
        switch state {
        case .end(of: let child):
            finish(child.output)
            supervision.report(.ended(exit))
            let delay = backOff.delay(afterRunOf: child.start.duration(to: loop.now))
            supervision.report(.waits(delay))
            let timer = Loop.Timer(after: delay, isolation: self) { supervisor, _ in supervisor.start() }
            state = .restart(timer)
            loop.add(timer, in: .common)
        case .lastEnd(of: let child, let timer):
            timer.invalidate()
            finish(child.output)
            supervision.report(.ended(exit))
            complete(.success(()))
        case .nothing, .restart: break
        }
    }

    private func stop() {
        switch state {
        case .end(of: let child):
            // The number is the child's until the source has reaped it, which it does on this thread.
            kill(child.process, SIGTERM)
            let timer = Loop.Timer(after: supervision.grace) { _ in kill(child.process, SIGKILL) }
            state = .lastEnd(of: child, timer)
            loop.add(timer, in: .common)
        case .restart(let timer):
            timer.invalidate()
            complete(.success(()))
        case .nothing, .lastEnd: break
        }
    }

    private func complete(_ result: Result<Void, any Error>) {
        state = .nothing
        completion?.resume(with: result)
        completion = nil
    }
}
