import Foundation

/// A browser without a window, which a test controls over the DevTools protocol: it opens a page, clicks and reads.
///
/// The protocol runs over two named pipes: the browser reads messages from descriptor 3 and answers on 4, each message
/// ended by a null.
package final class Browser {
    /// A browser of Chromium's kind, if one is installed.
    package static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let names = ["chromium", "chromium-browser", "google-chrome"]
        return folders.flatMap { folder in names.map { "\(folder)/\($0)" } }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// The browser did not answer as expected.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: RunningProgram
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private let commands: FileHandle
    private let answers: FileHandle
    private var received = Data()
    private var lastNumber = 0
    private var session: String?

    /// The exceptions that pages have thrown.
    package private(set) var exceptions: [String] = []

    package init() throws {
        guard let path = Browser.path else { throw Failure(description: "no browser is installed") }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let folder = folder
        let pipes = ["commands", "answers"].map { folder.appending(path: $0).path }
        for pipe in pipes where mkfifo(pipe, 0o600) != 0 { throw Failure(description: "mkfifo failed: \(errno)") }
        // For reading and writing: neither end waits for the other.
        let descriptors = pipes.map { open($0, O_RDWR | O_CLOEXEC) }
        commands = FileHandle(fileDescriptor: descriptors[0], closeOnDealloc: true)
        answers = FileHandle(fileDescriptor: descriptors[1], closeOnDealloc: true)
        let command = [
            path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--window-size=1400,1000", "--user-data-dir=\(folder.path)/profile",
            "about:blank",
        ]
        process = try RunningProgram(command) { actions in
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            for descriptor: Int32 in 1...2 {
                posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
            }
            posix_spawn_file_actions_addopen(&actions, 3, pipes[0], O_RDWR, 0)
            posix_spawn_file_actions_addopen(&actions, 4, pipes[1], O_RDWR, 0)
        }
    }

    deinit {
        kill(process.processIdentifier, SIGTERM)
        _ = process.reap()
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: What tests use

    /// Opens a file, and waits until it is loaded.
    package func load(file path: String) throws {
        let target = try send("Target.createTarget", ["url": "about:blank"])["targetId"] ?? ""
        session = try send("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"] as? String
        try send("Runtime.enable")
        try send("Page.navigate", ["url": URL(filePath: path).absoluteString])
        while try evaluate("location.protocol + document.readyState") as? String != "file:complete" { usleep(20_000) }
    }

    /// The value of an expression of JavaScript.
    package func evaluate(_ expression: String) throws -> Any? {
        let answer = try send("Runtime.evaluate", ["expression": expression, "returnByValue": true])
        if let details = answer["exceptionDetails"] { throw Failure(description: "\(expression): \(details)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    package func text(_ expression: String) throws -> String { try evaluate(expression) as? String ?? "" }

    package func number(_ expression: String) throws -> Double { try evaluate(expression) as? Double ?? .nan }

    /// Clicks into the middle of an element, with the mouse.
    package func click(_ selector: String) throws {
        let element = "document.querySelector(\(quoted(selector)))"
        _ = try evaluate("\(element).scrollIntoView({ block: 'center' })")
        let box = "\(element).getBoundingClientRect()"
        try click(
            x: number("\(box).left + \(box).width / 2"), y: number("\(box).top + \(box).height / 2"))
    }

    package func click(x: Double, y: Double) throws {
        for type in ["mousePressed", "mouseReleased"] {
            try mouse(type, x, y, ["button": "left", "clickCount": 1])
        }
    }

    package func turnWheel(x: Double, y: Double, by delta: Double) throws {
        try mouse("mouseWheel", x, y, ["deltaX": 0, "deltaY": delta])
    }

    private func mouse(_ type: String, _ x: Double, _ y: Double, _ others: [String: Any]) throws {
        try send("Input.dispatchMouseEvent", ["type": type, "x": x, "y": y].merging(others) { $1 })
    }

    private func quoted(_ text: String) -> String { "'\(text.replacingOccurrences(of: "'", with: "\\'"))'" }

    // MARK: The protocol

    @discardableResult
    private func send(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
        lastNumber += 1
        var message: [String: Any] = ["id": lastNumber, "method": method, "params": parameters]
        message["sessionId"] = session
        try commands.write(contentsOf: JSONSerialization.data(withJSONObject: message) + [0])
        while true {
            let answer = try receive()
            if answer["method"] as? String == "Runtime.exceptionThrown" { exceptions.append("\(answer)") }
            guard answer["id"] as? Int == lastNumber else { continue }
            if let error = answer["error"] { throw Failure(description: "\(method): \(error)") }
            return answer["result"] as? [String: Any] ?? [:]
        }
    }

    private func receive() throws -> [String: Any] {
        while true {
            if let end = received.firstIndex(of: 0) {
                let message = received[received.startIndex..<end]
                received = Data(received[(end + 1)...])
                return try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
            }
            var entry = pollfd(fd: answers.fileDescriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, 200) > 0 {
                received += answers.availableData
            } else if !process.isRunning {
                throw Failure(description: "the browser ended")
            }
        }
    }
}
