import RunLoopKit
import Subprocess

extension Supervision {
    /// The way with swift-subprocess: it starts and reaps the child and reads the pipe, on threads of its own; this
    /// task, the back-off and the reports are on the loop.
    func runSubprocess() async throws {
        try await withTaskExecutorPreference(loop.taskExecutor) {
            var backOff = backOff
            while !Task.isCancelled {
                let start = loop.now
                let exit = try await runSubprocessOnce()
                report(.ended(exit))
                if Task.isCancelled { return }
                let delay = backOff.delay(afterRunOf: start.duration(to: loop.now))
                report(.waits(delay))
                // Ends early when the task is cancelled.
                try? await Task.sleep(for: delay, clock: .loop(loop))
            }
        }
    }

    private func runSubprocessOnce() async throws -> Loop.ProcessSource.Exit {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: grace)]
        let result = try await Subprocess.run(
            .path(.init(command[0])), arguments: .init(Array(command.dropFirst())), platformOptions: options,
            input: .none, output: .sequence, error: .combinedWithOutput
        ) { execution in
            report(.started(process: execution.processIdentifier.value))
            // A task that is not cancelled: otherwise a cancellation would close the pipe first, and SIGPIPE would end
            // a child that writes while it cleans up.
            try await Task(executorPreference: loop.taskExecutor) {
                for try await line in execution.standardOutput.strings() { report(.line(line)) }
            }.value
        }
        return switch result.terminationStatus {
        case .exited(let code): .exited(code)
        case .signaled(let signal): .signalled(signal, coreDumped: false)
        }
    }
}
