import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import RunLoopDemo

/// `RunLoopDemo rules`.
@Suite(.timeBound) struct RulesDemoTests {
    // MARK: The story

    @Test("The story is told in order, and both runs are played")
    func storyInOrder() throws {
        let demo = try Demo.run("rules")
        #expect(demo.status == 0 && demo.errors == "")
        let told = [
            "1. A rule for one object", "2. A rule for a class", "3. One rule for a class hierarchy", "refused",
            "4. Settings change", "5. The first run", "6. A later run", "waiting for its method", "in force",
        ]
        var rest = demo.output[...]
        for event in told {
            let range = try #require(rest.range(of: event), "\(event) is missing, or too early")
            rest = rest[range.upperBound...]
        }
        #expect(!demo.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test("The story explains what it needs before it uses it")
    func explainsFirst() throws {
        let text = try Demo.run("rules").output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for (word, use) in [("Draft, a subclass of Document", "draft.save"), ("'last' begins a window", ": last,")] {
            let said = try #require(text.range(of: word), "\(word)")
            let used = try #require(text.range(of: use), "\(use)")
            #expect(said.upperBound < used.lowerBound, "\(use)")
        }
    }

    @Test("Text lines fit the width")
    func linesFitWidth() throws {
        let lines = try Demo.run("rules").lines
        // A path is not wrapped.
        #expect(lines.allSatisfy { $0.count <= 80 || $0.contains("/") })
        let refused = try #require(lines.firstIndex { $0.contains(" refused ") })
        #expect(lines[refused + 1].hasPrefix(String(repeating: " ", count: 20)), "goes on below its beginning")
    }

    @Test("The calls of the story run at the expected times")
    func storyTimes() throws {
        let demo = try Demo.run("rules", "--format", "json")
        #expect(demo.status == 0 && demo.errors == "")
        let objects = try #require(demo.objects)
        #expect(objects.allSatisfy { $0.keys.sorted() == ["chapter", "event", "t", "text"] })
        let runs = objects.filter { $0["event"] as? String == "run" }.map { object in
            "\(object["chapter"]!) \(object["t"]!) \(object["text"]!)"
        }
        #expect(
            runs == [
                #"object 0 novel is saved: "It""#, #"object 300 essay is saved: "On""#,
                #"object 600 essay is saved: "On time""#, #"object 1100 novel is saved: "It was night""#,
                #"class 500 novel is saved: "Three""#, #"class 1800 essay is saved: "Four""#,
                #"conflict 1000 draft is saved: "Ideas""#, #"conflict 1100 essay is saved: "Not limited any more""#,
                #"conflict 6000 draft is saved: "Ideas, more of them""#, #"predicate 500 essay is saved: "!Now""#,
                #"predicate 2000 essay is saved: "Slowly on""#, #"keep 2000 diary is saved: "Tuesday""#,
                #"again 2000 diary is saved: "Thursday""#,
            ])
        let refusals = objects.filter { $0["event"] as? String == "refused" }.compactMap { $0["text"] as? String }
        #expect(refusals.count == 1)
        #expect(refusals.first?.contains("(\"save\" of class Document: last, 1.0 seconds)") == true)
    }

    // MARK: The file

