import Foundation
import ProgramSupport
import TestSupport
import Testing

@Suite(.timeBound) struct TraceDemoTests {
    @Test("Without arguments the program traces")
    func traceIsTheDefault() throws {
        let demo = try Demo.run()
        #expect(demo.status == 0 && demo.errors == "")
        for word in [
            "entry", "beforeTimers", "timer", "source0", "port", "block", "observer", "mainQueue", "tracking", "exit",
            "stopped",
        ] {
            #expect(demo.output.contains(word), "\(word)")
        }
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("Every line is a JSON object, in the order of time")
    func objectsInOrderOfTime() throws {
        let demo = try Demo.run("trace", "--format", "json")
        let objects = try #require(demo.objects)
        #expect(demo.status == 0 && demo.errors == "")
        let times = objects.compactMap { $0["t"] as? Int }
        #expect(times.count == objects.count && times == times.sorted() && times[0] >= 0)
        for object in objects {
            #expect((object["depth"] as? Int ?? -1) >= 0 && object["mode"] is String)
        }
        #expect(Set(objects.compactMap { $0["mode"] as? String }) == ["default", "tracking"])
        let events = Set(objects.compactMap { $0["event"] as? String })
        #expect(events == ["activity", "timer", "source0", "port", "block", "observer", "mainQueue", "result"])
    }

    @Test("Callouts begin and end, and runs nest")
    func calloutsAndRunsNest() throws {
        let objects = try #require(try Demo.run("trace", "--format", "json").objects)
        var open: [String] = []
        var deepest = 0
        for object in objects {
            let depth = try #require(object["depth"] as? Int)
            deepest = max(deepest, depth)
            guard let phase = object["phase"] as? String else { continue }
            let callout = "\(object["event"]!) \(object["label"]!) \(depth)"
            if phase == "begin" { open.append(callout) } else { #expect(open.popLast() == callout) }
        }
        #expect(open.isEmpty && deepest == 1)
        let results = objects.filter { $0["event"] as? String == "result" }
        #expect(results.map { $0["result"] as? String } == ["timedOut", "timedOut", "handledSource", "stopped"])
        #expect(results.map { $0["depth"] as? Int } == [0, 0, 1, 0])
    }

    /// The main loop drains the main dispatch queue, and with it the main actor's, in all common modes.
    @Test("The main queue is served in both modes")
    func mainQueueInBothModes() throws {
        let objects = try #require(try Demo.run("trace", "--format", "json").objects)
        let callouts = objects.filter { $0["event"] as? String == "mainQueue" && $0["phase"] as? String == "begin" }
        let modes = callouts.compactMap { $0["mode"] as? String }
        // On a slow machine the block may come when the run in the default mode is over.
        #expect(modes.count == 2 && ["default", "tracking"].contains(modes[0]) && modes[1] == "tracking")
        let labels = callouts.compactMap { $0["label"] as? String }
        #expect(labels.count == 2 && labels[0].contains("DispatchQueue.main") && labels[1].contains("@MainActor"))
    }

    /// Independent of the machine's speed: the run in tracking is longer than the heartbeat's interval.
    @Test("The labels say why callouts come late")
    func labelsExplainDelays() throws {
        let objects = try #require(try Demo.run("trace", "--format", "json").objects)
        let begun = objects.filter { $0["phase"] as? String == "begin" }
        let labels = begun.compactMap { $0["label"] as? String }
        let late = labels.filter { $0.contains(" ms late") && $0.hasSuffix(", since the loop was in tracking mode") }
        #expect(!late.isEmpty && late.allSatisfy { $0.hasPrefix("heartbeat") })
        #expect(labels.contains { $0.hasSuffix("until a source is handled (timers do not count)") })
        let place = try #require(labels.firstIndex { $0.hasSuffix("posts a block that waits for tracking mode") })
        let block = try #require(labels.firstIndex { $0.hasSuffix("waited until the loop ran in tracking") })
        #expect(place < block && begun[block]["mode"] as? String == "tracking")
    }

    /// Each run reports the activities in the documented order: entry, passes, exit.
    @Test("The activities are those of real passes")
    func activitiesOfRealPasses() throws {
        let objects = try #require(try Demo.run("trace", "--format", "json").objects)
        for depth in 0...1 {
            let activities = objects.filter { $0["depth"] as? Int == depth }.compactMap { $0["activity"] as? String }
            let letters = activities.map { name in
                [
                    "entry": "e", "beforeTimers": "t", "beforeSources": "s", "beforeWaiting": "w", "afterWaiting": "a",
                    "exit": "x",
                ][
                    name] ?? "?"
            }
            #expect(letters.joined().wholeMatch(of: /(e(ts(wa)?)+x)+/) != nil)
        }
    }
}
