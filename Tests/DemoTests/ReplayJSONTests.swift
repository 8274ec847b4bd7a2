import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The texts that `replay` accepts as JSON, and those that it refuses.
@Suite(.timeBound) struct ReplayJSONTests {
    // MARK: What is none

    @Test(
        "Text that is no JSON is refused with its place",
        arguments: [
            // Commas, names, and what follows.
            (#"{"id":1,}"#, "expected a member's name"), (#"{"id":1,"ops":[1,]}"#, "expected a value"),
            (#"{"id":1,"id":2}"#, #"the name "id" comes twice"#), (#"{"a":{"b":1,"b":1}}"#, "comes twice"),
            (#"{"a":1,"\u0061":2}"#, "comes twice"), ("{} {}", "something follows"), ("[1 2]", "expected a comma"),
            (#"{"a" 1}"#, "expected a colon"), ("{a:1}", "expected a member's name"), ("{'a':1}", "member's name"),
            ("{} // no", "something follows"), ("[}", "expected a value"), ("{]", "member's name"),
            // Numbers.
            ("01", "something follows"), ("-", "a digit"), ("+1", "expected a value"), (".5", "expected a value"),
            ("1.", "a digit"), ("1e", "a digit"), ("0x10", "something follows"), ("NaN", "expected a value"),
            ("-Infinity", "expected a digit"), ("１", "expected a value"),
            // Strings.
            ("\"\u{1}\"", "end of a string"), ("\"a\tb\"", "end of a string"), (#""\x""#, "an escape"),
            (#""\u12g4""#, "hexadecimal"), (#""\ud800""#, "surrogate"), (#""\ud800\u0041""#, "surrogate"),
            (#""\udc00""#, "surrogate"), (#""a"#, "it ends where the end of a string should be"),
            // Words.
            ("tru", "expected a value"), ("nullx", "something follows"), ("True", "expected a value"),
            ("\u{A0}1", "expected a value"), ("\u{0}", "expected a value"),
        ])
    func noJSON(_ line: String, _ reason: String) throws {
        let demo = try replay(line)
        #expect(demo.status == 65 && demo.output == "")
        #expect(demo.errors.contains("line 1: not JSON: ") && demo.errors.contains(reason), "\(demo.errors)")
        #expect(demo.errors.wholeMatch(of: /.* \(at byte \d+\)\n/) != nil, "\(demo.errors)")
    }

    @Test("Deep nesting is refused and does not crash")
    func deepNesting() throws {
        func nested(_ depth: Int) -> String {
            let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return #"{"id":1,"note":\#(deep),"kind":"throttle","wait":1,"ops":[]}"#
        }
        #expect(try replay(nested(99)).status == 0)
        for depth in [100, 500_000] {
            let demo = try replay(nested(depth))
            #expect(demo.status == 65 && demo.errors.contains("nested more than 100 deep"))
        }
    }

    // MARK: Encodings

    @Test(
        "Other encodings are refused before anything is written",
        arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32])
    func otherEncodings(_ encoding: String.Encoding) throws {
        let demo = try replay(try #require((Self.good + "\n" + Self.good + "\n").data(using: encoding)))
        #expect(demo.status == 65 && demo.output == "" && demo.errors.contains("line 1: not JSON"))
    }

    @Test("A byte order mark is refused by name")
    func byteOrderMark() throws {
        let demo = try replay("\u{FEFF}" + Self.good)
        #expect(demo.status == 65 && demo.output == "" && demo.errors.contains("byte order mark"))
    }

    @Test(
        "Invalid UTF-8 in a string is refused",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) throws {
        let line =
            Data(#"{"id":1,"note":"x"#.utf8) + Data(bytes) + Data(#"","kind":"throttle","wait":1,"ops":[]}"#.utf8)
        let demo = try replay(line)
        #expect(demo.status == 65 && demo.output == "" && demo.errors.contains("not UTF-8 (at byte 17)"))
    }

    // MARK: What is some

    @Test("Whole numbers are read however they are written", arguments: ["100", "1e2", "100.0", "1.0E+2", "1000e-1"])
    func wholeNumbers(_ number: String)
        throws
    {
        let demo = try replay(#"{"id":\#(number),"kind":"throttle","wait":1,"ops":[]}"#)
        #expect(demo.output == "{\"id\":100,\"invocations\":[]}\n" && demo.errors == "")
    }

    @Test("Blanks, escapes and other members are read")
    func blanksAndEscapes() throws {
        let demo = try replay(
            "\t{ \"\\u0069d\" : -0 ,\r \"kind\":\"thr\\u006fttle\",\"wait\":1,\"ops\":[ ],"
                + #""x":[true,false,null,{},[],"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀",-1.5e-7]}"# + " ")
        #expect(demo.output == "{\"id\":0,\"invocations\":[]}\n" && demo.errors == "")
    }

    @Test("Quoted text is printable and short")
    func quotedText() throws {
        let demo = try replay(
            #"{"id":1,"kind":"\u202e\u001b\#(String(repeating: "x", count: 5000))","wait":1,"ops":[]}"#)
        #expect(demo.status == 65 && demo.errors.contains(#""kind" is "\u{202E}\u{1B}xxx"#))
        #expect(demo.errors.count < 300 && demo.errors.contains("…"))
    }

    // MARK: Limits

    @Test("The longest line is played, and a longer one is refused")
    func longestLine() throws {
        for (length, status) in [(1 << 20, 0), (1 << 20 + 1, 65), (1 << 24, 65)] as [(Int, Int32)] {
            let line = Self.good + String(repeating: " ", count: length - Self.good.count)
            for end in ["", "\n"] {
                let demo = try replay("\n" + line + end)
                #expect(demo.status == status && (demo.output == "") == (status != 0))
                guard status != 0 else { continue }
                #expect(demo.errors.hasSuffix(", line 2: longer than 1048576 bytes (1 MiB)\n"))
            }
        }
        #expect(try Demo.run("replay", "--help").output.contains("1048576 bytes"))
    }

    // MARK: Helpers

    private static let good = #"{"id":1,"kind":"throttle","wait":5,"ops":[{"t":1,"op":"call","v":7}]}"#

    private func replay(_ text: String) throws -> Program { try replay(Data(text.utf8)) }

    private func replay(_ data: Data) throws -> Program {
        let file = try TemporaryFile(data)
        return try Demo.run("replay", file.path, "--format", "json")
    }
}
