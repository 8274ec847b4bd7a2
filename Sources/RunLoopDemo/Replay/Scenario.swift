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

    /// About 31 years: a limiter can add such times on its clock, in nanoseconds, without overflow.
    static let longestTime: Int64 = 1_000_000_000_000

    /// Reads a line.
    ///
    /// - Throws: `MalformedLine`.
    init(_ line: [UInt8]) throws(MalformedLine) {
        let raw = JSONPlace(try JSONReader.read(line))
        id = try raw.member("id").wholeNumber()
        kind = try Scenario.kind(raw.member("kind"))
        wait = try Scenario.time(raw.member("wait"))
        // lodash's defaults.
        leading = try raw.optional("leading")?.boolean() ?? (kind == .throttle)
        trailing = try raw.optional("trailing")?.boolean() ?? true
        let longestWait = try raw.optional("maxWait")
        if let longestWait, kind == .throttle { throw MalformedLine("\(longestWait.name) is for debounce only") }
        maxWait = if let longestWait { try Scenario.time(longestWait) } else { nil }
        operations = try Scenario.operations(raw.member("ops").elements())
    }

    private static func kind(_ place: JSONPlace) throws(MalformedLine) -> Kind {
        let name = try place.string()
        if let kind = Kind(rawValue: name) { return kind }
        throw unknown(name, place, "\"debounce\" or \"throttle\"")
    }

    private static func operations(_ places: [JSONPlace]) throws(MalformedLine) -> [Operation] {
        var operations: [Operation] = []
        operations.reserveCapacity(places.count)
        for place in places {
            let timePlace = try place.member("t")
            let time = try time(timePlace)
            if let previous = operations.last?.time, time < previous {
                throw MalformedLine("\(timePlace.name) is \(time), earlier than the one before it (\(previous))")
            }
            operations.append(Operation(time: time, event: try event(place)))
        }
        return operations
    }

    private static func event(_ place: JSONPlace) throws(MalformedLine) -> Operation.Event {
        let namePlace = try place.member("op")
        let name = try namePlace.string()
        switch name {
        case "flush": return .flush
        case "cancel": return .cancel
        case "call":
            guard let argument = try place.optional("v") else {
                throw MalformedLine("\(place.name) is a call without \"v\"")
            }
            return .call(argument: try argument.wholeNumber())
        default: throw unknown(name, namePlace, "\"call\", \"flush\" or \"cancel\"")
        }
    }

    private static func unknown(_ name: String, _ place: JSONPlace, _ wanted: String) -> MalformedLine {
        MalformedLine("\(place.name) is \(name.abbreviated.debugDescription), not \(wanted)")
    }

    private static func time(_ place: JSONPlace) throws(MalformedLine) -> Int64 {
        let time = try place.wholeNumber()
        if time < 0 { throw MalformedLine("\(place.name) is \(time), less than zero") }
        if time > longestTime {
            throw MalformedLine("\(place.name) is \(time), more than \(longestTime) ms (31 years)")
        }
        return time
    }
}
