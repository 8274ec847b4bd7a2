import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// The exports of a trace, read by another reader: Foundation's.
@Suite(.timeBound) struct TraceExportTests {
    /// A loop and a thread in virtual time: a post, a port, a timer, two waits.
    private func makeTrace(name: String = "the loop") throws -> LoopTrace {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop, as: name)
        let sender = try LoopThread(name: "sender", clock: clock)
        let port = try Loop.PortSource { _ in loop.perform {} }
        port.label = "door"
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        timer.label = "tick"
        for item in [port, timer] as [Loop.Item] { loop.add(item, in: .default) }
        // Until both loops run.
        let hold = clock.hold()
        sender.perform(after: .milliseconds(1500)) { port.send() }
        loop.perform { hold.release() }
        loop.run(mode: .default, for: .milliseconds(2500))
        tracer.detach()
        return tracer.snapshot()
    }

    @Test("The Chrome trace has tracks, slices, arrows with both ends, and counters")
    func chromeTrace() throws {
        let trace = try makeTrace()
        let events = try chromeEvents(trace)
        let phases = Dictionary(grouping: events) { $0["ph"] as? String ?? "" }
        #expect(Set(phases.keys) == ["M", "X", "s", "f", "i", "C"])
        let threads = phases["M"]!.filter { $0["name"] as? String == "thread_name" }
        let tracks = Dictionary(
            uniqueKeysWithValues: threads.map { ($0["tid"] as! Int, ($0["args"] as! [String: String])["name"]!) })
        #expect(tracks.values.contains { $0.hasSuffix("the loop") } && tracks.values.contains("sender"))
        let named = events.filter { $0["ph"] as? String != "C" && $0["name"] as? String != "process_name" }
        #expect(named.allSatisfy { tracks[$0["tid"] as! Int] != nil })
        #expect(phases["X"]!.allSatisfy { $0["dur"] as! Double >= 0 && $0["ts"] as! Double >= 0 })
        // Traces of several processes are opened together.
        let process = phases["M"]!.filter { $0["name"] as? String == "process_name" }
        #expect(process.count == 1 && Set(events.map { $0["pid"] as! Int }) == [Int(getpid())])
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(
            (process[0]["args"] as! [String: String])["name"] == program.split(separator: "/").last.map(String.init))
        let waits = phases["X"]!.filter { $0["cat"] as? String == "wait" }
        #expect(waits.map { $0["dur"] as! Double } == [1_000_000, 500_000, 500_000, 500_000])
        let begins = phases["s"]!.map { $0["id"] as! Int }
        #expect(begins.count == 3 && Set(begins) == Set(phases["f"]!.map { $0["id"] as! Int }))
        #expect((phases["s"]! + phases["f"]!).allSatisfy { $0["bp"] as? String == "e" })
        #expect(phases["C"]!.contains { ($0["args"] as! [String: Double])["blocks"] == 1 })
        #expect(phases["C"]!.contains { ($0["args"] as! [String: Double])["ms"] == 0 })
        // Named by what is sent to, so that a viewer counts them together.
        let handovers = phases["i"]!.filter { $0["cat"] as? String == "handover" }
        let sends = handovers.filter { ($0["name"] as! String).contains("door") }
        #expect(Set(sends.map { $0["name"] as! String }) == ["sends to port source \"door\""])
        #expect(Set(sends.map { ($0["args"] as! [String: Int])["number"]! }).count == sends.count)
    }

    @Test("Slices of a track nest, and arrows begin and end in slices")
    func slicesNest() throws {
        let events = try chromeEvents(try makeTrace())
        let ranges = slices(in: events)
        #expect(nest(ranges))
        for arrow in events where ["s", "f"].contains(arrow["ph"] as? String) {
            let (time, track) = (arrow["ts"] as! Double, arrow["tid"] as! Int)
            #expect(ranges.contains { $0.track == track && $0.start <= time && time <= $0.end })
        }
    }

    @Test("Names of any kind stay whole, in JSON and in the page")
    func strangeNames() throws {
        let name = "\"</script><b>\\ \u{7} \u{2028} \u{202E} \u{E0001} ü 🐦 /*SCRIPT*/ /*DATA*/ /*STYLE*/"
        let trace = try makeTrace(name: name)
        let events = try chromeEvents(trace)
        #expect(events.contains { ($0["args"] as? [String: Any])?["loop"] as? String == name })
        let page = trace.html
        #expect(page.components(separatedBy: "</script>").count == 2 && !page.contains("<b>"))
        #expect(page.hasSuffix("};\n\(TracePage.tables + TracePage.timeline)\n</script>\n</body>\n</html>\n"))
    }

    @Test("The text says what happened")
    func text() throws {
        let text = try makeTrace().text
        for part in [
            "1 loop, ", "Handlers, by total time", "Longest stalls", "How late timers fired:",
            "port source \"door\" of the loop", "calls timer \"tick\" of the loop",
            "sends to port source \"door\" #", "slept 500 ms; ended by port source \"door\"",
            "posts block (RunLoopDiagnosticsTests/TraceExportTests.swift:",
        ] {
            #expect(text.contains(part), "\(part) is not in \(text)")
        }
    }

    /// The depths of the text's lines that contain a string.
    private func depths(of what: String, in trace: LoopTrace) -> [Int] {
        trace.text.split(separator: "\n").filter { $0.contains(what) }.map {
            $0.components(separatedBy: "| ").count - 1
        }
    }

    @Test("A detach in a handler ends the indentation of its lines")
    func indentationAfterDetach() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let tracer = LoopTracer(clock: clock)
        for _ in 1...3 {
            tracer.attach(to: loop)
            loop.perform(label: "long") {
                clock.advance(by: .milliseconds(1))
                tracer.detach()
            }
            loop.run(mode: .default, for: .zero)
            clock.advance(by: .milliseconds(1))
        }
        tracer.attach(to: loop)
        loop.perform(label: "short") {}
        loop.run(mode: .default, for: .zero)
        let trace = tracer.snapshot()
        #expect(depths(of: "calls block \"long\"", in: trace) == [1, 1, 1])
        #expect(depths(of: "posts block", in: trace) == [0, 0, 0, 0])
        #expect(depths(of: "calls block \"short\"", in: trace) == [1])
        #expect(depths(of: "exit in default", in: trace) == [0])
    }

    /// Another tracer makes the loop report the end of the handler, whose beginning this tracer has not seen.
    @Test("An end without a beginning ends no other loop's indentation")
    func indentationAfterUnknownEnd() {
        let (outer, inner) = (Loop.inVirtualTime().0, Loop.inVirtualTime().0)
        let (tracer, other) = (LoopTracer(), LoopTracer())
        tracer.attach(to: outer)
        other.attach(to: inner)
        inner.perform { tracer.attach(to: inner) }
        outer.perform(label: "around") {
            inner.run(mode: .default, for: .zero)
            outer.perform(label: "later") {}
        }
        outer.run(mode: .default, for: .zero)
        let trace = tracer.snapshot()
        #expect(trace.loops.count == 2)
        #expect(depths(of: "posts block \"later\"", in: trace) == [2])
        #expect(depths(of: "calls block", in: trace) == [1, 1])
    }

    @Test("The page needs nothing else")
    func selfContained() throws {
        let page = try makeTrace().html
        #expect(!page.contains("http") && !page.contains("src=") && !page.contains("@import"))
        #expect(!page.contains("/*DATA*/") && !page.contains("/*STYLE*/") && !page.contains("/*SCRIPT*/"))
    }

    @Test("An empty trace has all exports")
    func empty() throws {
        let trace = LoopTracer().snapshot()
        #expect(trace.events.isEmpty && trace.spans.isEmpty && trace.findings.isEmpty && trace.start == trace.end)
        #expect(try chromeEvents(trace).count == 1)
        #expect(!trace.text.isEmpty && trace.html.contains("</html>"))
    }

    @Test(
        "Durations are short and exact enough",
        arguments: [
            (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (12_345, "12.3 µs"), (999_999, "999 µs"),
            (1_234_567, "1.23 ms"), (-1_500_000, "-1.50 ms"), (61_000_000_000, "61.0 s"),
        ])
    func durations(_ nanoseconds: Int64, _ text: String) { #expect(Duration.nanoseconds(nanoseconds).inWords == text) }

    @Test("A name of a megabyte does not make a megabyte of each event")
    func longNames() throws {
        let (loop, _) = Loop.inVirtualTime()
        let tracer = LoopTracer()
        tracer.attach(to: loop)
        let timer = Loop.Timer(every: .seconds(1), label: String(repeating: "\u{1}é", count: 500_000)) { _ in }
        loop.add(timer)
        loop.run(mode: .default, for: .milliseconds(5500))
        tracer.detach()
        let trace = tracer.snapshot()
        #expect(trace.handlers.count == 1 && trace.handlers[0].handler.name.utf8.count > 1_000_000)
        let events = try chromeEvents(trace)
        #expect(events.count { ($0["name"] as! String).hasPrefix("timer \"") } == 5)
        #expect(trace.chromeTrace.utf8.count < 1_000_000)
    }
}
