import Foundation
import ProgramSupport
import TestSupport
import Testing

/// `RunLoopDemo trace --output`: the files, and the page in a browser.
@Suite(.timeBound) struct TraceOutputDemoTests {
    /// A name for a file that is deleted when the object is deallocated.
    private final class OutputFile {
        let path: String
        init(_ form: String) { path = NSTemporaryDirectory() + UUID().uuidString + ".\(form)" }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        var text: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    }

    private func write(_ form: String) throws -> OutputFile {
        let file = OutputFile(form)
        let demo = try Demo.run("trace", "--output", file.path)
        #expect(demo.status == 0 && demo.errors == "" && demo.output.contains("Wrote the trace to "))
        return file
    }

    @Test("The output is that of a trace without a file")
    func outputStays() throws {
        let file = OutputFile("txt")
        let demo = try Demo.run("trace", "--output", file.path, "--format", "json")
        let objects = try #require(demo.objects)
        #expect(demo.status == 0)
        let results = objects.compactMap { $0["result"] as? String }
        #expect(results == ["timedOut", "timedOut", "handledSource", "stopped"])
    }

    @Test("The text names the mistakes and shows what happened")
    func text() throws {
        let text = try write("txt").text
        for part in [
            "Probable mistakes:", "left it ready", "posted itself", "Handlers, by total time", "of archive",
            // On a busy machine a loop may be awake when a certain thread wakes it.
            "ended by a wake-up by ", "enqueues job #", "signals source 0 \"", "sends to port source \"",
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }

    /// The reader is Foundation's. Perfetto's own was used by hand.
    @Test("The arrows of a post, a port and a job can be followed")
    func arrows() throws {
        let file = try write("json")
        let object = try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [String: Any]
        let events = try #require(object?["traceEvents"] as? [[String: Any]])
        let names = events.filter { $0["name"] as? String == "thread_name" }
        let tracks = Dictionary(
            uniqueKeysWithValues: names.map { ($0["tid"] as! Int, ($0["args"] as! [String: String])["name"]!) })
        #expect(Set(["signaller", "sender", "archive", "worker"]).isSubset(of: tracks.values))
        let begins = Dictionary(
            uniqueKeysWithValues: events.filter { $0["ph"] as? String == "s" }.map { ($0["id"] as! Int, $0) })
        var ways: Set<String> = []
        for end in events where end["ph"] as? String == "f" {
            let begin = try #require(begins[end["id"] as! Int])
            #expect((begin["ts"] as! Double) <= (end["ts"] as! Double))
            let slice = try #require(
                events.last {
                    $0["ph"] as? String == "X" && $0["tid"] as! Int == end["tid"] as! Int
                        && $0["ts"] as! Double == end["ts"] as! Double
                })
            let sender = tracks[begin["tid"] as! Int]!.split(separator: ":")[0]
            ways.insert("\(sender) \(slice["cat"]!) \(tracks[end["tid"] as! Int]!.split(separator: ":")[0])")
        }
        for way in [
            "RunLoopDemo job archive", "archive block RunLoopDemo", "sender source1 RunLoopDemo",
            "signaller source0 RunLoopDemo",
        ] {
            #expect(ways.contains(way), "\(way) is not among \(ways)")
        }
    }

    @Test(
        "An unknown kind of file prints one line and exits with 64",
        arguments: ["trace", "trace.xml", "trace.html.", ".json/trace", ""])
    func unknownForm(_ path: String) throws {
        let demo = try Demo.run("trace", "--output", path)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    @Test("A file that cannot be written prints one line and fails")
    func notWritable() throws {
        let demo = try Demo.run("trace", "--output", "/nowhere/trace.html")
        #expect(demo.status == 1 && demo.errors.contains("No such file"))
        #expect(demo.errors.split(separator: "\n").count == 1)
    }

    /// As on a full disk: no file may grow.
    @Test(
        "A write that fails in the middle leaves the old file, or none",
        .disabled(if: isUnderThreadSanitizer, "ThreadSanitizer itself does not start without files"),
        arguments: [["trace", "--output"], ["throttle", "--svg"], ["feedback", "--output"]], [nil, "old"])
    func failedWrite(_ command: [String], _ old: String?) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: command[0] == "trace" ? "output.html" : "output.svg").path
        try old?.write(toFile: path, atomically: false, encoding: .utf8)
        // A limit of a kibibyte: the write fails after its first part.
        let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\" 2>&1"
        let demo = try Program.run(
            "/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path] + command + [path])
        #expect(demo.status == 1 && demo.output.contains("cannot write \"\(path)\": File too large"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == (old == nil ? 0 : 1))
        if let old { #expect(try String(contentsOfFile: path, encoding: .utf8) == old) }
    }

    @Test("A device is written to, and stays a device")
    func device() throws {
        for (device, status, text) in [("/dev/full", 1, "No space left on device"), ("/dev/null", 0, "")] {
            let link = OutputFile("txt")
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: device)
            let demo = try Demo.run("trace", "--output", link.path)
            #expect(Int(demo.status) == status && (text == "" || demo.errors.contains(text)), "\(device)")
            let type = try FileManager.default.attributesOfItem(atPath: device)[.type] as? FileAttributeType
            #expect(type == .typeCharacterSpecial)
        }
    }