    @Test("The first run saves the rule and later runs find it")
    func savesAndFindsRule() throws {
        try withFile { path in
            let first = try Demo.run("rules", "--file", path, "--format", "json")
            #expect(first.status == 0 && first.chapters.contains("keep") && !first.chapters.contains("again"))
            let saved = try String(contentsOfFile: path, encoding: .utf8)
            #expect(saved.contains("\"version\" : 1") && saved.contains("\"message\" : \"save\""))
            for _ in 1...2 {
                let later = try Demo.run("rules", "--file", path, "--format", "json")
                #expect(later.status == 0 && later.chapters == ["again"])
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == saved)
            // Written atomically: no other file remains in the folder.
            let folder = URL(filePath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        }
    }

    @Test(
        "A file with other contents is reported in one line with exit code 65 and left alone",
        arguments: [
            "", "{", "no rules\nat all", "[]", #"{"version":7,"rules":[]}"#, #"{"version":1}"#,
            #"{"version":1,"rules":[{"message":"save"}]}"#, "\u{0}\u{1}\u{2}",
        ])
    func otherContents(_ content: String) throws {
        try withFile { path in
            try content.write(toFile: path, atomically: false, encoding: .utf8)
            let demo = try Demo.run("rules", "--file", path)
            #expect(demo.status == 65 && demo.output == "")
            #expect(demo.errors.split(separator: "\n").count == 1 && demo.errors.contains(path))
            // Not `String(contentsOfFile:)`: it leaks when the file is empty.
            let data = try FileHandle(forReadingFrom: URL(filePath: path)).readToEnd() ?? Data()
            #expect(String(decoding: data, as: UTF8.self) == content)
        }
    }

    /// The first six crashed the runtime's look-up of types, and the last two took it seconds or its stack.
    @Test(
        "A rule for a type that does not exist waits, or is refused for the length of its name",
        arguments: ["$5_", "$", "$94", "$n", "Say$5_G", "Si_$SSt", "4main*4000", "4main*200000"])
    func oddTypes(_ text: String) throws {
        let parts = text.split(separator: "*")
        let name = parts[0] + String(repeating: "1aV", count: parts.count > 1 ? Int(parts[1])! : 0)
        for isType in [false, true] {
            let (type, target) = isType ? (name, "11RunLoopDemo8DocumentC") : ("11RunLoopDemo8DocumentC", name)
            let file = try TemporaryFile(
                #"{"rules":[{"intervalNanoseconds":2000000000,"isStatic":false,"message":"save","mode":"last","#
                    + "\"target\":\"\(target)\",\"type\":\"\(type)\"}],\"version\":1}")
            let demo = try Demo.run("rules", "--file", file.path)
            if parts.count > 1 {
                #expect(demo.status == 65 && demo.errors.contains("of at most 4096 bytes"), "\(demo.errors)")
            } else {
                #expect(demo.status == 0 && demo.errors == "" && demo.output.contains("still waiting"))
            }
        }
    }

    /// A program that wrote in place would leave an empty file, which the next run could not use.
    @Test(
        "A failed write leaves no file",
        .disabled(if: isUnderThreadSanitizer, "ThreadSanitizer itself does not start without files"))
    func failedWrite() throws {
        try withFile { path in
            // No file may grow.
            let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\" 2>&1"
            let demo = try Program.run(
                "/bin/sh", ["-c", script, Program.url(of: "RunLoopDemo").path, "rules", "--file", path])
            #expect(demo.status == 1 && demo.output.contains("cannot write \"\(path)\": File too large"))
            let folder = URL(filePath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test("Replacing a file never leaves half of one")
    func fileReplacement() throws {
        try withFile { path in
            let manager = FileManager.default
            try "old".write(toFile: path, atomically: false, encoding: .utf8)
            try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let old = try #require(FileHandle(forReadingAtPath: path))
            let number = try manager.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
            try replaceFile(path, with: Array("new".utf8))
            // A descriptor that was open before still reads the old file: a new file has its name.
            #expect(try old.readToEnd() == Data("old".utf8))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
            let attributes = try manager.attributesOfItem(atPath: path)
            #expect(attributes[.systemFileNumber] as? Int != number)
            #expect(attributes[.posixPermissions] as? Int == 0o600)

            // A symbolic link stays one.
            let link = path + ".link"
            try manager.createSymbolicLink(atPath: link, withDestinationPath: path)
            try replaceFile(link, with: Array("newer".utf8))
            #expect(try manager.destinationOfSymbolicLink(atPath: link) == path)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "newer")

            // A name so long that no temporary file fits beside it.
            let folder = URL(filePath: path).deletingLastPathComponent().path
            let long = folder + "/" + String(repeating: "x", count: 255)
            try "old".write(toFile: long, atomically: false, encoding: .utf8)
            #expect { try replaceFile(long, with: [7]) } throws: { "\($0)".hasSuffix(": File name too long") }
            #expect(try String(contentsOfFile: long, encoding: .utf8) == "old")
            #expect(try manager.contentsOfDirectory(atPath: folder).count == 3)
        }
    }

    @Test("A file that cannot be read or written is reported in one line")
    func inaccessibleFile() throws {
        try withFile { path in
            let folder = URL(filePath: path).deletingLastPathComponent().path
            for (path, status) in [(folder, 66), (folder + "/missing/rules.json", 1)] as [(String, Int32)] {
                let demo = try Demo.run("rules", "--file", path)
                #expect(demo.status == status && demo.errors.split(separator: "\n").count == 1)
                #expect(demo.errors.contains("cannot"))
            }
        }
    }

    /// A named pipe without a writer, and a file that never ends.
    @Test("A file that is not regular or too large is refused")
    func irregularFile() throws {
        try withFile { path in
            #expect(mkfifo(path, 0o600) == 0)
            for file in [path, "/dev/zero", "/dev/null"] {
                let demo = try Demo.run("rules", "--file", file)
                #expect(demo.status == 66 && demo.output == "")
                #expect(demo.errors == "RunLoopDemo: cannot read \(file.debugDescription): not a regular file\n")
            }
        }
        try withFile { path in
            #expect(FileManager.default.createFile(atPath: path, contents: nil) && truncate(path, 1 << 40) == 0)
            let demo = try Demo.run("rules", "--file", path)
            #expect(demo.status == 66 && demo.output == "" && demo.errors.contains("larger than 16 MiB"))
        }
    }

    @Test("A file without permission is left alone")
    func fileWithoutPermission() throws {
        try withFile { path in
            try "{}".write(toFile: path, atomically: false, encoding: .utf8)
            chmod(path, 0)
            // Root may read every file.
            guard access(path, R_OK) != 0 else { return }
            let demo = try Demo.run("rules", "--file", path)
            #expect(demo.status == 66 && demo.output == "" && demo.errors.contains("Permission denied"))
        }
    }

    // MARK: Manners

    @Test(
        "Bad usage is reported in one line with exit code 64",
        arguments: [["--file"], ["--file", ""], ["--file="], ["--format", "xml"], ["more"], ["--fast"]])
    func badUsage(_ arguments: [String]) throws {
        let demo = try Demo.run(["rules"] + arguments)
        #expect(demo.status == 64 && demo.output == "" && demo.errors.split(separator: "\n").count == 1)
    }

    @Test("The help describes the command")
    func help() throws {
        let demo = try Demo.run("rules", "--help")
        #expect(demo.status == 0 && demo.errors == "")
        for word in ["--file", "--format", "65", "chapter"] { #expect(demo.output.contains(word), "\(word)") }
    }

    @Test("A closed pipe does not crash the program")
    func closedPipe() throws {
        let demo = try Demo.runReadingOneLine(["rules"])
        #expect(demo.status == 0 && demo.errors == "")
    }

    // MARK: Helpers

    /// Calls `body` with a path in a new folder, at which there is no file.
    private func withFile(_ body: (_ path: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "rules.json").path)
    }
}

extension Program {
    fileprivate var chapters: Set<String> { Set((objects ?? []).compactMap { $0["chapter"] as? String }) }
}
