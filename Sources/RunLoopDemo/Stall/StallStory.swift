import RunLoopDiagnostics
import RunLoopKit

/// Three scenes in which handlers stall their loops, watched by one monitor.
struct StallStory {
    /// The most time that a scene may take. It takes milliseconds, but a sanitizer's build on a busy machine looks up
    /// the names of a backtrace for half a minute.
    private static let patience = Duration.seconds(180)

    let stage: Stage
    let writer: StallWriter

    /// - Throws: An error if threads or descriptors cannot be made.
    func tell() throws {
        let desk = StallDesk(stage: stage)
        let monitor = try StallMonitor(thresholds: [.milliseconds(100)]) { desk.take($0) }
        let scenes: [() throws -> any StallScene] = [BlockingScene.init, ComputingScene.init, DeadlockScene.init]
        for make in scenes where !Interruption.isRequested { try play(make(), desk, monitor) }
    }

    private func play(_ scene: any StallScene, _ desk: StallDesk, _ monitor: StallMonitor) throws {
        writer.begin(scene)
        let start = Loop.current.now
        desk.expect(scene)
        for thread in scene.threads { monitor.watch(thread) }
        scene.begin()
        let end = Loop.Timer(after: StallStory.patience) { [stage] _ in stage.proceed() }
        Loop.current.add(end, in: .default)
        stage.wait()
        end.invalidate()
        // After an interruption, or without a report, the handlers still wait.
        scene.release()
        for thread in scene.threads { try? thread.performAndWait {} }
        let metrics = scene.threads.map { ($0.name, monitor.metrics(of: $0.loop)) }
        for thread in scene.threads {
            thread.stop()
            thread.join()
        }
        guard !Interruption.isRequested else { return }
        guard desk.isOver else { throw NoReport() }
        for report in desk.reports { writer.write(report, in: scene, since: start) }
        for (name, metrics) in metrics { if let metrics { writer.write(metrics, of: name, in: scene) } }
        writer.end(scene)
    }
}

/// A monitor reports nothing while a debugger is attached.
private struct NoReport: Error, CustomStringConvertible {
    let description = "no stall was reported: is this program run by a debugger, or by strace?"
}
