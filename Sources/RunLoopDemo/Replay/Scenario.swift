import Foundation

/// A policy, and the events that it is to be rehearsed on: a line of the input. Times are milliseconds.
struct Scenario {
    enum Kind: String {
        case debounce, throttle
    }

    /// Something that happened to the limiter.
    struct Operation {
        enum Event {
            case call(argument: Int64)
            case flush, cancel
        }

        let time: Int64
        let event: Event
    }

    let id: Int64
    let kind: Kind
    let wait: Int64
    let leading: Bool
    let trailing: Bool
    let maxWait: Int64?
    let operations: [Operation]

    /// About 31 years: what a limiter adds to such a time still fits its clock, in nanoseconds.
    static let longestTime: Int64 = 1_000_000_000_000

    /// Reads a line.
    ///
    /// - Throws: `MalformedLine`, which says what is wrong.
    init(_ line: Data, with decoder: JSONDecoder) throws(MalformedLine) {
        let raw: RawScenario
        do {
            raw = try decoder.decode(RawScenario.self, from: line)
        } catch {
            throw MalformedLine(error, in: line)
        }
        guard let kind = Kind(rawValue: raw.kind) else {
            throw MalformedLine("\"kind\" is \(raw.kind.debugDescription), not \"debounce\" or \"throttle\"")
        }
        guard raw.maxWait == nil || kind == .debounce else { throw MalformedLine("\"maxWait\" is for debounce only") }
        try Scenario.check(raw.wait, "\"wait\"")
        if let maxWait = raw.maxWait { try Scenario.check(maxWait, "\"maxWait\"") }
        id = raw.id
        self.kind = kind
        wait = raw.wait
        // lodash's defaults.
        leading = raw.leading ?? (kind == .throttle)
        trailing = raw.trailing ?? true
        maxWait = raw.maxWait
        operations = try Scenario.operations(raw.ops)
    }

    private static func operations(_ raw: [RawScenario.Operation]) throws(MalformedLine) -> [Operation] {
        var operations: [Operation] = []
        operations.reserveCapacity(raw.count)
        for (index, operation) in raw.enumerated() {
            let place = "\"ops\"[\(index)]"
            try check(operation.t, "\(place).\"t\"")
            if let previous = operations.last?.time, operation.t < previous {
                throw MalformedLine("\(place).\"t\" is \(operation.t), earlier than the one before it (\(previous))")
            }
            operations.append(Operation(time: operation.t, event: try event(operation, place)))
        }
        return operations
    }

    private static func event(
        _ operation: RawScenario.Operation, _ place: String
    ) throws(MalformedLine) -> Operation.Event {
        switch operation.op {
        case "flush": return .flush
        case "cancel": return .cancel
        case "call":
            guard let argument = operation.v else { throw MalformedLine("\(place) is a call without \"v\"") }
            return .call(argument: argument)
        default:
            throw MalformedLine(
                "\(place).\"op\" is \(operation.op.debugDescription), not \"call\", \"flush\" or \"cancel\"")
        }
    }

    private static func check(_ time: Int64, _ name: String) throws(MalformedLine) {
        if time < 0 { throw MalformedLine("\(name) is \(time), less than zero") }
        if time > longestTime { throw MalformedLine("\(name) is \(time), more than \(longestTime) ms (31 years)") }
    }
}

/// A scenario as it is written.
private struct RawScenario: Decodable {
    struct Operation: Decodable {
        let t: Int64
        let op: String
        let v: Int64?
    }

    let id: Int64
    let kind: String
    let wait: Int64
    let leading: Bool?
    let trailing: Bool?
    let maxWait: Int64?
    let ops: [Operation]
}