    @Test("A signal ends the wait for the reader of a named pipe", arguments: [SIGINT, SIGTERM])
    func pipeWithoutReader(_ signal: Int32) throws {
        let pipe = OutputFile("txt")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let demo = try Demo.talk(["trace", "--output", pipe.path]) { demo in
            demo.wait(for: "Done:")
            demo.signal(signal)
        }
        #expect(demo.status == 128 + signal)
        #expect(demo.errors == "RunLoopDemo: cannot write \(pipe.path.debugDescription): Interrupted system call\n")
    }

    @Test("A reader that comes late to a named pipe gets the whole trace")
    func pipeWithLateReader() throws {
        let pipe = OutputFile("html")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let read = "while read -r line; do case $line in Done:*) cat \"$1\";; esac; done"
        let script = "\"$0\" trace --output \"$1\" | \(read)"
        let demo = try Program.run("/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path, pipe.path])
        #expect(demo.status == 0 && demo.errors == "")
        #expect(demo.output.hasPrefix("<!doctype html>") && demo.output.hasSuffix("</html>\n"))
    }

    /// With a real mouse: DevTools moves it.
    @Test("The page works in a browser", .enabled(if: Browser.path != nil, "needs Chromium"))
    func page() throws {
        let file = try write("html")
        let browser = try Browser()
        try browser.load(file: file.path)
        #expect(try browser.text("document.title") == "What the loops did")
        #expect(try browser.text("byId('summary').textContent").hasPrefix("5 loops · "))
        let findings = try browser.text("[...document.querySelectorAll('#findings p')].map(p => p.dataset.kind).join()")
        #expect(findings.contains("spin") && findings.contains("endless"))
        #expect(try browser.number("byId('stalls').tBodies[0].rows.length") == 10)
        #expect(try browser.number("byId('lateness').children.length") == 12)

        // A click on a title sorts by it.
        let worst = "T.handlers.map(row => row[6]).sort((a, b) => b - a).map(time).join()"
        let shown = "[...byId('handlers').tBodies[0].rows].map(row => row.cells[3].textContent).join()"
        #expect(try browser.text("location.hash") == "")
        try browser.click("th[data-key=worst]")
        #expect(try browser.text(shown) == browser.text(worst))
        #expect(try browser.text("location.hash") == "#sort=worst")
        #expect(try browser.text("document.querySelector('th[data-key=worst]').ariaSort") == "descending")

        // A click on a stall selects it in the timeline, and shows it with its surroundings: as many times its own
        // length as there is, since on a busy machine the longest stall may fill much of the page.
        try browser.click("#stalls tbody tr")
        #expect(try browser.number("selected") == browser.number("T.stalls[0]"))
        let stall = "T.spans[T.stalls[0]]"
        let size = "Math.min(whole, 8 * Math.max(\(stall)[END] - \(stall)[START], SHORTEST))"
        #expect(try browser.number("length") == browser.number(size))
        let isVisible = "left <= \(stall)[START] && \(stall)[END] <= left + length ? 1 : 0"
        #expect(try browser.number(isVisible) == 1)

        // A click on a job's bar tells what caused it.
        let job = "T.spans[jobIndex]"
        _ = try browser.evaluate("var jobIndex = T.spans.findIndex(span => span[KIND] === 'job')")
        _ = try browser.evaluate("show(jobIndex); select(-1)")
        #expect(try browser.text("byId('details').textContent") == "Nothing is selected.")
        _ = try browser.evaluate("canvas.scrollIntoView({ block: 'center' })")
        let box = "canvas.getBoundingClientRect()"
        let place = (
            x: try browser.number("\(box).left + (x(\(job)[START]) + x(\(job)[END])) / 2"),
            y: try browser.number("\(box).top + rowTop(\(job)) + ROW / 2")
        )
        try browser.click(x: place.x, y: place.y)
        let details = try browser.text("byId('details').textContent")
        #expect(details.hasPrefix("job") && details.contains("Caused at ") && details.contains("main queue"))

        // The wheel zooms; a button shows all.
        let length = try browser.number("length")
        try browser.turnWheel(x: place.x, y: place.y, by: -300)
        #expect(try browser.number("length") < length)
        try browser.click("#all")
        #expect(try browser.number("length / whole") == 1)
        #expect(browser.exceptions.isEmpty)
    }
}
