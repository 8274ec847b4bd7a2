import Foundation
import RunLoopDiagnostics
import Testing

func chromeEvents(_ trace: LoopTrace) throws -> [[String: Any]] {
    let object = try JSONSerialization.jsonObject(with: Data(trace.chromeTrace.utf8)) as? [String: Any]
    return try #require(object?["traceEvents"] as? [[String: Any]])
}

/// A slice of a Chrome trace, in microseconds.
struct ChromeSlice {
    let track: Int
    let start: Double
    let end: Double
}

func slices(in events: [[String: Any]]) -> [ChromeSlice] {
    events.filter { $0["ph"] as? String == "X" }.map { slice in
        let start = slice["ts"] as! Double
        return ChromeSlice(track: slice["tid"] as! Int, start: start, end: start + (slice["dur"] as! Double))
    }
}

/// Whether slices of a track overlap only if one is inside the other. Perfetto draws others in a wrong place.
func nest(_ slices: [ChromeSlice]) -> Bool {
    slices.allSatisfy { one in
        slices.allSatisfy { other in
            one.track != other.track || one.start >= other.start || other.start >= one.end || other.end <= one.end
        }
    }
}
